"""Measures where the time of a check goes that finds four workloads unchanged.

python benchmarks/checks/check_time.py [--checks 1] [--budget 5m] [--margin 0.05]

The repository is made for it: two files with a workload of torch, JAX, NumPy and plain Python each,
of about 10 ms a step; base and head differ in a function that none of them calls. A row has the
wall time of one phase, its share of the check, and the CPU time of all processes in it. The phase
of pairs is divided: measured steps and warm-up are what the runs say, and the rest is imports,
set-up, the start and end of processes, and waiting. Imports of a framework are as many as processes
that need one, each as long as one that is timed after the check, while the machine may be less or
more busy. Goal: at most 90 s without imports, on two idle cores. A framework that is missing is
left out.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import fsum
from pathlib import Path

from scratch_repository import commit, git

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Framework, Run, Side
from perfledger.rounding import decimals, percentage
from perfledger_service.settings.check import seconds
from perfledger_service.usecases.check.check import check
from perfledger_service.usecases.check.measurement import CheckRequest
from perfledger_service.values.report import Report

TENSORS = """
import numpy
import perfledger
{torch}

@perfledger.workload
def in_numpy():
    rows = numpy.random.default_rng(0).random((300, 300))

    def step():
        product = rows
        for _ in range(8):
            product = product @ rows / 300
        return product

    return step
"""
IN_TORCH = """

@perfledger.workload
def in_torch():
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
    rows = torch.randn(128, 512)
    return lambda: model(rows).sum().backward()
"""
PROGRAMS = """
import perfledger
{jax}

@perfledger.workload
def in_python():
    return lambda: sum(number * number for number in range(150_000))
"""
IN_JAX = """

@perfledger.workload
def in_jax():
    step = jax.jit(lambda rows: jax.numpy.tanh(rows @ rows @ rows).sum())
    rows = jax.numpy.ones((700, 700))
    return lambda: step(rows)
"""
UNUSED = "def unused():\n    return {}\n"
PREPARING, PAIRS = "checking out", "measuring pairs of base and head"


@dataclass(slots=True)
class PhaseProgress:
    """A progress of a check that notes at what wall and CPU time each stage began."""

    marks: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])

    def stage(self, name: str) -> None:
        """Note the start of the next stage."""
        self.marks.append((name, time.monotonic(), cpu_seconds()))

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Do nothing."""

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Do nothing."""

    def phases(self) -> Iterator[tuple[str, float, float]]:
        """Yield each stage with its wall and CPU seconds."""
        for (name, *begin), (_, *end) in zip(self.marks, self.marks[1:], strict=False):
            yield name, end[0] - begin[0], end[1] - begin[1]


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all that it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return fsum(usage.ru_utime + usage.ru_stime for usage in usages)


def write_repository(folder: Path) -> None:
    """Commit base and head."""
    has_torch, has_jax = (find_spec(name) is not None for name in ("torch", "jax"))
    tensors = TENSORS.format(torch="import torch" if has_torch else "")
    programs = PROGRAMS.format(jax="import jax" if has_jax else "")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    files = {
        "perfledger.toml": 'paths = ["benchmarks"]\n',
        "benchmarks/tensors.py": tensors + IN_TORCH * has_torch,
        "benchmarks/programs.py": programs + IN_JAX * has_jax,
        "package/__init__.py": UNUSED.format(0),
    }
    commit(folder, files, "base")
    commit(folder, {"package/__init__.py": UNUSED.format(1)}, "head")


def check_once(folder: Path, *, budget: str, margin: float) -> tuple[Bundle, Report, PhaseProgress]:
    """Check head against base, as `perfledger check` does."""
    progress = PhaseProgress()
    progress.stage(PREPARING)
    bundle, report = check(
        folder,
        CheckRequest(base="HEAD~1", head="HEAD"),
        flags={
            "python": sys.executable,
            "budget": seconds(budget),
            "margin": margin,
            "device": "cpu",
            "skip": False,
        },
        progress=progress,
    )
    progress.stage("")
    return bundle, report, progress


def import_seconds(framework: Framework) -> tuple[float, float]:
    """Return the wall and CPU seconds of one import, of the second try: the first reads files."""
    if framework is Framework.HOST:
        return 0.0, 0.0
    command = [sys.executable, "-c", f"import {framework}"]
    subprocess.run(command, check=True)
    began, cpu = time.monotonic(), cpu_seconds()
    subprocess.run(command, check=True)
    return time.monotonic() - began, cpu_seconds() - cpu


def parts_of_pairs(bundle: Bundle, wall_s: float) -> Iterator[tuple[str, float, str]]:
    """Yield the parts of the pairs' wall time, then the imports, whose CPU time is known too."""
    steps_s = fsum(measured_seconds(run) for run in bundle.runs)
    warmups_s = fsum(fsum(run.warmups_s) for run in bundle.runs)
    frameworks = {spec.id: spec.framework for spec in bundle.workloads}
    processes = {run.process: frameworks[run.workload] for run in bundle.runs}
    times = {framework: import_seconds(framework) for framework in {*processes.values()}}
    imports_s = fsum(times[each][0] for each in processes.values()) / len(Side)  # at once
    imports_cpu_s = fsum(times[each][1] for each in processes.values())
    count = sum(each is not Framework.HOST for each in processes.values())
    yield "  measured steps", steps_s, ""
    yield "  warm-up", warmups_s, ""
    yield (
        f"  imports, set-up, {len(processes)} processes, waiting",
        wall_s - steps_s - warmups_s,
        "",
    )
    yield f"  about, of {count} imports of a framework", imports_s, decimals(imports_cpu_s, 1)


