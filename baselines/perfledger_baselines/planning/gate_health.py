"""Derives from a gate's stored checks how far it can be trusted, and how to improve it."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from perfledger.metrics import STEP_TIME
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_baselines.judging.explanation import MAX_PAIRS
from perfledger_baselines.judging.false_alarms import FalseAlarmRate, false_alarm_rate
from perfledger_baselines.planning.detectability_trend import (
    DetectabilityTrend,
    detectability_trend,
)

# A spread or a share over fewer checks proves nothing.
MIN_CHECKS = 10
# The newest checks of a gate, which show what it finds now.
RECENT_CHECKS = 10
# The newest checks whose share of undecided ones says whether a gate is too noisy now. Older ones
# may be from before its settings or its machine changed for the better.
NOISE_CHECKS = 20
# If more checks are undecided, people stop reading the gate.
MAX_UNDECIDED = 0.25
# The suggested margin is one that this share of the workloads reaches, or the next larger one. A
# check is undecided with any workload, so the others need margins of their own.
REACHING_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectableChange:
    """The smallest relative change of a workload's metric that a check's pairs find."""

    workload: str
    change: float
    pairs: int
    metric: str = STEP_TIME.name


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """What one stored check shows about its gate.

    `is_false_alarm` is for a check of a commit against itself, `is_shadow_false_alarm` for its
    pairs with their sides exchanged at random; None where it is neither. `held_s` is how long the
    check held its machine; None if that was not recorded. `undecided_metrics` are those with an
    undecided result; empty for a check that was decided.
    """

    undecided_metrics: tuple[str, ...] = ()
    is_false_alarm: bool | None = None
    is_shadow_false_alarm: bool | None = None
    held_s: float | None = None
    detectable: tuple[DetectableChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """The settings of a gate's newest check that determine what it can find."""

    margin: float  # relative
    budget_s: float
    max_pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LongerCheck:
    """How many pairs a gate needs to find changes of its margin, and the time that they take."""

    pairs: int
    budget_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GateHealth:
    """How far the checks on one machine class can be trusted.

    `undecided` of its newest `judged` checks are undecided, most often in `undecided_metrics`.
    `false_alarms` are of all `checks` of a commit against itself, `shadows` of those whose sides
    were exchanged; None without any. `detectable` is the typical smallest change of the step time
    that a workload's recent checks find, and `hardest` the workload with the largest; `trend` is
    how it develops. `reached` is what most workloads find in all of their metrics. None: not known.
    `settings` are those of the newest check; `margin` and `longer` are alternative suggestions;
    None if the settings are sufficient, or nothing else is.
    """

    checks: int
    judged: int
    undecided: int
    undecided_metrics: tuple[tuple[str, int], ...]  # with their checks, the most frequent first
    false_alarms: FalseAlarmRate | None
    shadows: FalseAlarmRate | None
    minutes: float | None  # of a typical check
    detectable: float | None
    trend: DetectabilityTrend | None
    hardest: DetectableChange | None
    reached: float | None
    settings: GateSettings | None
    margin: float | None
    own_margins: tuple[tuple[str, float], ...]  # of the workloads that find more than `margin`
    longer: LongerCheck | None

    @property
    def is_too_noisy(self) -> bool:
        """Return whether the gate is too noisy to be required for changes."""
        return is_too_noisy(undecided=self.undecided, checks=self.judged)


def is_too_noisy(*, undecided: int, checks: int) -> bool:
    """Return whether this share of undecided checks is too high for a required gate."""
    return checks >= MIN_CHECKS and undecided > MAX_UNDECIDED * checks


def gate_health(checks: Sequence[GateCheck], settings: GateSettings | None) -> GateHealth:
    """Return the health of the gate that made these checks, the newest first.

    Suggestions are for a gate that is too noisy, so that nine of ten workloads can be decided in
    their recent checks: a margin that these find, or as many pairs as find the present margin.
    Raises ValueError without checks.
    """
    if not checks:
        msg = "a gate without a check has no health: give its checks"
        raise ValueError(msg)
    typical = _typical_changes(checks[:RECENT_CHECKS])
    steps = [each for each in typical if each.metric == STEP_TIME.name]
    newest = checks[:NOISE_CHECKS]
    undecided = [check.undecided_metrics for check in newest if check.undecided_metrics]
    held_times = [check.held_s for check in checks if check.held_s is not None]
    minutes = median(held_times) / SECONDS_PER_MINUTE if held_times else None
    reached = _reached_change(typical)
    margin, longer = None, None
    if settings is not None and is_too_noisy(undecided=len(undecided), checks=len(newest)):
        margin = _better_margin(reached, settings)
        longer = None if margin is None else _longer_check(typical, settings, minutes)
    return GateHealth(
        checks=len(checks),
        judged=len(newest),
        undecided=len(undecided),
        undecided_metrics=tuple(
            Counter(name for names in undecided for name in names).most_common()
        ),
        false_alarms=_rate([check.is_false_alarm for check in checks]),
        shadows=_rate([check.is_shadow_false_alarm for check in checks]),
        minutes=minutes,
        detectable=median(each.change for each in steps) if steps else None,
        trend=detectability_trend([_step_times(check.detectable) for check in checks]),
        hardest=max(steps, key=lambda each: each.change) if steps else None,
        reached=reached,
        settings=settings,
        margin=margin,
        own_margins=() if margin is None else tuple(_own_margins(typical, margin)),
        longer=longer,
    )


