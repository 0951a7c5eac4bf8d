"""Reads the CSV tables of Triton's Model Analyzer."""

import re
from collections.abc import Iterator, Mapping, Sequence

from perfledger.profile import Profile, ProfileReading
from perfledger.records import Side
from perfledger.rounding import for_programs
from perfledger_profiles.benchmark_tools.perf_analyzer import LOADS, MAYBE_EVEN_ARRIVALS
from perfledger_profiles.parsing.csv_lines import rows_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.parsing.units import MEGA, MILLI, number_or_none
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "model_analyzer"

_NOT_ONE = (
    "this file has no load of Model Analyzer: give the metrics-model-inference.csv of its results "
    "(metrics-model-gpu.csv may follow in the same file)"
)
_SEVERAL = (
    "Model Analyzer ran several models at once here, so each depends on the load of the others: "
    "profile each alone"
)
_THROUGHPUT = "Throughput (infer/sec)"
_MEMORY = re.compile(r"(?:Max )?GPU Memory Usage \(MB\)")
_LATENCY = re.compile(r"(p\d{1,2}|Avg) Latency \(ms\)")
_MAX_BATCH = 1_000_000


def read_model_analyzer(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return throughput, latencies and memory by load ("resnet_i0 batch 4 concurrency 8").

    Model Analyzer counts inferences; a request has one per item of its batch. Raises ProfileError
    if the file has none of its tables.
    """
    read = read_text(data)
    readings: list[ProfileReading] = []
    head: Sequence[str] = ()
    dropped, has_several = 0, False
    for cells in rows_of(read.lines):
        if cells is None:
            dropped += bool(head)
        elif cells[0] == "Model":
            head = cells
        elif head and any(cells):
            row = dict(zip(head, cells, strict=False))
            readings += _row(row)
            has_several = has_several or "," in row.get("Batch", "")
            dropped += len(cells) < len(head)
    if not any(reading.name == "throughput_requests" for reading in readings):
        raise ProfileError(_SEVERAL if has_several else _NOT_ONE)
    has_rates = any(f" {LOADS['Request Rate']} " in reading.subject for reading in readings)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        dropped=dropped,
        notes=(*read.notes, *((MAYBE_EVEN_ARRIVALS,) if has_rates else ())),
    )


def _row(row: Mapping[str, str]) -> Iterator[ProfileReading]:
    batch = number_or_none(row.get("Batch", "")) or 0
    load = next((name for name in LOADS if name in row), None)
    amount = None if load is None else number_or_none(row[load])
    if load is None or not 1 <= batch <= _MAX_BATCH or amount is None or amount <= 0:
        return  # the idle server, without a model or a load
    name = clean_name(row.get("Model Config Path", "") or row["Model"])[:80]
    subject = f"{name} batch {for_programs(batch)} {LOADS[load]} {for_programs(amount)}"
    for column, cell in row.items():
        value = number_or_none(cell)
        latency = _LATENCY.fullmatch(column)
        if value is None or value < 0:
            continue
        if column == _THROUGHPUT:
            yield ProfileReading(
                name="throughput_requests",
                value=value / batch,
                unit="1/s",
                subject=subject,
                source=column,
            )
        elif latency:
            statistic = "mean" if latency[1] == "Avg" else latency[1]
            yield ProfileReading(
                name=f"request_latency_{statistic}",
                value=value * MILLI,
                unit="s",
                subject=subject,
                source=column,
            )
        elif _MEMORY.fullmatch(column):
            yield ProfileReading(
                name="memory_used", value=value * MEGA, unit="B", subject=subject, source=column
            )
