"""Measures what wall time and CPU time find beside other load, by real checks.

python benchmarks/checks/cpu_time_gate.py [--checks 3] [--loops 0 2 4] [--step-ms 6] [--budget 20s]
                                   [--case NAME] [--keep FOLDER] [--resampled 1000]

Each check is `perfledger check` on a repository made for it, whose step works for about --step-ms.
The head is unchanged, works 10 % more, or sleeps for 10 % of its time. Busy loops run beside it. A
row counts the outcomes of the step time by wall time alone, of the step time as it was judged,
where CPU time may settle it or refute it, of the CPU time, and of the whole check: the worst of
both. The first is judged again from the bundle, without the other metrics. A change is false where
there is none, an `unchanged` is false where there is a change.

With --keep the bundles of the checks are kept, and those kept before count too. --resampled adds
rows of made-up checks: the n-th pair of each is the n-th pair of a real check of that row, drawn at
random, and the product's rule stops them. Sides of unchanged code are exchanged at random, or a few
pairs would make up a change that all resampled checks find.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import median

from scratch_repository import busy_loops, commit, git

from perfledger.bundle import Bundle
from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import CoreTimes, Run, Side
from perfledger_baselines.judging.judge import is_trade, judge_bundle
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_runners.bundles.files import read_bundle, write_bundle

STEP = """
import time
import perfledger

@perfledger.workload()
def work():
    def step():
        total = 0
        for number in range({rounds}):
            total += number * number
        {sleep}
        return total
    return step
"""
CONFIGURATION = 'paths = ["benchmarks"]\nmargin = 0.05\n'
ROUNDS_PER_MS = 16_700
UNCHANGED = "unchanged"
# name: the head's work, and what its step sleeps, as shares of the base's work.
CASES = {
    UNCHANGED: (1.0, 0.0),
    "10 % more work": (1.1, 0.0),
    "10 % asleep": (1.0, 0.1),
}
OUTCOMES = (Outcome.REGRESSED, Outcome.IMPROVED, Outcome.UNCHANGED, Outcome.UNDECIDED)


def check(folder: Path, case: str, *, step_ms: float, budget: str) -> Bundle:
    """Commit base and head of a case, and check the head against the base."""
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for message, (work, asleep) in (("base", CASES[UNCHANGED]), ("head", CASES[case])):
        rounds, asleep_s = round(work * step_ms * ROUNDS_PER_MS), asleep * step_ms / 1000
        sleep = f"time.sleep({asleep_s})" if asleep_s else "pass"
        step = STEP.format(rounds=rounds, sleep=sleep) + f"# {message}\n"
        files = {"perfledger.toml": CONFIGURATION, "benchmarks/work.py": step}
        commit(folder, files, message)
    bundle = folder.parent / "bundle.json"
    command = ["-m", "perfledger_service", "check", "--base", "HEAD~1", "--head", "HEAD"]
    options = [
        "--no-skip",
        "--budget",
        budget,
        "--json",
        "--save-bundle",
        str(bundle),
        "--device",
        "cpu",
    ]
    done = subprocess.run(
        [sys.executable, *command, *options],
        cwd=folder,
        check=False,  # a regression is an exit code as well
        capture_output=True,
        text=True,
    )
    if not bundle.exists():
        raise SystemExit(done.stderr or done.stdout)
    return read_bundle(bundle.read_bytes())


def by_wall_time_alone(bundle: Bundle) -> Verdict:
    """Judge a bundle as if step times were all that it holds."""
    runs = tuple(
        replace(
            run,
            samples={STEP_TIME.name: run.samples[STEP_TIME.name]},
            core_times=CoreTimes(),
        )
        for run in bundle.runs
    )
    (verdict,) = judge_bundle(replace(bundle, runs=runs, metrics=(STEP_TIME,)))
    return verdict


def resampled(bundles: Sequence[Bundle], draw: random.Random, *, is_same_code: bool) -> Bundle:
    """Return a check whose pairs are drawn from real checks of one plan, stopped by its rule.

    Sides of the same code may have been the other way round.
    """
    plan = bundles[0].plan
    name = bundles[0].workloads[0].id
    rule = GroupSequentialStopping(
        looks=plan.looks,
        alpha=plan.alpha,
        margin=plan.margin,
        floor=plan.floor,
        metrics=bundles[0].metrics,
        priors={},
    )
    rule.start((name,))
    runs: list[Run] = []
    for number in range(plan.looks[-1]):
        pairs = [pair for bundle in bundles if (pair := pair_of(bundle, number))]
        if not pairs or name not in rule.unfinished():
            break
        base, head = draw.choice(pairs)
        if is_same_code and draw.random() < 0.5:
            base, head = replace(head, side=Side.BASE), replace(base, side=Side.HEAD)
        rule.add(base, head)
        runs += (base, head)
    return replace(bundles[0], runs=tuple(runs))


def pair_of(bundle: Bundle, number: int) -> tuple[Run, Run] | None:
    """Return a check's pair of this number, None if it stopped before."""
    by_side = {run.side: run for run in bundle.runs if run.pair == number}
    return (by_side[Side.BASE], by_side[Side.HEAD]) if len(by_side) == len(Side) else None