def _own_margins(typical: Sequence[DetectableChange], margin: float) -> Iterator[tuple[str, float]]:
    """Yield the workloads beyond a margin with what each reaches, if that is a margin."""
    for each in _hardest_of_workloads(typical):
        own_margin = _rounded_up(each.change)
        if margin < each.change and own_margin < 1:
            yield each.workload, own_margin


def _reached_change(typical: Sequence[DetectableChange]) -> float | None:
    """Return the change that most workloads find; None if no check found any."""
    changes = [each.change for each in _hardest_of_workloads(typical)]
    return float(np.quantile(changes, REACHING_SHARE, method="higher")) if changes else None


def _better_margin(reached: float | None, settings: GateSettings) -> float | None:
    """Return the margin that is reached; None if the present one is, or none below one."""
    if reached is None or reached <= settings.margin:
        return None
    margin = _rounded_up(reached)
    return margin if margin < 1 else None


def _longer_check(
    typical: Sequence[DetectableChange], settings: GateSettings, minutes: float | None
) -> LongerCheck | None:
    """Return the pairs that would find the margin, and their time; None for too many pairs.

    The smallest detectable change is inversely proportional to the square root of the number of
    pairs, and the time of a check is proportional to the pairs of all its workloads.
    """
    hardest = _hardest_of_workloads(typical)
    needed_pairs = [each.pairs * max(1.0, each.change / settings.margin) ** 2 for each in hardest]
    most = math.ceil(float(np.quantile(needed_pairs, REACHING_SHARE, method="higher")))
    present = sum(each.pairs for each in hardest)
    if most > MAX_PAIRS or present == 0:
        return None
    seconds = settings.budget_s if minutes is None else minutes * SECONDS_PER_MINUTE
    longer_s = seconds * sum(min(each, most) for each in needed_pairs) / present
    return LongerCheck(
        pairs=max(most, settings.max_pairs), budget_s=max(longer_s, settings.budget_s)
    )


def _hardest_of_workloads(typical: Sequence[DetectableChange]) -> list[DetectableChange]:
    """Return each workload's metric with the largest detectable change."""
    by_workload: dict[str, DetectableChange] = {}
    for each in typical:
        earlier = by_workload.get(each.workload)
        if earlier is None or each.change > earlier.change:
            by_workload[each.workload] = each
    return list(by_workload.values())


def _step_times(detectable: Iterable[DetectableChange]) -> dict[str, float]:
    return {each.workload: each.change for each in detectable if each.metric == STEP_TIME.name}


def _rate(outcomes: Sequence[bool | None]) -> FalseAlarmRate | None:
    known_outcomes = [outcome for outcome in outcomes if outcome is not None]
    return (
        false_alarm_rate(false=sum(known_outcomes), checks=len(known_outcomes))
        if known_outcomes
        else None
    )


def _typical_changes(checks: Sequence[GateCheck]) -> list[DetectableChange]:
    """Return the median of each metric of each workload over the checks."""
    by_metric: dict[tuple[str, str], list[DetectableChange]] = {}
    for check in checks:
        for each in check.detectable:
            by_metric.setdefault((each.workload, each.metric), []).append(each)
    return [
        DetectableChange(
            workload=workload,
            metric=metric,
            change=median(each.change for each in changes),
            pairs=round(median(each.pairs for each in changes)),
        )
        for (workload, metric), changes in by_metric.items()
    ]


def _rounded_up(share: float) -> float:
    """Return a share rounded up to two digits."""
    unit = 10.0 ** (math.floor(math.log10(share)) - 1)
    return round(math.ceil(share / unit * (1 - 1e-12)) * unit, 12)
