"""Attributes change points to the commits that may have made them.

A change point is a place among observations, and not every commit is observed. The commit that made
it lies after the last observation of the old level, up to the first of the new one; if the place
itself is uncertain, after the last that is surely old, up to the first that is surely new. Commits
are positions in first-parent order, 0 the oldest, so that a commit that was not measured keeps its
place in a range.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

from perfledger.metrics import Metric, WorseDirection
from perfledger_baselines.history.detection.changes import ChangePoint, Transient

# One in twenty 95 % intervals of a place misses it, usually by a commit or two.
PLACE_ERROR_COMMITS = 2
# Observations on either side that show which machines are in use there. Of two machines that are
# chosen by a coin, five in a row are the one and the next five the other in 1 of 500 places.
NEAR_OBSERVATIONS = 5

# Observations on either side, of which one may be a stray: a re-run on the old machine, or a trial
# of the new one. Where two machines begin to take turns, eight show at most one stray as often as
# five show none: 9 of 256 and 1 of 32.
STRAY_REACH = 8


class AttributionError(ValueError):
    """An invalid series or range of commits."""


class Harm(StrEnum):
    """Whether a change is for the worse or for the better."""

    WORSE = "worse"
    BETTER = "better"


@dataclass(frozen=True, slots=True, order=True)
class CommitRange:
    """Neighbouring commits as positions in first-parent order, `first` to `last`, inclusive.

    Raises AttributionError for a range without a commit.
    """

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            msg = (
                f"commits {self.first} to {self.last} are not a range: use positions from 0 upwards"
            )
            raise AttributionError(msg)

    @property
    def count(self) -> int:
        """Return how many commits there are."""
        return self.last - self.first + 1

    def distance(self, commits: "CommitRange") -> int:
        """Return the number of commits between the two ranges: 0 if they share one."""
        return max(0, self.first - commits.last, commits.first - self.last)


@dataclass(frozen=True, slots=True)
class Series:
    """The identity of a series: one metric of one workload on one machine class."""

    workload: str
    metric: Metric
    machine_class: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the key that identifies and sorts series."""
        return (self.workload, self.metric.name, self.machine_class)

    @property
    def module(self) -> str:
        """Return the module of the workload: the part of its id before the colon."""
        return self.workload.partition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedSeries:
    """A series with the commits at which it was observed and the changes detected in it.

    `commits` has the position of each observation's commit, increasing: one observation per commit,
    and none for a skipped one. The places of `changes` and `transients` count observations; those
    of a series with gaps go through `at_observations` first. `environments` has the hash of the
    machine's fingerprint at each observation, or is empty if unknown. The hash must leave out what
    a commit itself chooses, such as the version of a pinned framework. Raises AttributionError.
    """

    series: Series
    commits: tuple[int, ...]
    changes: tuple[ChangePoint, ...] = ()
    environments: tuple[str, ...] = ()
    transients: tuple[Transient, ...] = ()

    def __post_init__(self) -> None:
        is_increasing = all(earlier < later for earlier, later in pairwise((-1, *self.commits)))
        if not self.commits or not is_increasing:
            msg = f"commits of {self.series.key} do not increase: use one observation per commit"
            raise AttributionError(msg)
        if self.environments and len(self.environments) != len(self.commits):
            msg = (
                f"{self.series.key} has {len(self.commits)} observations and "
                f"{len(self.environments)} environments: use one for each, or none"
            )
            raise AttributionError(msg)
        for change in self.changes:
            if not (
                0 <= change.earliest <= change.index <= change.latest < len(self.commits)
                and change.index > 0
            ):
                msg = (
                    f"a change of {self.series.key} at {change.earliest} to {change.latest} is not "
                    f"inside its {len(self.commits)} observations: detect on the same observations"
                )
                raise AttributionError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributedChange:
    """A change of a series with the commits that may have made it.

    `commits` contains the one that did with the confidence of the change's place, 95 %; `likely`
    are the commits between the two observations that the change most probably lies between.
    """

    series: Series
    change: ChangePoint
    commits: CommitRange
    likely: CommitRange
    has_new_environment: bool  # the machine's fingerprint changed there as well

    @property
    def harm(self) -> Harm:
        """Return whether the metric became worse or better."""
        # A change relative to zero has a direction, but no relative size.
        return harm_of(self.series.metric, self.change.after - self.change.before)

    @property
    def size(self) -> float:
        """Return the absolute log of after / before, so that half and double are equally large.

        Infinite for a change to or from zero.
        """
        return abs(math.log1p(self.change.change)) if self.change.change > -1 else math.inf

    @property
    def p_value(self) -> float:
        """Return the probability of such a step in a series without a change."""
        return 1 - self.change.confidence