def measured_seconds(run: Run) -> float:
    """Return how long a run's measured steps took."""
    return run.evidence.seconds_of(run.samples[STEP_TIME.name])


def print_check(bundle: Bundle, report: Report, progress: PhaseProgress) -> None:
    """Print the table of one check."""
    phases = list(progress.phases())
    total_s = fsum(wall_s for _, wall_s, _ in phases)
    print(f"| phase | wall, s | share | CPU, s |  (load {decimals(os.getloadavg()[0], 1)})")
    print("|---|---|---|---|")
    for name, wall_s, cpu_s in phases:
        print(
            f"| {name} | {decimals(wall_s, 1)} | {percentage(wall_s / total_s)} | "
            f"{decimals(cpu_s, 1)} |"
        )
        if name == PAIRS:
            for part, part_s, cpu in parts_of_pairs(bundle, wall_s):
                print(
                    f"| {part} | {decimals(part_s, 1)} | {percentage(part_s / total_s)} | {cpu} |"
                )
    print(
        f"| in all | {decimals(total_s, 1)} | 100% | "
        f"{decimals(fsum(cpu_s for *_, cpu_s in phases), 1)} |"
    )
    for line in outcomes(bundle, report):
        print(line)
    for note in bundle.notes:
        print(f"  note: {note}")
    print(flush=True)


def outcomes(bundle: Bundle, report: Report) -> Iterator[str]:
    """Yield a line for each workload, with the outcomes of its metrics and its pairs."""
    for spec in bundle.workloads:
        pairs = len({run.pair for run in bundle.runs if run.workload == spec.id})
        words = ", ".join(
            f"{each.metric.name} {each.outcome}"
            for each in report.verdicts
            if each.workload == spec.id
        )
        yield f"  {spec.id}: {pairs} pairs; {words}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Check the repository as often as asked, and print where the time went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=1)
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--margin", type=float, default=0.05)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="check-time-") as name:
        folder = Path(name)
        write_repository(folder)
        for _ in range(options.checks):
            print_check(*check_once(folder, budget=options.budget, margin=options.margin))


if __name__ == "__main__":
    main()
