"""Words how reliable a project's checks are, for its page."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger.rounding import for_programs
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_baselines.judging.explanation import MAX_PAIRS
from perfledger_baselines.judging.false_alarms import FalseAlarmRate
from perfledger_baselines.planning.detectability_trend import PER_CHECKS, DetectabilityTrend
from perfledger_baselines.planning.gate_health import GateHealth
from perfledger_service.rendering.history.stored_verdict_rows import device
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.values.branch_views import GateView, TriagedEvent, TriagePart

TO_MEASURE = (
    "no check has compared a commit with itself yet. To measure it: perfledger check --base HEAD "
    "--head HEAD --upload-url"
)


MAX_OWN_MARGINS = 5  # in the advice on a gate

_UNKNOWN = "unknown"
_MARKS = {
    "success": ("improved", "\N{CHECK MARK}", "passed"),
    "failure": ("regressed", "\N{MULTIPLICATION SIGN}", "failed"),
    "neutral": ("unchanged", "\N{EN DASH}", "neutral"),
}
_OTHER_MARK = ("undecided", "?", "undecided")


@dataclass(frozen=True, slots=True)
class GateMark:
    """The outcome of a gate's check: a coloured sign, and its word."""

    upload_id: str
    tone: str
    sign: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """A gate as its page shows it: the device, its figures, and advice."""

    device: str  # untrusted
    machine_class: str  # untrusted
    conclusions: tuple[GateMark, ...]  # newest first
    to_decide: int  # open regressions
    noise_floor: str
    false_alarms: str
    spent: str
    usd: str
    is_too_noisy: bool
    sentences: tuple[str, ...]
    advice: str


def gate_rows(
    gates: Sequence[GateView], events: Sequence[TriagedEvent] = ()
) -> tuple[GateRow, ...]:
    """Return a row for each machine class; `events` are the project's."""
    to_decide = Counter(
        name
        for event in events
        if event.part is TriagePart.TO_DECIDE
        for name in event.machine_classes
    )
    return tuple(
        GateRow(
            device=device(gate.machine_class),
            machine_class=gate.machine_class,
            conclusions=tuple(
                GateMark(upload_id, *_MARKS.get(conclusion, _OTHER_MARK))
                for upload_id, conclusion in gate.conclusions
            ),
            to_decide=to_decide[gate.machine_class],
            noise_floor=_UNKNOWN
            if gate.health.detectable is None
            else number_format.share(gate.health.detectable),
            false_alarms=_false_alarm_bound(gate.health),
            spent=_machine_time(gate),
            usd=_usd(gate),
            is_too_noisy=gate.health.is_too_noisy,
            sentences=tuple(_sentences(gate.health)),
            advice=gate_advice(gate.health),
        )
        for gate in gates
    )


def gate_advice(health: GateHealth) -> str:
    """Return what would decide more checks of a gate that is too noisy, "" for any other."""
    if not health.is_too_noisy:
        return ""
    if health.settings is None:
        return "no margin can be suggested: the newest check does not say which settings it used"
    if health.reached is None:
        return "no margin can be suggested: no check had enough pairs; raise budget or max_pairs"
    present = _as_setting(health.settings.margin)
    if health.margin is None:
        return _advice_without_margin(present, is_reached=health.reached <= health.settings.margin)
    advice = f"set {_as_setting(health.margin)}, which most workloads can detect now"
    if health.own_margins:
        margins = ", ".join(
            f"{name} {for_programs(margin)}"
            for name, margin in health.own_margins[:MAX_OWN_MARGINS]
        )
        more = len(health.own_margins) - MAX_OWN_MARGINS
        unlisted = f" and {more:,} more" if more > 0 else ""
        advice += f", and a margin of its own for each of these workloads: {margins}{unlisted}"
    if health.longer is None:
        return f"{advice}; {MAX_PAIRS:,} pairs are not enough for {present}"
    budget = f"{math.ceil(health.longer.budget_s / SECONDS_PER_MINUTE)}m"
    return (
        f"{advice}; or keep {present} and measure longer: max_pairs = {health.longer.pairs} and "
        f'budget = "{budget}"'
    )