def harm_of(metric: Metric, change: float) -> Harm:
    """Return whether a change of this metric is worse or better."""
    is_up = change > 0
    match metric.worse:
        case WorseDirection.HIGHER:
            return Harm.WORSE if is_up else Harm.BETTER
        case WorseDirection.LOWER:
            return Harm.BETTER if is_up else Harm.WORSE
        case _ as unreachable:
            assert_never(unreachable)


def at_observations(change: ChangePoint, places: Sequence[int]) -> ChangePoint:
    """Return a change with places counted in commits as one with places counted in observations.

    `places` are the indices that were observed, increasing. A gap belongs to the next observation:
    the new level begins at the first observation of it.
    """
    return replace(
        change,
        index=bisect_left(places, change.index),
        earliest=bisect_left(places, change.earliest),
        latest=bisect_left(places, change.latest),
    )


def attributed_changes(observed: ObservedSeries) -> tuple[AttributedChange, ...]:
    """Return the series' changes with their commits, in the order given."""
    return tuple(_attributed_change(observed, change) for change in observed.changes)


def has_new_environment(observed: ObservedSeries, commits: CommitRange) -> bool:
    """Return whether the machines changed within PLACE_ERROR_COMMITS of these commits.

    An unknown environment counts as unchanged.
    """
    last_before = bisect_left(observed.commits, commits.first - PLACE_ERROR_COMMITS) - 1
    first_after = bisect_left(observed.commits, commits.last + PLACE_ERROR_COMMITS)
    places = range(max(last_before, 0) + 1, min(first_after + 1, len(observed.environments)))
    return any(begins_environment(observed.environments, place) for place in places)


def begins_environment(environments: Sequence[str], place: int) -> bool:
    """Return whether the machines of a series changed at this place, which is not the first.

    The observations just before it and those from it on then share no environment: machines that
    take turns change nowhere. The newest observation alone shows none. Of STRAY_REACH observations
    on either side one may be a stray, which is never beside the place itself.
    """
    before = environments[max(0, place - NEAR_OBSERVATIONS) : place]
    after = environments[place : place + NEAR_OBSERVATIONS]
    if len(after) > 1 and set(before).isdisjoint(after):
        return True
    return _begins_beside_stray(environments, place)


def _begins_beside_stray(environments: Sequence[str], place: int) -> bool:
    before = environments[max(0, place - STRAY_REACH) : place]
    after = environments[place : place + STRAY_REACH]
    if len(before) < NEAR_OBSERVATIONS or len(after) < STRAY_REACH:
        return False
    earlier, later = Counter(before), Counter(after)
    strays = (earlier & later).total()
    # Of "a, b, a, b" the first b is the new environment, as the second a is the stray.
    is_old = all(earlier[one] > later[one] for one in before[-2:])
    return strays <= 1 and is_old and later[after[0]] > earlier[after[0]]


def observations_around(observed: ObservedSeries, commits: CommitRange) -> tuple[int, int]:
    """Return how many observations lie before these commits, and how many from their end on.

    Those inside the range could belong to either level, and are not counted.
    """
    before = bisect_left(observed.commits, commits.first)
    after = len(observed.commits) - bisect_left(observed.commits, commits.last)
    return before, after


def _attributed_change(observed: ObservedSeries, change: ChangePoint) -> AttributedChange:
    # The first observation has nothing before it that could be the old level.
    earliest = max(change.earliest, 1)
    commits = _range_between(observed, earliest, change.latest)
    return AttributedChange(
        series=observed.series,
        change=change,
        commits=commits,
        likely=_range_between(observed, change.index, change.index),
        has_new_environment=has_new_environment(observed, commits),
    )


def _range_between(observed: ObservedSeries, earliest: int, latest: int) -> CommitRange:
    return CommitRange(observed.commits[earliest - 1] + 1, observed.commits[latest])
