"""A file, or a spread as it is given, in; which changes so many pairs can tell from none out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Run
from perfledger_baselines.evidence import SMALLEST_SPREAD
from perfledger_baselines.history.detect import detect
from perfledger_baselines.looks import default_looks, looks_taken
from perfledger_baselines.pairing import (
    PairedTest,
    judged_metrics,
    locate_pairs,
    match_runs,
    tests_of,
)
from perfledger_baselines.power import POWER, smallest_detectable_change
from perfledger_baselines.prior import PriorError, prior_from_pairs, prior_from_runs
from perfledger_baselines.spending import nominal_levels
from perfledger_service.errors import UsageError
from perfledger_service.usecases.columns import quoted
from perfledger_service.usecases.histories import read_bundle_or_series, shown
from perfledger_service.usecases.process_steps import best_steps
from perfledger_service.usecases.translating import translated
from perfledger_service.views import MeasuredSeries, PowerView, SpreadView

COUNTS = (4, 5, 6, 8, 10, 15, 20, 40)  # of pairs
CHANGES = (0.005, 0.01, 0.02, 0.05, 0.1)
MAX_PAIRS = 10_000  # days of a machine: whoever needs more needs a quieter machine
FEWEST_PAIRS = 4
MAX_TESTS = 1_000_000
MAX_SD = 10.0  # of logs: a factor of 22,000 from pair to pair is no measurement
_TRIED = 40  # the last of the planned looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be known: for these numbers of pairs and these relative changes."""

    counts: tuple[int, ...] = COUNTS
    changes: tuple[float, ...] = CHANGES
    tests: int = 1
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004 - from there on a coin would do
            msg = f"--alpha {self.alpha:g} is no error rate: give one such as 0.05"
            raise UsageError(msg)
        if not 1 <= self.tests <= MAX_TESTS:
            msg = f"--tests {self.tests}: give how many metrics of workloads share alpha, from 1"
            raise UsageError(msg)
        if not all(FEWEST_PAIRS <= count <= MAX_PAIRS for count in self.counts):
            msg = (
                f"--pairs {self.counts[0]}: a test needs {FEWEST_PAIRS}, and {MAX_PAIRS:,} are most"
            )
            raise UsageError(msg)
        if not all(0 < change <= 10 for change in self.changes):  # noqa: PLR2004 - eleven times
            msg = f"--change {100 * self.changes[0]:g}: give percent above 0, such as 2"
            raise UsageError(msg)


def power_of_spread(sd: float, question: Question) -> PowerView:
    """Return what pairs can tell whose difference has this relative standard deviation."""
    if not 0 < sd <= MAX_SD:
        msg = f"--sd {100 * sd:g}: give the standard deviation of a pair's difference in percent"
        raise UsageError(msg)
    return _view([_spread("As given", sd, "", question)], question)


def power_of_file(path: Path, question: Question, *, column: str | None = None) -> PowerView:
    """Return what pairs can tell that differ as those in a bundle, or as the runs in a file.

    Raises NotFoundError, TooLargeError and UsageError.
    """
    if path.is_dir():
        msg = f"{shown(path)} is a folder: give one bundle, or a CSV or JSON file"
        raise UsageError(msg)
    found = read_bundle_or_series(path, column=column)
    if isinstance(found, MeasuredSeries):
        return _view([_spread_of_runs(found, question)], question)
    if column is not None:
        msg = f"{shown(path)} is a bundle: --column chooses a column of a CSV or JSON file"
        raise UsageError(msg)
    return _view(_spreads_of_bundle(found, question), question)


def _view(spreads: Sequence[SpreadView], question: Question) -> PowerView:
    return PowerView(
        alpha=question.alpha,
        tests=question.tests,
        floor=_floor(),
        power=POWER,
        spreads=tuple(spreads),
    )


def _floor() -> float:
    """Return the floor of a check that configures none."""
    return Plan(seed=0, order=(), looks=()).floor


