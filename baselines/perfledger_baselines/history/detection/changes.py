"""Holds the findings in a series: what changed, where, and with what confidence."""

from dataclasses import dataclass
from enum import StrEnum


class Movement(StrEnum):
    """The direction of a change; the metric says whether that is worse."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A place where a series moved to another level and stayed there.

    `index` is the first observation of the new stretch, 0-based; the true place is in `earliest` to
    `latest` (inclusive) with 95 % confidence. `change` is after / before - 1, `low` to `high` its
    95 % interval: NaN where `before` is not positive. `confidence` is 1 - p, where p is the
    probability of such a step anywhere in a series without one.
    """

    index: int
    earliest: int
    latest: int
    before: float  # typical value of the stretch that ends here, in the metric's unit
    after: float  # typical value of the stretch that begins here
    change: float
    low: float
    high: float
    confidence: float

    @property
    def movement(self) -> Movement:
        """Return the direction in which the series moved."""
        return Movement.UP if self.after > self.before else Movement.DOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Transient:
    """A short excursion that came back: `first` to `last`, inclusive. Reported, never an alarm."""

    first: int
    last: int
    change: float  # relative to its surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A slow slope over a stretch, `first` to `last`: not a change point."""

    first: int
    last: int
    change: float  # relative, over the whole stretch
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadChange:
    """A place where the noise of a series became larger or smaller while its level stayed."""

    index: int
    ratio: float  # standard deviation after / before
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """A place from which a series in two states is in the upper one more often or less often."""

    index: int
    share_before: float  # of observations in the upper state
    share_after: float
    distance: float  # relative distance of the two states
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A cycle that was separated: values depend on the time of day or of the week."""

    period: str  # "day" or "week"
    size: float  # half of its range, relative


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfoundedChange:
    """A place at which the hours of measurement changed, so that a cycle may hide a step there.

    `change` is what the cycle accounts for. Like a suspect it asks for an A/B run; it is not an
    alarm.
    """

    index: int
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFindings:
    """The findings in one series."""

    changes: tuple[ChangePoint, ...]
    transients: tuple[Transient, ...] = ()
    drifts: tuple[Drift, ...] = ()
    spread_changes: tuple[SpreadChange, ...] = ()
    state_changes: tuple[StateChange, ...] = ()
    cycles: tuple[Cycle, ...] = ()
    confounded_changes: tuple[ConfoundedChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """Odd observations at the end of a series, too few to be a change: a reason to measure.

    `index` is the first of `observations` odd ones. `change` is relative to the stretch before, NaN
    where that is not positive. `strength` is in standard errors of that mean. A suspect asks for an
    A/B run; it is never an alarm.
    """

    index: int
    observations: int
    change: float
    strength: float