def _advice_without_margin(present: str, *, is_reached: bool) -> str:
    if is_reached:
        return (
            f"no other margin is suggested: most workloads can detect {present}; "
            "perfledger bench doctor shows what disturbs the others"
        )
    return (
        "no margin would help: many workloads detect no change below 99 %; perfledger bench "
        "doctor shows what disturbs them"
    )


def _as_setting(margin: float) -> str:
    return f"margin = {for_programs(margin)}"


def _false_alarm_bound(health: GateHealth) -> str:
    """Return the false-alarm bound from unchanged code, or else (*) from exchanged sides."""
    if health.false_alarms is not None:
        return _interval(health.false_alarms)
    if health.shadows is not None:
        return f"{_interval(health.shadows)} *"
    return _UNKNOWN


def _machine_time(gate: GateView) -> str:
    """Return how long the machine was held, and by how many checks."""
    if gate.held_s is None:
        return _UNKNOWN
    return f"{number_format.duration(gate.held_s)}, {_checks(gate.timed, verb='')}"


def _usd(gate: GateView) -> str:
    """Return the cost of that time, "unknown" without a price per device-hour."""
    return _UNKNOWN if gate.usd is None else number_format.usd(gate.usd)


def _sentences(health: GateHealth) -> Iterator[str]:
    share = number_format.whole_share(health.undecided / health.judged)
    metrics = ", ".join(
        f"{vocabulary.metric_label(name) or name} in {count}"
        for name, count in health.undecided_metrics
    )
    undecided = f"{health.undecided:,} of the last {_checks(health.judged)} undecided ({share})"
    yield f"{undecided}: {metrics}" if metrics else undecided
    yield _false_alarms(health.false_alarms)
    if health.shadows is not None:
        shadows = health.shadows
        yield (
            f"with the sides of {_checks(shadows.checks, verb='')} exchanged at random, "
            f"{shadows.false:,} failed: noise alone fails {_interval(shadows)} of checks, with "
            "95 % confidence"
        )
    yield _detectable(health)
    if health.minutes is not None:
        time = number_format.duration(health.minutes * SECONDS_PER_MINUTE)
        yield f"a typical check holds its machine for {time}"


def _false_alarms(rate: FalseAlarmRate | None) -> str:
    if rate is None:
        return f"the false-alarm rate is unknown: {TO_MEASURE}"
    return (
        f"{rate.false:,} of {_checks(rate.checks, verb='')} of unchanged code failed: the "
        f"false-alarm rate is {_interval(rate)} with 95 % confidence"
    )


def _detectable(health: GateHealth) -> str:
    if health.detectable is None or health.hardest is None:
        return "the smallest detectable change is unknown: no check had enough pairs"
    hardest = health.hardest
    return (
        "its recent checks typically detect a change of "
        f"{number_format.share(health.detectable)} in step time{_trend(health.trend)}; the "
        f"hardest workload is {hardest.workload}, with {number_format.share(hardest.change)} "
        f"from {hardest.pairs} pairs"
    )


def _trend(trend: DetectabilityTrend | None) -> str:
    if trend is None:
        return ""
    change = number_format.change_with_interval(trend.change, trend.low, trend.high)
    direction = ("smaller", "larger")[trend.change > 0] if trend.is_shown else "no clear trend"
    return f" ({direction}: {change} per {PER_CHECKS} checks, from the last {trend.checks})"


def _interval(rate: FalseAlarmRate) -> str:
    if rate.false:
        return number_format.interval(rate.low, rate.high, number_format.share)
    return f"at most {number_format.share(rate.high)}"


def _checks(count: int, *, verb: str = " was") -> str:
    if count == 1:
        return f"1 check{verb}"
    return f"{count:,} checks{' were' if verb else ''}"