def _spread(name: str, sd: float, source: str, question: Question) -> SpreadView:
    sd = max(sd, SMALLEST_SPREAD)
    level = question.alpha / question.tests
    return SpreadView(
        name=name,
        sd=sd,
        source=source,
        detectable=tuple((count, _detectable(sd, count, level)) for count in question.counts),
        needed=tuple((change, _needed(sd, change, level)) for change in question.changes),
    )


def _detectable(sd: float, pairs: int, level: float) -> float:
    """Return the smallest change of a check that looks as planned and stops at so many pairs."""
    looks = looks_taken(default_looks(pairs), pairs)
    nominal = nominal_levels(looks, level)[-1]
    return smallest_detectable_change(sd, pairs, alpha=nominal, floor=_floor())


def _needed(sd: float, change: float, level: float) -> int | None:
    """Return the fewest pairs that find a change; None if MAX_PAIRS do not."""
    if _detectable(sd, MAX_PAIRS, level) > change:
        return None
    # The level of the last look depends on how many there are before it: among few pairs one more
    # may tell less. They are tried one by one.
    for pairs in range(FEWEST_PAIRS, _TRIED + 1):
        if _detectable(sd, pairs, level) <= change:
            return pairs
    too_few, enough = _TRIED, MAX_PAIRS
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _detectable(sd, middle, level) <= change:
            enough = middle
        else:
            too_few = middle
    return enough


def _spread_of_runs(series: MeasuredSeries, question: Question) -> SpreadView:
    """Learn from a history: its steps are taken out first, and its gaps are none of it."""
    values = [value for value in series.values if not math.isnan(value)]
    with translated():
        changes = [change.index for change in detect(values).changes]
    try:
        prior = prior_from_runs(values, changes=changes)
    except PriorError as error:
        msg = f"{quoted(series.name)}: {error}"
        raise UsageError(msg) from error
    source = f"from {len(values):,} runs, of which two make a pair"
    if changes:
        source += f"; {len(changes)} steps taken out" if len(changes) > 1 else "; a step taken out"
    return _spread(series.name, math.sqrt(prior.variance), source, question)


def _spreads_of_bundle(bundle: Bundle, question: Question) -> list[SpreadView]:
    metrics = judged_metrics(bundle.metrics)
    found: list[SpreadView] = []
    for workload, runs in match_runs(bundle.runs).items():
        for test in tests_of(workload, locate_pairs(runs, metrics), metrics):
            name = f"{workload} {test.metric.name}"
            if test.is_exact:
                found.append(SpreadView(name=name, sd=None, source="a count: it has no spread"))
            else:
                found.append(_spread_of_test(name, test, question, bundle, runs))
    if not found:
        msg = "the bundle has no pair of runs: nothing says how much pairs differ"
        raise UsageError(msg)
    return found


def _spread_of_test(
    name: str,
    test: PairedTest,
    question: Question,
    bundle: Bundle,
    runs: Sequence[tuple[Run, Run]],
) -> SpreadView:
    """Learn from a check's own pairs: an effect that all of them share is no spread."""
    if test.flaw:
        return SpreadView(name=name, sd=None, source=test.flaw)
    differences = np.log([head / base for base, head in test.pairs])
    try:
        prior = prior_from_pairs((differences - differences.mean()).tolist())
    except PriorError:
        source = f"{len(differences)} pairs are too few to tell a spread: 5 are needed"
        return SpreadView(name=name, sd=None, source=source)
    source = f"from {len(differences)} pairs"
    spread = _spread(name, math.sqrt(prior.variance), source, question)
    if test.metric.name != STEP_TIME.name:
        return spread
    steps, note = best_steps(bundle, runs)
    return SpreadView(
        name=name,
        sd=spread.sd,
        source=source,
        detectable=spread.detectable,
        needed=spread.needed,
        steps=steps,
        steps_note=note,
    )
