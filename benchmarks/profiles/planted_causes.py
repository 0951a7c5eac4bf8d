"""Planted changes are recorded for real and explained; a table of which causes were named out.

python benchmarks/profiles/planted_causes.py [--kinds GLOB ...] [--seed N] [--keep FOLDER]

Each kind is a step of torch or JAX code and a change to it. Each side is recorded in a process of
its own, in windows in turns with the other side's as in a check, with the product's profilers on
the CPU; then the product's readers and its diff do the rest. Goals: the planted cause is first in
at least 90 %; the named causes explain at least 80 % of the change, or the answer is "not
attributable"; about the same code nothing is said. The exit status is 1 when one is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from math import fsum
from pathlib import Path

from planted_kind import Kind
from planted_recording import KINDS
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from perfledger.profile import Profile
from perfledger.records import Framework, Side
from perfledger.rounding import decimals, integer, percentage
from perfledger_profiles.diff.cause import Cause, StepTimeExplanation
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.torch_profiler.kineto import read_kineto
from perfledger_profiles.torch_profiler.recorded_shapes import with_shapes
from perfledger_profiles.xla.xplane import read_xplane

FIRST_GOAL = 0.9
EXPLAINED_GOAL = 0.8
TIMEOUT_S = 60
# One thread: which of several cores is free is not what is being explained.
SINGLE_THREADED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
RECORDING = Path(__file__).with_name("planted_recording.py")


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The profiles of the recorded windows, and the median step without a profiler."""

    windows: tuple[Profile, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was said about one kind."""

    kind: Kind
    explanation: StepTimeExplanation

    @property
    def change(self) -> float:
        return self.explanation.head_step_seconds - self.explanation.base_step_seconds

    @property
    def first(self) -> Cause | None:
        return self.explanation.causes[0] if self.explanation.causes else None

    @property
    def is_first_right(self) -> bool:
        """Tell whether the planted cause is first; about the same code, that there is none."""
        if self.kind.is_same_code:
            return not self.explanation.is_attributable
        return self.first is not None and self.kind.is_right(self.first)

    @property
    def explained(self) -> float:
        """Return which share of the profiled change the named causes are."""
        named = fsum(cause.delta_seconds for cause in self.explanation.causes)
        return named / self.change if self.change else 0.0

    @property
    def is_honest(self) -> bool:
        """Tell whether the named causes explain enough, or the answer says that they do not."""
        enough = EXPLAINED_GOAL <= self.explained <= 2 - EXPLAINED_GOAL
        return enough or not self.explanation.is_attributable


class Recorder:
    """Has kinds recorded: one process imports the framework and forks for each side."""

    def __init__(self, folder: Path, *, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self._running: dict[Framework, subprocess.Popen[str]] = {}

    def record(self, kind: Kind) -> tuple[Recording, Recording]:
        """Record base and head, or read what an earlier run kept."""
        name = "".join(letter if letter.isalnum() else "_" for letter in kind.name)
        folder = self._folder / name
        if not all((folder / side / "recording.json").exists() for side in Side):
            self._ask(kind.framework, kind=kind.name, folder=str(folder))
        base, head = (self._side(kind, side, folder / side) for side in Side)
        return base, head

    def _side(self, kind: Kind, side: Side, folder: Path) -> Recording:
        recording = json.loads((folder / "recording.json").read_text(encoding="utf-8"))
        windows = [_read(Path(trace), kind, side) for trace in recording["traces"]]
        if recording["shapes"]:
            shaped = _read(Path(recording["shapes"]), kind, side)
            windows = [with_shapes(window, shaped) for window in windows]
        return Recording(windows=tuple(windows), seconds=recording["seconds"])

    def close(self) -> None:
        """End the processes."""
        for process in self._running.values():
            process.communicate(timeout=TIMEOUT_S)

    def _ask(self, framework: Framework, **request: str) -> None:
        if framework not in self._running:
            self._running[framework] = subprocess.Popen(
                [sys.executable, str(RECORDING), framework, str(self._seed)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(self._folder / f"{framework}.log").open("w"),
                text=True,
                env=os.environ | SINGLE_THREADED,
            )
        process = self._running[framework]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        while process.stdout.readline() not in {"done\n", ""}:
            pass  # what the step itself printed


def _read(trace: Path, kind: Kind, side: Side) -> Profile:
    if kind.framework is Framework.JAX:
        return read_xplane(trace, workload=kind.name, side=side)
    return read_kineto(trace.read_bytes(), workload=kind.name, side=side)


def answer(kind: Kind, recorder: Recorder) -> Answer:
    """Record a kind and explain it."""
    base, head = recorder.record(kind)
    explanation = explain(
        base.windows[0],
        head.windows[0],
        repeats=(*base.windows[1:], *head.windows[1:]),
        timing=(base.seconds, head.seconds),
    )
    return Answer(kind=kind, explanation=explanation)


def row(one: Answer) -> str:
    """Return one line of the table."""
    first = one.first
    explanation = one.explanation
    cause_words = "nothing" if first is None else f"`{first.name}` {first.kind}"
    if first is not None and first.reason:
        cause_words += f" ({first.reason})"
    return (
        f"| {one.kind.name} | {decimals(1e3 * explanation.base_step_seconds, 2)} | "
        f"{decimals(1e3 * explanation.head_step_seconds, 2)} | {cause_words} | "
        f"{'yes' if one.is_first_right else 'NO'} | "
        f"{percentage(one.explained)} | "
        f"{'' if explanation.is_attributable else explanation.note} | "
        f"{'yes' if first is not None and first.suggestion else ''} |"
    )


def summary(answers: Sequence[Answer]) -> tuple[str, bool]:
    """Return the figures that the goals are about, and whether those are met."""
    planted = [one for one in answers if not one.kind.is_same_code]
    same = [one for one in answers if one.kind.is_same_code]
    first = sum(one.is_first_right for one in planted)
    honest = sum(one.is_honest for one in planted)
    silent = sum(one.is_first_right for one in same)
    attributed = sum(one.explanation.is_attributable for one in planted)
    text = (
        f"the planted cause is first in {first} of {len(planted)}; the named causes explain at "
        f'least {percentage(EXPLAINED_GOAL)}, or the answer is "not attributable", in {honest} of '
        f"{len(planted)} ({attributed} attributed); silent on the same code in {silent} of "
        f"{len(same)}"
    )
    is_met = first >= FIRST_GOAL * len(planted) and honest == len(planted) and silent == len(same)
    return text, is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=["*"], help="which kinds, as file patterns")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--keep", type=Path, help="keep the traces here; use those kept before")
    arguments = parser.parse_args()
    chosen = [kind for kind in KINDS if any(fnmatch(kind.name, glob) for glob in arguments.kinds)]
    started = time.perf_counter()
    answers: list[Answer] = []
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory() as temporary,
        Progress(*columns, console=Console(stderr=True)) as progress,
    ):
        recorder = Recorder(arguments.keep or Path(temporary), seed=arguments.seed)
        task = progress.add_task("recording", total=len(chosen))
        for kind in chosen:
            progress.update(task, description=kind.name)
            answers.append(answer(kind, recorder))
            progress.advance(task)
        recorder.close()
    print("| kind | base, ms | head, ms | first cause | right | named | not attributed | advice |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(map(row, answers)))
    text, is_met = summary(answers)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    seconds = time.perf_counter() - started
    print(
        f"\n{text}; seed {arguments.seed}; load {decimals(load, 1)} per core; {integer(seconds)} s"
    )
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
