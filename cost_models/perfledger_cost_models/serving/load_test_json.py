"""Reads load curves from the JSON of a load test.

{"version": 1, "workload": "serve:generate", "device": "NVIDIA H100 80GB HBM3", "devices": 1,
 "servers": 1, "points": [{"mode": "open", "concurrency": null, "offered_per_second": 40.0,
   "batch": 1, "completed": 2400, "seconds": 60.0, "throughput_per_second": 40.0,
   "latency_p50_s": 0.021, "latency_p95_s": 0.043, "latency_p99_s": 0.058,
   "latency_p99_low_s": 0.054, "latency_p99_high_s": 0.063, "memory_bytes": 21474836480}]}
"""

from typing import Annotated

import msgspec

from perfledger.load import MAX_SERVERS
from perfledger.time_units import SECONDS_PER_DAY
from perfledger_cost_models.serving.load_curve import (
    MAX_POINTS,
    LoadCurve,
    LoadCurveError,
    LoadMode,
    LoadPoint,
)

# 1: first version. Keys are only ever added.
VERSION = 1
MAX_LOAD_BYTES = 8 * 2**20  # MAX_POINTS points take 800 bytes each
MAX_NAME = 200
# Beyond these a figure is a typing error: a day's latency, a petabyte of memory.
MAX_SECONDS = float(SECONDS_PER_DAY)
MAX_RATE = 1e9
MAX_COUNT = 2**53  # the largest whole number that JSON numbers hold exactly

Seconds = Annotated[float, msgspec.Meta(gt=0, le=MAX_SECONDS)]
RateField = Annotated[float, msgspec.Meta(gt=0, le=MAX_RATE)]
CountField = Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNT)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]


class _Point(msgspec.Struct, frozen=True):
    mode: LoadMode
    concurrency: CountField | None
    offered_per_second: RateField | None
    batch: CountField
    completed: CountField
    seconds: Annotated[float, msgspec.Meta(gt=0)]
    throughput_per_second: RateField
    latency_p50_s: Seconds
    latency_p95_s: Seconds
    latency_p99_s: Seconds
    latency_p99_low_s: Seconds | None
    latency_p99_high_s: Seconds | None
    memory_bytes: CountField | None


class _Document(msgspec.Struct, frozen=True):
    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)]
    workload: Name
    device: Name
    devices: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    points: Annotated[tuple[_Point, ...], msgspec.Meta(min_length=1, max_length=MAX_POINTS)]
    servers: Annotated[int, msgspec.Meta(ge=1, le=MAX_SERVERS)] = 1


_DOCUMENT_DECODER = msgspec.json.Decoder(_Document)


def read_load_curve(data: bytes, name: str) -> LoadCurve:
    """Read the JSON of a load test; raises LoadCurveError that names the file and the place."""
    if len(data) > MAX_LOAD_BYTES:
        msg = f"{name} is larger than {MAX_LOAD_BYTES} bytes: remove single requests from it"
        raise LoadCurveError(msg)
    try:
        document = _DOCUMENT_DECODER.decode(data)
        return LoadCurve(
            workload=document.workload,
            device=document.device,
            devices=document.devices,
            points=tuple(LoadPoint(**msgspec.structs.asdict(one)) for one in document.points),
            servers=document.servers,
        )
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LoadCurveError) as error:
        msg = f"{name} is not a load curve: {error}"
        raise LoadCurveError(msg) from error
