"""Measures how often a planted change is bisected to its commit, and what that builds.

python benchmarks/checks/history_bisect.py [--replayed 46] [--real 4] [--seed N] [--budget 10m]

A replayed case draws a range of 2 to 200 commits, the commit that changes the workload, and in one
case of four commits that do not build. Its pairs are drawn, with replacement, from one series of
`history_bisect_pairs.json`: pairs of one unchanged commit that `perfledger check` measured on a
machine with two cores and a load of four to nine. They drive the functions that the command calls,
its final check included. The planted change is 2 to 15 times the typical deviation of the series'
pairs: smaller ones mostly end undecided. A real case is `perfledger history bisect` on a repository
made for it, with one commit that does not import. Right is the planted commit alone, or with
commits that do not build between it and the last one that does. The bound is ceil(log2 N) + 2 built
commits.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scratch_repository import commit, git

from perfledger.metrics import METRICS
from perfledger.records import Run, Side
from perfledger_baselines.history.commits.search import SearchEnd, SearchStatus
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.history.bisect import find_commit, new_search
from perfledger_service.usecases.history.commit_pairs import CommitCheck, CommitPair, SkippedCommit

RECORDED = Path(__file__).with_name("history_bisect_pairs.json")
# Multiples of the typical deviation of a series' pairs that a planted change has.
SIZES = (2.0, 3.0, 5.0, 8.0, 15.0)
CHECK_PAIRS = 5
PAIR_S = 2.5  # what a pair takes on the clock of the budget
REAL_COMMITS, REAL_FACTOR = 12, 3.0
WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu")
def step():
    from package.core import work
    return work
"""
WORK = """
def work():
    total = 0
    for number in range({rounds}):
        total += number * number
    return total
"""