def verdict_on(bundle: Bundle, metric: str) -> Verdict | None:
    """Return the verdict on a metric, None if it was not measured."""
    return next((each for each in judge_bundle(bundle) if each.metric.name == metric), None)


def outcome_of(bundle: Bundle) -> Outcome:
    """Return the worst outcome of a check: the first of OUTCOMES that a metric has."""
    verdicts = judge_bundle(bundle)
    outcomes = {each.outcome for each in verdicts if not is_trade(each, verdicts)}
    ranked = (Outcome.REGRESSED, Outcome.UNDECIDED, Outcome.IMPROVED, Outcome.UNCHANGED)
    return next((each for each in ranked if each in outcomes), Outcome.NOT_MEASURED)


def row(title: str, verdicts: Iterable[Verdict | None]) -> str:
    """Return a line of the table: how often each outcome came, and the typical change."""
    measured = [verdict for verdict in verdicts if verdict is not None]
    changes = [100 * each.estimate.change for each in measured if each.estimate is not None]
    change = (
        f"{median(changes):+.1f} ({min(changes):+.1f} to {max(changes):+.1f})" if changes else ""
    )
    return counts_row(title, (verdict.outcome for verdict in measured), change)


def counts_row(title: str, outcomes: Iterable[Outcome], change: str = "") -> str:
    """Return a line of the table: how often each outcome came."""
    counts = Counter(outcomes)
    return f"| {title} | {' | '.join(str(counts[each]) for each in OUTCOMES)} | {change} |"


def main() -> None:
    """Make the checks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checks", type=int, default=3)
    parser.add_argument("--loops", type=int, nargs="+", default=[0, 2, 4])
    parser.add_argument("--step-ms", type=float, nargs="+", default=[6])
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--keep", type=Path, help="keep the bundles here; use those kept before")
    parser.add_argument("--resampled", type=int, default=0, help="made-up checks of real pairs")
    options = parser.parse_args()
    print(
        "| head, busy loops, judged by | regressed | improved | unchanged | undecided | change, % |"
    )
    print("|---|---|---|---|---|---|")
    for case, step_ms, loops in product(options.case or CASES, options.step_ms, options.loops):
        bundles = real_checks(case, step_ms, loops, options)
        title = f"{case}, {step_ms:g} ms, {loops} loops"
        print(row(f"{title}: wall time alone", map(by_wall_time_alone, bundles)))
        print_rows(title, bundles)
        if options.resampled:
            draw = random.Random(title)
            made_up = [
                resampled(bundles, draw, is_same_code=case == UNCHANGED)
                for _ in range(options.resampled)
            ]
            print_rows(f"{title}, resampled", made_up)


def real_checks(case: str, step_ms: float, loops: int, options: argparse.Namespace) -> list[Bundle]:
    """Return the bundles of the checks of a row: those kept before, then new ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = (options.keep or Path(name)) / f"{case} {step_ms:g} ms {loops}"
        checked = [read_bundle(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
        while len(checked) < options.checks:
            with tempfile.TemporaryDirectory() as scratch, busy_loops(loops):
                repository = Path(scratch) / "repository"
                repository.mkdir()
                checked.append(check(repository, case, step_ms=step_ms, budget=options.budget))
            write_bundle(checked[-1], folder / f"{checked[-1].id}.json")
        return checked


def print_rows(title: str, bundles: Sequence[Bundle]) -> None:
    """Print the rows of the metrics as the report judges them."""
    for metric, name in ((STEP_TIME, "step time"), (CPU_TIME, "CPU time")):
        verdicts = [verdict_on(bundle, metric.name) for bundle in bundles]
        print(row(f"{title}: {name}", verdicts), flush=True)
    print(counts_row(f"{title}: whole check", map(outcome_of, bundles)), flush=True)


if __name__ == "__main__":
    main()
