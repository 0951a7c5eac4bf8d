"""Bisects the commits of a confirmed change by A/B runs.

The middle commit has all of the change or none of it, and the size is already known. That is an
easier question than the judge's, which allows for any size. Wald's sequential probability ratio
test answers it, with up to MAX_TRIES A/Bs of the same middle.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import assert_never

from scipy.special import stdtrit

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.confirmation_state import (
    Bisection,
    BisectionStatus,
    ConfirmedChange,
)
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict

# It picks the wrong half once in a hundred; sixteen commits take four halvings.
SURE = math.log(99)
# Most A/Bs of one commit, if they are undecided. An A/B that is undecided at first is usually
# decided by as many pairs again; one that is still undecided after three times as many was
# confirmed by chance, or the change came in parts.
MAX_TRIES = 3
# A change to zero has no log.
NEARLY_ALL = 1 - 1e-12


class _Place(StrEnum):
    """Where the commit of a change lies relative to the measured middle commit."""

    NOT_AFTER = "not after it"
    AFTER = "after it"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


def divide_bisection(
    bisection: Bisection, middle: int, verdicts: Mapping[str, Verdict], pairs: int
) -> list[tuple[Bisection, BisectionStatus]]:
    """Divide a bisection by the result of the A/B of `middle` against the last good commit.

    `verdicts` are by metric name, `pairs` is the number that the A/B took. Metrics that changed at
    different commits are split into separate bisections here. A commit that cannot be measured is
    skipped; one whose A/B is undecided is tried again, MAX_TRIES times in all.
    """
    places: dict[_Place, list[ConfirmedChange]] = {}
    tries_left = MAX_TRIES - bisection.tries - 1
    for change in bisection.changes:
        verdict = verdicts.get(change.candidate.series.metric.name)
        place, updated = _placed_change(change, verdict, tries_left=tries_left)
        places.setdefault(place, []).append(updated)
    bisection = replace(bisection, pairs=bisection.pairs + pairs, request=None)
    return [
        _part(replace(bisection, changes=tuple(changes)), place, middle)
        for place, changes in places.items()
    ]


def middle_of(search: Bisection) -> int:
    """Return the commit to measure next: the unskipped one closest to the middle."""
    centre = (search.good + search.bad) // 2
    return min(_dividing_commits(search), key=lambda commit: (abs(commit - centre), commit))


def bisection_status(search: Bisection) -> BisectionStatus:
    """Return whether a commit is left to measure, and if not, why."""
    if search.commits.count == 1:
        return BisectionStatus.ONE_COMMIT
    if search.tries >= MAX_TRIES:
        return BisectionStatus.UNDECIDED
    return BisectionStatus.UNDER_WAY if _dividing_commits(search) else BisectionStatus.NOT_MEASURED


def sure_change(verdict: Verdict | None, harm: Harm) -> EffectEstimate | None:
    """Return the estimate of a called change in this direction; None if none was called."""
    called = Outcome.REGRESSED if harm is Harm.WORSE else Outcome.IMPROVED
    return verdict.estimate if verdict is not None and verdict.outcome is called else None


def log_likelihood_ratio(estimate: EffectEstimate, full_change: float) -> float:
    """Return the log-likelihood ratio of the full relative change against no change.

    The mean of the pairs' log differences has Student's t distribution around the truth. Its
    standard error is the interval's half-width over the 97.5 % quantile: too large if the interval
    was widened for interim looks, so that the ratio errs towards 0, which is neutral. Wald,
    "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16 (1945).
    """
    change, low, high, size = map(_log, (estimate.change, estimate.low, estimate.high, full_change))
    freedom = max(estimate.pairs - 1, 1)
    error = (high - low) / 2 / float(stdtrit(freedom, 0.975))
    if not math.isfinite(error):
        return 0.0
    if error == 0:
        return math.copysign(math.inf, abs(change) - abs(change - size))
    none, full = ((change - truth) / error for truth in (0.0, size))
    return (freedom + 1) / 2 * (math.log1p(none**2 / freedom) - math.log1p(full**2 / freedom))


def _placed_change(
    change: ConfirmedChange, verdict: Verdict | None, *, tries_left: int
) -> tuple[_Place, ConfirmedChange]:
    """Return where the change happened, and the change with its updated evidence."""
    if verdict is None or verdict.outcome is Outcome.NOT_MEASURED:
        return _Place.NOT_MEASURED, replace(change, log_likelihood_ratio=0.0)
    estimate = sure_change(verdict, change.candidate.harm)
    ratio = change.log_likelihood_ratio
    if verdict.estimate is not None:
        ratio += log_likelihood_ratio(verdict.estimate, change.estimate.change)
    is_opposite = estimate is None and verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}
    if ratio <= -SURE or is_opposite:
        return _Place.AFTER, replace(change, log_likelihood_ratio=0.0)
    # If every try shows half the size, the change came in two parts, and this is the first.
    is_part = estimate is not None and (ratio > 0 or tries_left == 0)
    if ratio >= SURE or is_part:
        return _Place.NOT_AFTER, ConfirmedChange(change.candidate, estimate or change.estimate)
    return _Place.UNDECIDED, replace(change, log_likelihood_ratio=ratio)


def _part(search: Bisection, place: _Place, middle: int) -> tuple[Bisection, BisectionStatus]:
    match place:
        case _Place.NOT_AFTER:
            search = replace(search, bad=middle, tries=0)
        case _Place.AFTER:
            search = replace(search, good=middle, tries=0)
        case _Place.NOT_MEASURED:
            search = replace(search, skipped=(*search.skipped, middle), tries=0)
        case _Place.UNDECIDED:
            search = replace(search, tries=search.tries + 1)
        case _ as unreachable:
            assert_never(unreachable)
    return search, bisection_status(search)


def _dividing_commits(search: Bisection) -> list[int]:
    """Return the commits whose A/B would divide the remaining range."""
    commits = range(search.good + 1, search.bad)
    return [commit for commit in commits if commit not in search.skipped]


def _log(change: float) -> float:
    return math.log1p(max(change, -NEARLY_ALL))
