"""Derives from a gate's stored checks how far it can be trusted, and how to improve it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_baselines.judging.false_alarms import FalseAlarmRate, false_alarm_rate
from perfledger_baselines.planning.detectability_trend import (
    DetectabilityTrend,
    detectability_trend,
)

# A spread or a share over fewer checks proves nothing.
FEWEST_CHECKS = 10
# The newest checks of a gate, which show what it finds now.
RECENT_CHECKS = 10
# If more checks are undecided, people stop reading the gate.
MOST_UNDECIDED = 0.25
# The suggested margin is one that this share of the workloads reaches.
REACHING_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableChange:
    """The smallest relative change of a workload's step time that a check's pairs find."""

    workload: str
    change: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """What one stored check shows about its gate.

    `is_false_alarm` is for a check of a commit against itself, `is_shadow_false_alarm` for its
    pairs with their sides exchanged at random; None where it is neither. `held_s` is how long the
    check held its machine; None if that was not recorded.
    """

    is_undecided: bool
    is_false_alarm: bool | None = None
    is_shadow_false_alarm: bool | None = None
    held_s: float | None = None
    detectable: tuple[DetectableChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """The settings of a gate's newest check that determine what it can find."""

    margin: float  # relative
    budget_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GateHealth:
    """How far the checks on one machine class can be trusted.

    `false_alarms` are of checks of a commit against itself, `shadows` of checks whose sides were
    exchanged; None without any. `detectable` is the typical smallest change of the step time that a
    workload's recent checks find, and `hardest` the workload with the largest; `trend` is how it
    develops. None: not known. `margin` and `budget_s` are suggestions; None if the settings are
    sufficient.
    """

    checks: int
    undecided: int
    false_alarms: FalseAlarmRate | None
    shadows: FalseAlarmRate | None
    minutes: float | None  # of a typical check
    detectable: float | None
    trend: DetectabilityTrend | None
    hardest: DetectableChange | None
    margin: float | None
    budget_s: float | None

    @property
    def is_too_noisy(self) -> bool:
        """Return whether the gate is too noisy to be required for changes."""
        return is_too_noisy(undecided=self.undecided, checks=self.checks)


def is_too_noisy(*, undecided: int, checks: int) -> bool:
    """Return whether this share of undecided checks is too high for a required gate."""
    return checks >= FEWEST_CHECKS and undecided > MOST_UNDECIDED * checks


def gate_health(checks: Sequence[GateCheck], settings: GateSettings | None) -> GateHealth:
    """Return the health of the gate that made these checks, the newest first.

    The suggested margin is what nine of ten workloads' recent checks find. The suggested budget
    keeps the margin: the smallest detectable change is inversely proportional to the square root of
    the number of pairs, and the time is proportional to that number. Raises ValueError without
    checks.
    """
    if not checks:
        msg = "a gate without a check has no health: give its checks"
        raise ValueError(msg)
    recent = _typical_changes(checks[:RECENT_CHECKS])
    undecided = sum(check.is_undecided for check in checks)
    held_times = [check.held_s for check in checks if check.held_s is not None]
    margin, budget_s = None, None
    if settings is not None and recent and is_too_noisy(undecided=undecided, checks=len(checks)):
        reached = float(np.quantile([each.change for each in recent], REACHING_SHARE))
        if reached > settings.margin:
            margin = _rounded_up(reached)
            budget_s = settings.budget_s * (reached / settings.margin) ** 2
    return GateHealth(
        checks=len(checks),
        undecided=undecided,
        false_alarms=_rate([check.is_false_alarm for check in checks]),
        shadows=_rate([check.is_shadow_false_alarm for check in checks]),
        minutes=median(held_times) / SECONDS_PER_MINUTE if held_times else None,
        detectable=median(each.change for each in recent) if recent else None,
        trend=detectability_trend(
            [{each.workload: each.change for each in check.detectable} for check in checks]
        ),
        hardest=max(recent, key=lambda each: each.change) if recent else None,
        margin=margin,
        budget_s=budget_s,
    )


def _rate(outcomes: Sequence[bool | None]) -> FalseAlarmRate | None:
    known_outcomes = [outcome for outcome in outcomes if outcome is not None]
    return (
        false_alarm_rate(false=sum(known_outcomes), checks=len(known_outcomes))
        if known_outcomes
        else None
    )


def _typical_changes(checks: Sequence[GateCheck]) -> list[DetectableChange]:
    """Return each workload's median over the checks."""
    by_workload: dict[str, list[DetectableChange]] = {}
    for check in checks:
        for each in check.detectable:
            by_workload.setdefault(each.workload, []).append(each)
    return [
        DetectableChange(
            workload=workload,
            change=median(each.change for each in changes),
            pairs=round(median(each.pairs for each in changes)),
        )
        for workload, changes in by_workload.items()
    ]


def _rounded_up(share: float) -> float:
    """Return a share rounded up to two digits."""
    unit = 10.0 ** (math.floor(math.log10(share)) - 1)
    return round(math.ceil(share / unit * (1 - 1e-12)) * unit, 12)
