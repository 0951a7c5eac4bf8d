"""A confirmed change and what an A/B in its middle said in, the commits that are left out.

At the middle there is all of the change or none of it, and its size is known by now. That is an
easier question than the judge's, who must take any size into account: it is decided by Wald's
sequential probability ratio test, over as many A/Bs of the same middle as it takes.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import assert_never

from scipy.special import stdtrit

from perfledger_baselines.history.attribution import Harm
from perfledger_baselines.history.docket import Confirmed, Narrowing, Search
from perfledger_baselines.verdict import Estimate, Outcome, Verdict

# The wrong half in one of a hundred; sixteen commits are four halves.
SURE = math.log(99)
# An A/B that cannot tell at once mostly can with as many pairs again; one that cannot with three
# times as many was confirmed by luck, or the change came in parts.
MOST_TRIES = 3
# What is gone altogether has no logarithm.
NEARLY_ALL = 1 - 1e-12


class _Place(StrEnum):
    """Where the commit of a change lies, seen from one that was measured between good and bad."""

    NOT_AFTER = "not after it"
    AFTER = "after it"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


def divide(
    search: Search, middle: int, said: Mapping[str, Verdict], pairs: int
) -> list[tuple[Search, Narrowing]]:
    """Divide a search by where the A/B of `middle` against the last good commit says it happened.

    `said` maps metrics' names to verdicts, `pairs` is what the A/B took. Metrics that moved at
    different commits part here. A commit that cannot be measured is left out of what is still to be
    tried; one whose A/B cannot tell is tried again, MOST_TRIES times in all.
    """
    places: dict[_Place, list[Confirmed]] = {}
    tries_left = MOST_TRIES - search.tries - 1
    for change in search.changes:
        verdict = said.get(change.suspicion.series.metric.name)
        place, known = _weighed(change, verdict, tries_left=tries_left)
        places.setdefault(place, []).append(known)
    search = replace(search, pairs=search.pairs + pairs, request=None)
    return [
        _part(replace(search, changes=tuple(changes)), place, middle)
        for place, changes in places.items()
    ]


def middle_of(search: Search) -> int:
    """Return the commit to try next: of those that can be measured the nearest to the middle."""
    centre = (search.good + search.bad) // 2
    return min(_between(search), key=lambda commit: (abs(commit - centre), commit))


def narrowing_of(search: Search) -> Narrowing:
    """Return whether there is anything left to try, and if not, why."""
    if search.commits.count == 1:
        return Narrowing.ONE_COMMIT
    if search.tries >= MOST_TRIES:
        return Narrowing.UNDECIDED
    return Narrowing.UNDER_WAY if _between(search) else Narrowing.NOT_MEASURED


def sure_change(verdict: Verdict | None, harm: Harm) -> Estimate | None:
    """Return how much the metric changed for the better or worse; None unless the judge is sure."""
    sure = Outcome.REGRESSED if harm is Harm.WORSE else Outcome.IMPROVED
    return verdict.estimate if verdict is not None and verdict.outcome is sure else None


def evidence_of_all(estimate: Estimate, whole: float) -> float:
    """Return the log-likelihood ratio of the whole change against none of it; `whole` is relative.

    The mean of the pairs' log differences has Student's t distribution around the truth. Its
    standard error is the interval's half-width over the 97.5 % quantile: too large if the interval
    was widened for the looks taken, so that the ratio errs towards 0, which says nothing. Wald,
    "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16 (1945).
    """
    change, low, high, size = map(_log, (estimate.change, estimate.low, estimate.high, whole))
    freedom = max(estimate.pairs - 1, 1)
    error = (high - low) / 2 / float(stdtrit(freedom, 0.975))
    if not math.isfinite(error):
        return 0.0
    if error == 0:
        return math.copysign(math.inf, abs(change) - abs(change - size))
    none, everything = ((change - truth) / error for truth in (0.0, size))
    return (freedom + 1) / 2 * (math.log1p(none**2 / freedom) - math.log1p(everything**2 / freedom))


def _weighed(
    change: Confirmed, verdict: Verdict | None, *, tries_left: int
) -> tuple[_Place, Confirmed]:
    """Return where the change happened, and what is known of it now."""
    if verdict is None or verdict.outcome is Outcome.NOT_MEASURED:
        return _Place.NOT_MEASURED, replace(change, leaning=0.0)
    found = sure_change(verdict, change.suspicion.harm)
    leaning = change.leaning
    if verdict.estimate is not None:
        leaning += evidence_of_all(verdict.estimate, change.estimate.change)
    is_opposite = found is None and verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}
    if leaning <= -SURE or is_opposite:
        return _Place.AFTER, replace(change, leaning=0.0)
    # Half the size, time and again, is a change that came in two parts: this is the first.
    is_part = found is not None and (leaning > 0 or tries_left == 0)
    if leaning >= SURE or is_part:
        return _Place.NOT_AFTER, Confirmed(change.suspicion, found or change.estimate)
    return _Place.UNDECIDED, replace(change, leaning=leaning)


def _part(search: Search, place: _Place, middle: int) -> tuple[Search, Narrowing]:
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
    return search, narrowing_of(search)


def _between(search: Search) -> list[int]:
    """Return the commits whose A/B would divide those that are left."""
    commits = range(search.good + 1, search.bad)
    return [commit for commit in commits if commit not in search.skipped]


def _log(change: float) -> float:
    return math.log1p(max(change, -NEARLY_ALL))
