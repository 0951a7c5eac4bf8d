"""Runs of the demo's measuring part and plain alternating loops become a table against the goals.

    python benchmarks/checks/demo_runs.py [--runs 10]

One JSON line a run is appended to build/demo-runs.jsonl, so ten runs may take several sittings:
runs that are in the log are not repeated. The plain loop shares no code with perfledger's judge:
base and head are two child processes that take turns, one of them running at a time; its answer is
the median of 40 pairs' ratios, with the interval that its ranks give. No gate: the goals stand
beside the figures.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from perfledger.rounding import decimals, integer

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "build" / "demo-runs.jsonl"
FOLDER = ROOT / "build" / "demo-runs"  # the demo's own: emptied by every run

PAIRS = 40
RANKS = 13, 26  # of 40 ratios in order, from 0: between them lies their median in 96 of 100 cases
PAIRS_PER_PROCESS = 5  # then both sides start afresh: a process has a speed of its own
SET_UP, TURN = "set up", "turn"  # what a child is asked to do; each pair has set-ups of its own
STEPS = 8  # timed a turn, after one that is not: the other side's turn left the caches cold
WARMUPS = 5

RUNS = 10
FOUND, GREEN, MEASURED_S = 10, 8, 300  # the goals; the service's part takes less than a minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run of the demo's measuring part, beside its own plain loop."""

    slow_outcome: str
    low: float | None  # of head / base, as is the loop's ratio
    high: float | None
    is_found: bool  # a regression in the right workload and in no other
    loop_ratio: float
    loop_low: float
    loop_high: float
    is_red: bool  # the innocent branch
    is_unchanged: bool
    innocent: str
    seconds: float

    @property
    def holds_loop(self) -> bool:
        """Whether the interval contains the plain loop's ratio."""
        if self.low is None or self.high is None:
            return False
        return self.low <= self.loop_ratio <= self.high

    @property
    def agrees_with_loop(self) -> bool:
        """Whether the two intervals have anything in common: a loop of 40 pairs is not exact."""
        if self.low is None or self.high is None:
            return False
        return self.low <= self.loop_high and self.loop_low <= self.high


def row_of(run: Mapping[str, Any]) -> Row:
    """Return what one line of the log says."""
    slow = next(branch for branch in run["branches"] if branch["slower"])
    innocent = next(branch for branch in run["branches"] if not branch["slower"])
    speed = [each for each in slow["verdicts"] if each["metric"] == "step_time_p50"]
    planted = next(each for each in speed if each["workload"] == slow["slower"])
    red = [each["workload"] for each in speed if each["outcome"] == "regressed"]
    outcomes = [each["outcome"] for each in innocent["verdicts"]]
    ratios = sorted(head / base for base, head in run["loop"]["pairs"])
    return Row(
        slow_outcome=planted["outcome"],
        low=None if planted["low"] is None else 1 + planted["low"],
        high=None if planted["high"] is None else 1 + planted["high"],
        is_found=red == [slow["slower"]],
        loop_ratio=statistics.median(ratios),
        loop_low=ratios[RANKS[0]],
        loop_high=ratios[RANKS[1]],
        is_red="regressed" in outcomes,
        is_unchanged=set(outcomes) == {"unchanged"},
        innocent=", ".join(f"{outcomes.count(word)} {word}" for word in sorted(set(outcomes))),
        seconds=run["seconds"]["measured"],
    )


def table_of(rows: Sequence[Row]) -> Table:
    """Return the runs as a table."""
    table = Table(
        *("run", "slow branch", "head / base", "plain loop", "contained", "agrees"),
        *("innocent branch", "measured in"),
        box=None,
    )
    for number, row in enumerate(rows, start=1):
        interval = "not known"
        if row.low is not None and row.high is not None:
            interval = f"{decimals(row.low, 3)} to {decimals(row.high, 3)}"
        table.add_row(
            str(number),
            f"{row.slow_outcome}{'' if row.is_found else ' (!)'}",
            interval,
            f"{decimals(row.loop_ratio, 3)} ({decimals(row.loop_low, 3)} to "
            f"{decimals(row.loop_high, 3)})",
            "yes" if row.holds_loop else "no",
            "yes" if row.agrees_with_loop else "no",
            f"{'RED: ' if row.is_red else ''}{row.innocent}",
            f"{integer(row.seconds)} s",
        )
    return table


