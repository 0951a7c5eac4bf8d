"""How long and with how much memory a trace is read and broken down, against traceinsight.

python benchmarks/profiles/trace_reading.py [--trace FILE] [--peer-python PYTHON] [--rounds N]

Each measurement is a fresh process; ours and the peer's take turns. The peer (traceinsight, the
renamed HolisticTraceAnalysis) lives in an environment of its own, whose Python is given by
--peer-python; without it only ours is measured. The task is the same: read the file, temporal
breakdown and kernel breakdown, imports not counted. Then a trace of a million events, made by
repeating the first, and the diff of two traces against reading them. Without --trace a made-up one
is written to a temporary folder: repetitive, so that it packs better than a recorded one.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from perfledger.rounding import decimals, integer, typed

MANY_EVENTS = 1_000_000
GOALS = {"time": 14.0, "memory": 0.25, "time of many events": 25.0, "diff": 2.0}

PEAK = """
def peak():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
"""
OURS = """
import json, sys, time
from pathlib import Path
from hta_breakdown import temporal_breakdown
from perfledger_profiles.torch_profiler.kineto import read_kineto_trace
began, used = time.perf_counter(), time.process_time()
found = temporal_breakdown(read_kineto_trace(Path(sys.argv[1])))
seconds, cpu = time.perf_counter() - began, time.process_time() - used
figures = [found.idle_us, found.compute_us, found.non_compute_us, found.kernel_us]
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak(), "figures": figures}))
"""
PROFILE = """
import json, sys, time
from pathlib import Path
from perfledger.records import Side
from perfledger_profiles.torch_profiler.kineto import read_kineto
began, used = time.perf_counter(), time.process_time()
profile = read_kineto(Path(sys.argv[1]), workload="w", side=Side.BASE)
seconds, cpu = time.perf_counter() - began, time.process_time() - used
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak(), "figures": [profile.steps]}))
"""
PEER = """
import json, logging, sys, time, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
try:
    from traceinsight.trace_analysis import TraceAnalysis
except ModuleNotFoundError:
    from hta.trace_analysis import TraceAnalysis
began, used = time.perf_counter(), time.process_time()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
found = analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
seconds, cpu = time.perf_counter() - began, time.process_time() - used
names = ["idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)"]
figures = [int(found[name][0]) for name in names]
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak(), "figures": figures}))
"""
DIFF = """
import json, sys, time
from pathlib import Path
from perfledger.records import Side
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.torch_profiler.kineto import read_kineto
began, used = time.perf_counter(), time.process_time()
base, head = (read_kineto(Path(sys.argv[1]), workload="w", side=side) for side in Side)
read = time.perf_counter()
explain(base, head)
both, cpu = time.perf_counter() - began, time.process_time() - used
print(json.dumps({"seconds": both, "cpu": cpu, "peak": peak(), "figures": [both / (read - began)]}))
"""


@dataclass(frozen=True)
class Measured:
    """What one process took, and what it found."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    figures: tuple[float, ...]


def child(python: str, script: str, trace: Path) -> Measured:
    done = subprocess.run(
        [python, "-c", PEAK + script, str(trace)],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)},
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    return Measured(answer["seconds"], answer["cpu"], answer["peak"], tuple(answer["figures"]))


def measure(
    scripts: dict[str, tuple[str, str]], trace: Path, rounds: int
) -> dict[str, list[Measured]]:
    """Run all of them in turns, so that a busy machine is busy for all."""
    measurements: dict[str, list[Measured]] = {name: [] for name in scripts}
    for _ in range(rounds):
        for name, (python, script) in scripts.items():
            measurements[name].append(child(python, script, trace))
    return measurements


def show(measurements: dict[str, list[Measured]], goal: str) -> None:
    print("| | seconds, min / median | CPU seconds, min / median | peak MB |\n|---|---|---|---|")
    for name, many in measurements.items():
        cells = [" / ".join(decimals(value, 3) for value in of(many)) for of in (wall, cpu)]
        print(f"| {name} | {' | '.join(cells)} | {integer(peak(many) / 1e6)} |")
    if "peer" not in measurements:
        print("traceinsight: not installed (--peer-python)\n")
        return
    ours, peers = measurements["perfledger"], measurements["peer"]
    for label, of in (("time", wall), ("CPU time", cpu)):
        low, middle = (theirs / mine for theirs, mine in zip(of(peers), of(ours), strict=True))
        print(
            f"\n{label}: {decimals(low, 1)}x (min), {decimals(middle, 1)}x (median) "
            f"faster; goal {typed(GOALS[goal])}x"
        )
    same = "the same figures" if ours[0].figures == peers[0].figures else "OTHER FIGURES"
    print(
        f"peak memory: {decimals(peak(ours) / peak(peers), 2)} of its; goal "
        f"{typed(GOALS['memory'])}; {same}\n"
    )


