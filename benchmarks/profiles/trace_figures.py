"""Recorded profiler files in, how far our figures are from those of the tools that know best.

python benchmarks/profiles/trace_figures.py FOLDER

FOLDER holds recordings and `expected.json`, which says by file what a named tool makes of it:
`temporal_breakdown` (HolisticTraceAnalysis, whole microseconds), `tb_plugin_avg_us` (the overview
of TensorBoard's plugin: microseconds by role, shares), `hlo` (xprof's microseconds and calls by
operation over all cores). Occupancy is held against what torch.profiler itself wrote, in launches
of at most 48 KiB of shared memory (above, it writes 0 %), bus bandwidth against the column of an
all-reduce of nccl-tests. No recording is part of this repository.
"""

import argparse
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf
from operator import or_
from pathlib import Path
from typing import Any

from hta_breakdown import TemporalBreakdown, Work, temporal_breakdown, temporal_idle
from tensorboard_overview import tensorboard_overview

from perfledger.records import Side
from perfledger.rounding import digits, typed
from perfledger_profiles.formats import ProfileFormat, detect_format, read_profile
from perfledger_profiles.hardware.occupancy import occupancy_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.trace import Trace
from perfledger_profiles.torch_profiler.kineto import read_kineto_trace

DEFAULT_SHARED_MEMORY_BYTES = 48 * 2**10
MIN_MESSAGE_BYTES = 2**20  # the times of smaller ones are printed with too few digits
OCCUPANCY = "est. achieved occupancy %"
LAUNCH = ("grid", "block", "registers per thread", "shared memory", OCCUPANCY)
_ROW = re.compile(r"^ +(\d+) .* ([\d.]+) +([\d.]+) +([\d.]+) +\S+ +([\d.]+) +[\d.]+ +([\d.]+) ")
_US = 1e6
WORK = {"COMP": Work.COMPUTE, "COMM": Work.COMMUNICATION, "MEM": Work.MEMORY, "MEMO": Work.MEMORY}

ROLES = {
    "Kernel": "kernel",
    "Memcpy": "memcpy",
    "Memset": "memset",
    "Runtime": "runtime",
    "DataLoader": "dataloader",
    "CpuOp": "cpu_op",
    "Other": "other",
    "Total": "total",
}
# Occupancy is ours: where torch.profiler states 0 %, the plugin averages that in.
SHARES = {"gpu_util": "gpu_util", "est_sm_eff": "sm_efficiency", "tc_ratio": "tc_ratio"}


@dataclass(frozen=True, slots=True)
class CheckedFigures:
    """How many figures of one kind were compared, and the farthest of them."""

    kind: str
    figures: int
    farthest: float
    limit: float
    unit: str