def totals_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the totals in words, each beside its goal."""
    runs = len(rows)
    found_count, loop_count = sum(row.is_found for row in rows), sum(row.holds_loop for row in rows)
    agreeing = sum(row.agrees_with_loop for row in rows)
    red, unchanged = sum(row.is_red for row in rows), sum(row.is_unchanged for row in rows)
    ratio = statistics.median(row.loop_ratio for row in rows)
    longest = max(row.seconds for row in rows)
    goal = f"(goal {FOUND} of {RUNS})"
    return (
        f"slow branch found, in its workload alone: {found_count} of {runs} {goal}",
        f"its interval contains the plain loop's ratio: {loop_count} of {runs} {goal}",
        f"the two intervals overlap: {agreeing} of {runs}",
        f"median of the plain loops' ratios: {decimals(ratio, 3)}",
        f"innocent branch red: {red} of {runs} (goal 0)",
        f"innocent branch unchanged in all metrics: {unchanged} of {runs} (goal {GREEN} of {RUNS})",
        f"longest measuring part: {integer(longest)} s (goal {MEASURED_S} s)",
    )


def plain_loop(repository: Path, branch: str, workload: str, folder: Path) -> dict[str, Any]:
    """Alternate steps of main and of a branch in child processes; return every time, in seconds."""
    sides = {"base": folder / "loop-base", "head": folder / "loop-head"}
    for revision, place in zip(("main", branch), sides.values(), strict=True):
        clone = ("git", "clone", "--quiet", "--branch", revision, str(repository), str(place))
        subprocess.run(clone, check=True)
    pairs: list[tuple[float, float]] = []
    while len(pairs) < PAIRS:
        with ExitStack() as stack:
            turns = {
                side: stack.enter_context(_stepping(place, workload))
                for side, place in sides.items()
            }
            for _ in range(PAIRS_PER_PROCESS):
                for turn in turns.values():
                    turn(SET_UP)
                order = sorted(sides, reverse=len(pairs) % 2 == 1)
                times: dict[str, float] = dict.fromkeys(sides, 0.0)
                for side in (*order, *reversed(order)):  # what drifts hits both alike
                    times[side] += turns[side](TURN) / 2
                pairs.append((times["base"], times["head"]))
    return {"pairs": pairs}


class _Turns:
    """Asks a child for turns."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, what: str) -> float:
        """Let the child set up or take its turn; return its median step, in seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


@contextmanager
def _stepping(place: Path, workload: str) -> Iterator[_Turns]:
    paths = os.pathsep.join((str(place), str(ROOT / "runners")))
    with subprocess.Popen(
        (sys.executable, "-P", __file__, "--child", workload),
        cwd=place,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield _Turns(process)
        finally:
            process.kill()


def _child(workload: str) -> None:
    """Answer every line on standard input with the median time of a few steps on the CPU."""
    module, _, function = workload.partition(":")
    set_up = getattr(import_module(module), function)
    step: Callable[[], object] = set_up("cpu")
    for line in sys.stdin:
        if line.strip() == SET_UP:
            step = set_up("cpu")
        times = []
        for _ in range((WARMUPS if line.strip() == SET_UP else 1) + STEPS):
            began = time.perf_counter()
            step()
            times.append(time.perf_counter() - began)
        print(statistics.median(times[-STEPS:]), flush=True)


def _run_once(number: int, console: Console) -> dict[str, Any]:
    answer, log = FOLDER.parent / "demo-run.json", FOLDER.parent / f"demo-run-{number}.log"
    demo = (sys.executable, str(ROOT / "examples" / "demo.py"))
    arguments = ("--measure-only", "--folder", str(FOLDER), "--json", str(answer))
    console.print(f"run {number}: the demo, see {log.relative_to(ROOT)} ...")
    with log.open("w", encoding="utf-8") as output:
        subprocess.run((*demo, *arguments), check=True, stdout=output, stderr=output)
    document: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    slow = next(branch for branch in document["branches"] if branch["slower"])
    console.print(f"run {number}: the plain loop ...")
    loop = plain_loop(FOLDER / "repository", slow["branch"], slow["slower"], FOLDER)
    return {**document, "loop": loop, "load": os.getloadavg()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="how many the log shall hold")
    parser.add_argument("--log", type=Path, default=LOG, help="one JSON line a run")
    parser.add_argument("--child", metavar="WORKLOAD", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _child(options.child)
        return
    console = Console(highlight=False)
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    options.log.parent.mkdir(parents=True, exist_ok=True)
    options.log.touch()
    lines = options.log.read_text(encoding="utf-8").splitlines()
    while len(lines) < options.runs:
        lines.append(json.dumps(_run_once(len(lines) + 1, console)))
        with options.log.open("a", encoding="utf-8") as log:
            log.write(lines[-1] + "\n")
    rows = [row_of(json.loads(line)) for line in lines]
    console.print(table_of(rows))
    for total in totals_of(rows):
        console.print(total)


if __name__ == "__main__":
    main()
