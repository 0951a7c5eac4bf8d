"""Computes which changes a number of pairs can detect, given a spread or a file."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import STEP_TIME, Metric
from perfledger.rounding import for_programs
from perfledger_baselines.estimation.pairing import (
    PairedTest,
    RunPairs,
    estimate_pairs,
    judged_metrics,
    match_runs,
    tests_of,
)
from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.significance.alpha_spending import nominal_levels
from perfledger_baselines.significance.interim_looks import looks_until, planned_looks
from perfledger_baselines.significance.paired_t_tests import MIN_SPREAD
from perfledger_baselines.significance.power import POWER, smallest_detectable_change
from perfledger_baselines.significance.spread_prior import (
    MIN_VALUES,
    PriorError,
    prior_from_pairs,
    prior_from_runs,
)
from perfledger_service.errors import UsageError
from perfledger_service.usecases.check.step_count import beginnings, best_steps
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import shown_path
from perfledger_service.usecases.inputs.history_sources import read_bundle_or_series
from perfledger_service.usecases.inputs.table_columns import quote_text
from perfledger_service.values.measured_series import MeasuredSeries
from perfledger_service.values.power_views import PowerView, SpreadView

COUNTS = (4, 5, 6, 8, 10, 15, 20, 40)  # of pairs
CHANGES = (0.005, 0.01, 0.02, 0.05, 0.1)
MAX_PAIRS = 10_000  # days on a machine: beyond this, a quieter machine is the answer
MIN_PAIRS = 4
MAX_TESTS = 1_000_000  # that share alpha
MAX_SD = 10.0  # of logs: pairs that differ by a factor of 22,000 are not a measurement
LAST_LOOK = 40  # the last of the planned looks


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRequest:
    """The numbers of pairs and relative changes to compute power for."""

    counts: tuple[int, ...] = COUNTS
    changes: tuple[float, ...] = CHANGES
    tests: int = 1
    alpha: float = 0.05
    floor: float = Plan(seed=0, order=(), looks=()).floor  # of a check without a configuration

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004 - a coin toss has an error rate of 0.5
            msg = f"--alpha {for_programs(self.alpha)} is not an error rate: give one such as 0.05"
            raise UsageError(msg)
        if not 1 <= self.tests <= MAX_TESTS:
            msg = f"--tests {self.tests}: give the number of tests that share alpha, from 1"
            raise UsageError(msg)
        if not all(MIN_PAIRS <= count <= MAX_PAIRS for count in self.counts):
            msg = f"--pairs {self.counts[0]}: a test needs {MIN_PAIRS} to {MAX_PAIRS:,} pairs"
            raise UsageError(msg)
        if not all(0 < change <= 10 for change in self.changes):  # noqa: PLR2004 - eleven times
            msg = (
                f"--change-percent {for_programs(100 * self.changes[0])}: give percent above 0, "
                "such as 2"
            )
            raise UsageError(msg)


def power_of_spread(sd: float, request: PowerRequest) -> PowerView:
    """Return what pairs with this relative standard deviation can detect."""
    if not 0 < sd <= MAX_SD:
        msg = (
            f"--spread-percent {for_programs(100 * sd)}: give the standard deviation of a pair's "
            "difference "
            "in percent"
        )
        raise UsageError(msg)
    return _view([_spread("As given", sd, "", request)], request)


def power_of_file(path: Path, request: PowerRequest, *, column: str | None = None) -> PowerView:
    """Return what pairs can detect if they spread like a bundle's pairs, or like a file's runs.

    Raises NotFoundError, TooLargeError and UsageError.
    """
    if path.is_dir():
        msg = f"{shown_path(path)} is a folder: give one bundle, or a CSV or JSON file"
        raise UsageError(msg)
    measurements = read_bundle_or_series(path, column=column)
    if isinstance(measurements, MeasuredSeries):
        return _view([_spread_of_runs(measurements, request)], request)
    if column is not None:
        msg = f"{shown_path(path)} is a bundle: --column chooses a column of a CSV or JSON file"
        raise UsageError(msg)
    request = replace(request, floor=measurements.plan.floor)
    return _view(_spreads_of_bundle(measurements, request), request)


def _view(spreads: Sequence[SpreadView], request: PowerRequest) -> PowerView:
    return PowerView(
        alpha=request.alpha,
        tests=request.tests,
        floor=request.floor,
        power=POWER,
        spreads=tuple(spreads),
    )


def _spread(name: str, sd: float, source: str, request: PowerRequest) -> SpreadView:
    sd = max(sd, MIN_SPREAD)
    return SpreadView(
        name=name,
        sd=sd,
        source=source,
        detectable=tuple((count, _detectable(sd, count, request)) for count in request.counts),
        needed=tuple((change, _pairs_needed(sd, change, request)) for change in request.changes),
    )


def _detectable(sd: float, pairs: int, request: PowerRequest) -> float:
    """Return the smallest change found by a check with planned looks that stops at `pairs`."""
    looks = looks_until(planned_looks(pairs), pairs)
    nominal = nominal_levels(looks, request.alpha / request.tests)[-1]
    return smallest_detectable_change(sd, pairs, alpha=nominal, floor=request.floor)


def _pairs_needed(sd: float, change: float, request: PowerRequest) -> int | None:
    """Return the fewest pairs that detect a change; None if MAX_PAIRS is not enough."""
    if _detectable(sd, MAX_PAIRS, request) > change:
        return None
    # The level of the last look depends on the number of looks before it, so among few pairs power
    # is not monotonic and every number is tried.
    for pairs in range(MIN_PAIRS, LAST_LOOK + 1):
        if _detectable(sd, pairs, request) <= change:
            return pairs
    too_few, enough = LAST_LOOK, MAX_PAIRS
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _detectable(sd, middle, request) <= change:
            enough = middle
        else:
            too_few = middle
    return enough


def _spread_of_runs(series: MeasuredSeries, request: PowerRequest) -> SpreadView:
    """Return the spread of a history, with steps and gaps removed."""
    values = [value for value in series.values if not math.isnan(value)]
    with translate_errors():
        changes = [change.index for change in detect(values).changes]
    try:
        prior = prior_from_runs(values, changes=changes)
    except PriorError as error:
        msg = f"{quote_text(series.name)}: {error}"
        raise UsageError(msg) from error
    source = f"from {len(values):,} runs, of which two make a pair"
    if changes:
        source += (
            f"; {len(changes)} level shifts removed"
            if len(changes) > 1
            else "; a level shift removed"
        )
    return _spread(series.name, math.sqrt(prior.variance), source, request)


def spreads_of_pairs(
    runs: RunPairs, metrics: Iterable[Metric], request: PowerRequest
) -> tuple[tuple[PairedTest, SpreadView], ...]:
    """Return each test of these pairs, with its spread and what the pairs can detect."""
    judged = judged_metrics(metrics)
    return tuple(
        (test, _spread_of_test(test, request))
        for workload, pairs in runs.items()
        for test in tests_of(workload, estimate_pairs(pairs, judged), judged)
    )


def _spreads_of_bundle(bundle: Bundle, request: PowerRequest) -> list[SpreadView]:
    pairs = match_runs(bundle.runs)
    starts = beginnings(bundle)
    spreads: list[SpreadView] = []
    for test, spread in spreads_of_pairs(pairs, bundle.metrics, request):
        if spread.sd is not None and test.metric.name == STEP_TIME.name:
            steps, note = best_steps(pairs[test.workload], starts)
            spreads.append(replace(spread, steps=steps, steps_note=note))
        else:
            spreads.append(spread)
    if not spreads:
        msg = "the bundle has no pair of runs, so pairs have no spread: give a bundle with pairs"
        raise UsageError(msg)
    return spreads


def _spread_of_test(test: PairedTest, request: PowerRequest) -> SpreadView:
    """Return the spread of a check's pairs around their common effect."""
    name = f"{test.workload} {test.metric.name}"
    if test.is_exact:
        return SpreadView(name=name, sd=None, source="a count: it has no spread")
    if test.flaw:
        return SpreadView(name=name, sd=None, source=test.flaw)
    differences = np.log([head / base for base, head in test.pairs])
    try:
        prior = prior_from_pairs((differences - differences.mean()).tolist())
    except PriorError:
        count = "1 pair is" if len(differences) == 1 else f"{len(differences)} pairs are"
        source = f"{count} too few to estimate a spread: {MIN_VALUES} are needed"
        return SpreadView(name=name, sd=None, source=source)
    return _spread(name, math.sqrt(prior.variance), f"from {len(differences)} pairs", request)