def wall(many: Sequence[Measured]) -> tuple[float, float]:
    seconds = [each.seconds for each in many]
    return min(seconds), statistics.median(seconds)


def cpu(many: Sequence[Measured]) -> tuple[float, float]:
    """Return what a busy machine distorts less."""
    seconds = [each.cpu_seconds for each in many]
    return min(seconds), statistics.median(seconds)


def peak(many: Sequence[Measured]) -> float:
    return statistics.median(each.peak_bytes for each in many)


def events_of(trace: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    data = trace.read_bytes()
    text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    document = json.loads(text)
    return document, document.pop("traceEvents")


def write_trace(path: Path, header: dict[str, Any], events: Any) -> None:
    """Write events as the profiler does, one after another; none of them need be in memory."""
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write(json.dumps(header)[:-1] + (", " if header else "") + '"traceEvents": [\n')
        for number, event in enumerate(events):
            file.write((",\n" if number else "") + json.dumps(event))
        file.write("\n]}")


def repeated(trace: Path, folder: Path, events_wanted: int) -> Path:
    """Write the trace again and again, each time later, with new steps and correlations."""
    header, events = events_of(trace)
    timed = [event["ts"] for event in events if event.get("ph") == "X"]
    length = max(timed) - min(timed) + 10_000
    steps = len({e["name"] for e in events if e.get("name", "").startswith("ProfilerStep#")})

    def all_events() -> Any:
        for number in range(-(-events_wanted // len(events))):
            for event in events:
                later = {**event, "ts": event.get("ts", 0) + number * length}
                args = event.get("args")
                if isinstance(args, dict) and "correlation" in args:
                    later["args"] = {**args, "correlation": args["correlation"] + number * 2**40}
                if event.get("name", "").startswith("ProfilerStep#"):
                    step = int(event["name"].partition("#")[2]) + number * steps
                    later["name"] = f"ProfilerStep#{step}"
                yield later

    path = folder / "many.json.gz"
    write_trace(path, header, all_events())
    return path


def made_up(folder: Path, *, steps: int = 10, launches: int = 2000) -> Path:
    """Write a trace of operators, launches and kernels of which every number is made up."""
    noise = Random(1)
    events: list[dict[str, Any]] = []

    def add(
        cat: str, name: str, at: float, lasts: float, lane: tuple[int, int], **args: Any
    ) -> None:
        common = {"External id": len(events), "Trace iteration": 0, **args}
        events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": lane[0], "tid": lane[1]}
            | {"ts": round(1e12 + at, 3), "dur": round(lasts, 3), "args": common}
        )

    shapes = {"Input Dims": [[64, 512], [512, 512], []], "Input type": ["float", "float", "Scalar"]}
    for step in range(steps):
        begin = step * launches * 30.0
        add("user_annotation", f"ProfilerStep#{step}", begin, launches * 30.0 - 1, (9, 9))
        for number in range(launches):
            at, link = begin + number * 30, step * launches + number + 1
            name = f"op{noise.randrange(40)}"
            add("cpu_op", f"aten::{name}", at, 25, (9, 9), **shapes)
            add("cpu_op", f"aten::{name}_out", at + 2, 20, (9, 9), **shapes)
            add("cpu_op", "aten::empty", at + 4, 2, (9, 9))
            add("cuda_runtime", "cudaLaunchKernel", at + 8, 5, (9, 9), correlation=link)
            launch = {"grid": [number % 7 + 1, 1, 1], "block": [128, 1, 1], "stream": 7}
            kernel = "ncclDevKernel_AllReduce" if number % 50 == 0 else f"void kernel_{name}<float>"
            add(
                "kernel",
                kernel,
                at + 20,
                5 + 20 * noise.random(),
                (0, 7),
                correlation=link,
                **launch,
            )
    path = folder / "made_up.json.gz"
    write_trace(path, {"schemaVersion": 1, "deviceProperties": []}, events)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--peer-python", default="")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = options.trace or made_up(folder)
        scripts = {"perfledger": (sys.executable, OURS)}
        if options.peer_python:
            scripts["peer"] = (options.peer_python, PEER)
        all_scripts = {**scripts, "perfledger, the whole profile": (sys.executable, PROFILE)}
        label = trace.name if options.trace else "a made-up trace"
        print(f"{label}, {decimals(trace.stat().st_size / 1e6, 1)} MB packed:\n")
        show(measure(all_scripts, trace, options.rounds), "time")
        many = repeated(trace, folder, MANY_EVENTS)
        print(f"the same repeated to {MANY_EVENTS:,} events:\n")
        show(measure(all_scripts, many, max(1, options.rounds // 3)), "time of many events")
        answer = child(sys.executable, DIFF, trace)
        print(
            f"reading two and their diff: {decimals(answer.figures[0], 2)}x reading; "
            f"goal {typed(GOALS['diff'])}x"
        )


if __name__ == "__main__":
    main()