@dataclass(frozen=True)
class Series:
    """Recorded pairs of one metric of an unchanged workload."""

    workload: str
    metric: str
    pairs: tuple[tuple[float, float], ...]

    @property
    def deviation(self) -> float:
        """Return the typical deviation of a pair's log ratio."""
        sizes = sorted(abs(math.log(head / base)) for base, head in self.pairs)
        return 1.48 * sizes[len(sizes) // 2]


@dataclass(frozen=True)
class Case:
    """A range with a planted change; `broken` commits do not build."""

    series: Series
    commits: int
    first: int
    size: float  # of the change, as a difference of logs
    broken: frozenset[int]


@dataclass
class Replay:
    """Commits whose pairs are drawn from a recorded series, with the planted change."""

    case: Case
    draw: random.Random
    built: set[int] = field(default_factory=set)

    def measure(self, base: int, head: int) -> CommitPair | SkippedCommit:
        """Draw a pair, from either side of the recorded one."""
        broken = self.case.broken & {base, head}
        if broken:
            return SkippedCommit(min(broken), "does not build")
        self.built |= {base, head}
        values = self.draw.sample(self.draw.choice(self.case.series.pairs), 2)
        is_between = base < self.case.first <= head
        values[1] *= math.exp(self.case.size) if is_between else 1.0
        before, after = (self.run(side, value) for side, value in zip(Side, values, strict=True))
        return CommitPair(before, after, PAIR_S)

    def check(self, base: int, head: int, *, budget_s: float) -> CommitCheck | SkippedCommit:
        """Draw the pairs of a short check."""
        assert budget_s > 0
        pairs = [self.measure(base, head) for _ in range(CHECK_PAIRS)]
        runs = tuple((pair.base, pair.head) for pair in pairs if isinstance(pair, CommitPair))
        return CommitCheck(runs, CHECK_PAIRS * PAIR_S)

    def run(self, side: Side, value: float) -> Run:
        """Return one process's run."""
        return Run(
            workload=self.case.series.workload,
            side=side,
            pair=0,
            position=0,
            process=0,
            started_at="",
            samples={self.case.series.metric: (value,)},
        )

    def stage(self, name: str) -> None:
        """Ignore the progress."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    title: str
    is_right: bool
    is_wrong: bool  # another commit was named, as if it were sure
    builds: int
    bound: int
    pairs: int


def recorded_series() -> tuple[Series, ...]:
    """Return the recorded series."""
    records = json.loads(RECORDED.read_text(encoding="utf-8"))
    return tuple(
        Series(each["workload"], each["metric"], tuple(map(tuple, each["pairs"])))
        for each in records
    )


def planted(draw: random.Random, series: Sequence[Series]) -> Case:
    """Draw a case."""
    one = draw.choice(series)
    commits = round(math.exp(draw.uniform(math.log(2), math.log(200))))
    first = draw.randint(1, commits)
    inner = [commit for commit in range(1, commits) if commit != first]
    has_broken = draw.random() < 0.25
    broken = draw.sample(inner, min(len(inner), draw.randint(1, 4))) if has_broken else []
    return Case(one, commits, first, draw.choice(SIZES) * one.deviation, frozenset(broken))


def replay(case: Case, draw: random.Random, *, budget_s: float) -> Outcome:
    """Bisect a case as the command does."""
    source = Replay(case, draw)
    metric = METRICS[case.series.metric]
    settings, _ = check_settings(flags={}, table=None, table_name="")
    search = new_search(case.series.workload, metric, case.commits, settings)
    result = find_commit(search, source, budget_s=budget_s, progress=source)
    change = math.expm1(case.size)
    title = (
        f"{case.series.workload} {case.series.metric}, {case.commits} commits, {change:+.0%}"
        f"{f', {len(case.broken)} broken' if case.broken else ''}: {result.end.status}"
    )
    return Outcome(
        title=title,
        is_right=is_right(case, result.end),
        is_wrong=result.end.status is SearchStatus.FOUND and result.end.first != case.first,
        builds=len(source.built),
        bound=math.ceil(math.log2(case.commits)) + 2,
        pairs=result.pairs,
    )


def is_right(case: Case, end: SearchEnd) -> bool:
    """Return whether the answer is the planted commit, alone or behind ones that do not build."""
    commits = range(end.first, end.last + 1)
    if end.status is SearchStatus.FOUND:
        return end.first == case.first
    rest = set(commits) - {end.last}
    return end.status is SearchStatus.NOT_MEASURED and case.first in commits and rest <= case.broken


def bisect_really(first: int, broken: int, *, budget: str) -> Outcome:
    """Run the command on a repository whose commit `first` is slower, and `broken` is broken."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        git(folder, "init", "--quiet", "--initial-branch", "main")
        files = {
            "perfledger.toml": f'python = "{sys.executable}"\n',
            "benchmarks/work.py": WORKLOAD,
        }
        for number in range(REAL_COMMITS + 1):
            rounds = round(60_000 * (REAL_FACTOR if number >= first else 1))
            text = WORK.format(rounds=rounds) + f"# {number}\n"
            text = f"import nothing\n{text}" if number == broken else text
            commit(folder, {**files, "package/core.py": text}, f"commit {number}")
        command = ["-m", "perfledger_service", "history", "bisect", "benchmarks.work:step"]
        ends = [f"HEAD~{REAL_COMMITS}", "HEAD", "--metric", "cpu_time"]
        done = subprocess.run(
            [sys.executable, *command, *ends, "--json", "--budget", budget],
            cwd=folder,
            check=False,  # only one commit found is 0
            capture_output=True,
            text=True,
        )
    if not done.stdout:
        raise SystemExit(done.stderr)
    answer = json.loads(done.stdout)
    is_single = answer["status"] == SearchStatus.FOUND
    return Outcome(
        title=f"real, {REAL_COMMITS} commits, {REAL_FACTOR - 1:+.0%}: {answer['status']}",
        is_right=is_single and answer["first"] == first,
        is_wrong=is_single and answer["first"] != first,
        builds=answer["builds"],
        bound=math.ceil(math.log2(REAL_COMMITS)) + 2,
        pairs=answer["pairs"],
    )


def main() -> None:
    """Bisect the cases and print what came of each, and of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replayed", type=int, default=46)
    parser.add_argument("--real", type=int, default=4)
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--budget", default="10m", help="of a real case")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    series = recorded_series()
    print("| case | right | builds (bound) | pairs |\n|---|---|---|---|")
    outcomes: list[Outcome] = []
    for number in range(options.replayed + options.real):
        if number < options.replayed:
            outcomes.append(replay(planted(draw, series), draw, budget_s=600.0))
        else:
            first = draw.randint(1, REAL_COMMITS)
            broken = draw.choice([each for each in range(1, REAL_COMMITS) if each != first])
            outcomes.append(bisect_really(first, broken, budget=options.budget))
        one = outcomes[-1]
        right = "yes" if one.is_right else "WRONG" if one.is_wrong else "no"
        print(f"| {one.title} | {right} | {one.builds} ({one.bound}) | {one.pairs} |", flush=True)
    count = len(outcomes)
    within = sum(one.is_right and one.builds <= one.bound for one in outcomes)
    print(
        f"\n{sum(one.is_right for one in outcomes)} of {count} right, {within} of {count} right "
        f"within the bound of builds; {sum(one.is_wrong for one in outcomes)} wrong, "
        f"{sum(one.builds > one.bound for one in outcomes)} with more builds than the bound"
    )


if __name__ == "__main__":
    main()