def limit_check(
    kind: str, pairs: Sequence[tuple[float, float]], *, limit: float, unit: str
) -> CheckedFigures:
    off = [abs(ours - theirs) for ours, theirs in pairs]
    return CheckedFigures(kind, len(off), max(off, default=inf), limit, unit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    missed = 0
    print("| file | figures | compared | farthest | limit |\n|---|---|---|---|---|")
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        for one in compare_file(path, expected.get(path.name, {})):
            missed += one.farthest > one.limit
            cells = (
                f"{one.figures:,} | {digits(one.farthest, 4)} {one.unit} | "
                f"{typed(one.limit)} {one.unit}"
            )
            print(f"| {path.name} | {one.kind} | {cells} |")
    print(f"\n{missed} beyond their limits")
    return 1 if missed else 0


def compare_file(path: Path, expected: Mapping[str, Any]) -> Iterator[CheckedFigures]:
    try:
        format_ = detect_format(path.read_bytes(), path.name)
    except ProfileError:
        return
    if "temporal_breakdown" in expected:
        pairs = list(temporal_pairs(read_kineto_trace(path), expected["temporal_breakdown"]))
        yield limit_check("breakdown", pairs, limit=0.5, unit="µs")
    if "tb_plugin_avg_us" in expected:
        theirs = expected["tb_plugin_avg_us"]
        yield limit_check("overview", list(role_pairs(path, theirs)), limit=0.1, unit="µs")
        yield limit_check("overview", list(share_pairs(path, theirs)), limit=0.001, unit="points")
    if "hlo" in expected:
        pairs = list(operation_pairs(path, expected["hlo"]))
        yield limit_check("operations", pairs, limit=0.1, unit="µs")
    if format_ == ProfileFormat.KINETO:
        pairs = list(occupancy_pairs(path))
        if pairs:
            # Theirs is rounded to a whole percent.
            yield limit_check("occupancy", pairs, limit=1.0, unit="points")
    if format_ == ProfileFormat.NCCL_TESTS:
        pairs = [(100 * ours / theirs, 100.0) for ours, theirs in bandwidth_pairs(path)]
        yield limit_check("bus bandwidth", pairs, limit=0.1, unit="%")


def temporal_pairs(trace: Trace, expected: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    breakdown = temporal_breakdown(trace)
    whole_breakdown = temporal_breakdown(trace, include_last_step=True)
    if breakdown is None or whole_breakdown is None:
        return
    yield from breakdown_pairs(breakdown, expected)
    yield from breakdown_pairs(whole_breakdown, expected["with_last_step"])
    yield breakdown.kernels, expected["kernels_kept"]
    by_work = dict(breakdown.by_work)
    for names, us in expected["kernel_type_us"].items():
        yield by_work[reduce(or_, (WORK[name[:4]] for name in names.split("&")))], us
    top = expected["top_kernels_us"]
    for kernel, (_, us, count) in zip(breakdown.top[: len(top)], top, strict=True):
        yield from ((kernel.us, us), (kernel.count, count))
    idle = {one.stream: one for one in temporal_idle(trace)}
    for stream, waits in expected["idle_by_stream"].items():
        one = idle[stream]
        reasons = (one.host_wait_ns, one.kernel_wait_ns, one.other_ns)
        yield from zip((ns / 1000 for ns in reasons), waits.values(), strict=True)


def breakdown_pairs(
    breakdown: TemporalBreakdown, expected: Mapping[str, float]
) -> Iterator[tuple[float, float]]:
    for name in ("idle_us", "compute_us", "non_compute_us", "kernel_us"):
        yield getattr(breakdown, name), expected[name]
    yield round(100 * (breakdown.overlap or 0.0), 2), expected["overlap_pct"]


def role_pairs(path: Path, expected: Mapping[str, float]) -> Iterator[tuple[float, float]]:
    ours = overview(path)
    for role, name in ROLES.items():
        yield _US * ours[name], expected[role]


def share_pairs(path: Path, expected: Mapping[str, float]) -> Iterator[tuple[float, float]]:
    ours = overview(path)
    for theirs, name in SHARES.items():
        if theirs in expected:
            yield 100 * ours[name], 100 * expected[theirs]


def overview(path: Path) -> dict[str, float]:
    return {one.name: one.value for one in tensorboard_overview(read_kineto_trace(path))}


def operation_pairs(
    path: Path, expected: Mapping[str, tuple[float, int]]
) -> Iterator[tuple[float, float]]:
    profile = read_profile(path, workload="m:f", side=Side.BASE)
    times = profile.steps * (profile.device.count if profile.device else 1)
    ours = {kernel.name: kernel for kernel in profile.kernels}
    for name, (us, count) in expected.items():
        yield ours[name].seconds * times * _US, us
        yield ours[name].count * times, count


def occupancy_pairs(path: Path) -> Iterator[tuple[float, float]]:
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    devices = {one["id"]: one for one in trace.get("deviceProperties", ())}
    for event in trace["traceEvents"]:
        args = event.get("args", {})
        if not all(name in args for name in (*LAUNCH, "device")):
            continue
        grid, block, registers, shared_memory, theirs = (args[name] for name in LAUNCH)
        device = devices[args["device"]]
        ours = occupancy_of(
            grid=grid,
            block=block,
            registers=registers,
            shared_memory_bytes=shared_memory,
            compute_capability=f"{device['computeMajor']}.{device['computeMinor']}",
            multiprocessors=device["numSms"],
        )
        if shared_memory <= DEFAULT_SHARED_MEMORY_BYTES:
            yield 100 * ours.achieved if ours else inf, theirs


def bandwidth_pairs(path: Path) -> Iterator[tuple[float, float]]:
    profile = read_profile(path, workload="m:f", side=Side.BASE)
    ours = {
        (one.name, one.subject): one.value
        for one in profile.readings
        if one.name in ("bus_bw", "bus_bw_in_place")
    }
    for line in path.read_text(encoding="utf-8").splitlines():
        row = _ROW.match(line)
        if row is not None and int(row[1]) >= MIN_MESSAGE_BYTES:
            yield ours["bus_bw", row[1]], 1e9 * float(row[4])
            yield ours["bus_bw_in_place", row[1]], 1e9 * float(row[6])


if __name__ == "__main__":
    raise SystemExit(main())
