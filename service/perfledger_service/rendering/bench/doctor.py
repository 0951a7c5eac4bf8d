"""Presents a machine's fitness for measuring, and the smallest changes it can detect."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from perfledger.metrics import CPU_TIME
from perfledger.records import FindingLevel, HostFinding
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.power import POWER
from perfledger_baselines.significance.spread_prior import MIN_VALUES
from perfledger_runners.machine.setting_fixes import SettingFix
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.document import (
    Block,
    CellKind,
    Column,
    Document,
    Paragraph,
    Preformatted,
    TextStyle,
    bar,
    figure,
    heading,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.rendering.layout.interval_text import interval_text
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.doctor_views import DoctorView, MetricNoise, NoiseFloor

# What a budget is above the time that pairs took: they are uneven, and none begins at its end.
BUDGET_RESERVE = 1.5
_ORDER = tuple(FindingLevel)  # the worst first
_MAX_ADVICE = 3
_STYLES = {
    FindingLevel.BUSY: TextStyle.WORSE,
    FindingLevel.NOISY: TextStyle.WARNING,
    FindingLevel.UNKNOWN: TextStyle.PLAIN,
    FindingLevel.FINE: TextStyle.PLAIN,
}
_TITLES = {
    FindingLevel.BUSY: "This machine is busy: measurements taken now are uncertain",
    FindingLevel.NOISY: "This machine is quiet, but its settings or neighbours add noise",
    FindingLevel.UNKNOWN: "No disturbance found on this machine, but some facts are unknown",
    FindingLevel.FINE: "This machine is quiet and fit to measure on",
}


@dataclass(frozen=True, slots=True)
class _PowerRow:
    """A number of pairs, their duration, and the smallest change they detect, by metric."""

    pairs: int
    seconds: float
    changes: Mapping[str, float]

    @property
    def first_change(self) -> float:
        """Return the change of the first metric with one; the bars show it."""
        return next(iter(self.changes.values()), 0.0)


def doctor_document(view: DoctorView) -> Document:
    """Return the findings, what would help most, and the noise floor."""
    findings = sorted(view.findings, key=lambda each: _ORDER.index(each.level))
    return Document(
        name="perfledger-doctor",
        facts={
            "level": findings[0].level if findings else FindingLevel.UNKNOWN,
            "machine": asdict(view.machine),
            "noise_floor": None if view.noise is None else _noise_record(view.noise),
            "notes": view.notes,
            **_fix_records(view.fixes),
        },
        blocks=(
            title(_title(view.noise, findings)),
            *sentences(_usual_check(view.noise)),
            *sentences(_advice(findings)),
            table(_COLUMNS, findings, key="findings", style=lambda each: _STYLES[each.level]),
            *_fix_blocks(view.fixes),
            *_noise_blocks(view.noise),
            *notes(view.notes),
        ),
    )


def _title(noise: NoiseFloor | None, findings: Sequence[HostFinding]) -> str:
    if noise is not None and any(map(_is_false_alarm, noise.metrics)):
        return "This machine shows changes between two runs of the same code"
    return _TITLES[findings[0].level if findings else FindingLevel.UNKNOWN]


def _usual_check(noise: NoiseFloor | None) -> Iterator[str]:
    """Yield the smallest change that a check of the configured length detects.

    Beside other programs, CPU time shows a smaller one than step time.
    """
    if noise is None or not noise.metrics:
        return
    (first, *other_metrics), pairs = noise.metrics, noise.check_pairs
    change = dict(first.spread.detectable).get(pairs)
    if change is not None:
        time = number_format.duration(pairs * noise.seconds_per_pair)
        in_cpu_time = "".join(
            f", in {_label(each)} of {number_format.share(dict(each.spread.detectable)[pairs])}"
            for each in other_metrics
            if each.test.metric.name == CPU_TIME.name and pairs in dict(each.spread.detectable)
        )
        yield (
            f"A check of {pairs} pairs, {time} for one workload, detects changes in "
            f"{_label(first)} of {number_format.share(change)} or more{in_cpu_time}."
        )
    elif first.spread.detectable:
        yield (
            f"A check's budget allows {quantity(pairs, 'pair')} of this workload, too few to "
            "detect a change: raise `budget`."
        )


def _advice(findings: Sequence[HostFinding]) -> Iterator[str]:
    """Yield the advice that would help most."""
    by_advice: dict[str, HostFinding] = {}
    for each in findings:
        if each.advice:
            by_advice.setdefault(each.advice, each)
    for index, each in enumerate(list(by_advice.values())[:_MAX_ADVICE]):
        yield f"{'What would help most' if index == 0 else 'Then'}: {each.advice} ({each.name})."


_COLUMNS: tuple[Column[HostFinding], ...] = (
    words("name", "what", lambda each: each.name),
    words("level", "", lambda each: each.level),
    words("detail", "found", lambda each: each.detail),
    words("advice", "helps", lambda each: each.advice, kind=CellKind.REMARK),
)


def _fix_records(fixes: Sequence[SettingFix] | None) -> dict[str, object]:
    return {} if fixes is None else {"fixes": [asdict(fix) for fix in fixes]}


def _fix_blocks(fixes: Sequence[SettingFix] | None) -> Iterator[Block]:
    """Yield the commands as a script; comments give the purpose of each and how to undo it."""
    if fixes is None:
        return
    if not fixes:
        yield from sentences(["No known setting needs an administrator's change."])
        return
    yield heading("Settings for an administrator to change")
    yield from sentences(["perfledger runs none of these commands. A restart undoes them as well."])
    lines = (
        f"# {clean(fix.setting)}\n{clean(fix.command)}\n# undo: {clean(fix.undo)}" for fix in fixes
    )
    yield Preformatted("\n".join(lines))


def _noise_blocks(noise: NoiseFloor | None) -> Iterator[Block]:
    if noise is None:
        return
    name = clean(noise.workload, limit=MAX_LONG_NAME)
    yield heading(f"Noise floor of {name}", names=(noise.workload,))
    for failure in noise.failures:
        yield Paragraph(
            text=f"Not measured: {failure}", style=TextStyle.MISSING, names=(noise.workload,)
        )
    if not noise.metrics:
        return
    each_takes = number_format.duration(noise.seconds_per_pair)
    pairs = quantity(noise.pairs, "pair")
    yield from sentences([f"{pairs} of the same code on both sides, {each_takes} each."])
    yield from _false_alarms(noise)
    for each in noise.metrics:
        if picture := _picture(each, noise.margin):
            yield Preformatted(picture)
    yield from _power_blocks(noise)


def _false_alarms(noise: NoiseFloor) -> Iterator[Block]:
    """Yield the changes found between two runs of the same code."""
    for each in noise.metrics:
        estimate = each.verdict.estimate
        if _is_false_alarm(each) and estimate:
            change = number_format.percent(estimate.change)
            yield Paragraph(
                text=f"{_label(each)} of the same code differs by {change}: a check on this "
                "machine would call that a change. Do not trust its checks until this is fixed.",
                style=TextStyle.WORSE,
            )


def _is_false_alarm(noise: MetricNoise) -> bool:
    return noise.verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}


def _picture(noise: MetricNoise, margin: float) -> str:
    """Return the pairs, the interval and the margin of a metric."""
    estimate = noise.verdict.shown_estimate
    if estimate is None or noise.test.is_exact:
        return ""
    changes = [head / base - 1 for base, head in noise.test.pairs]
    picture = interval_text(estimate, margin=margin, changes=changes)
    return f"{_label(noise)}: pairs, interval, margin\n{picture}" if picture else ""


def _power_blocks(noise: NoiseFloor) -> Iterator[Block]:
    rows = _power_rows(noise)
    if rows:
        largest = max(row.first_change for row in rows)
        yield heading("Smallest detectable change by number of pairs, and the time they take")
        yield table(
            (
                figure("", "pairs", lambda row: row.pairs),
                figure("", "time", lambda row: row.seconds, number_format.duration),
                *(_change_column(each) for each in noise.metrics if each.spread.detectable),
                bar(lambda row: row.first_change / largest),
            ),
            rows,
        )
    yield from sentences(_unknown_spreads(noise))
    if rows:
        first = _label(next(each for each in noise.metrics if each.spread.detectable))
        chance = number_format.whole_share(POWER)
        yield from notes(
            [f"Detected with a chance of {chance} by a check of this workload; bars show {first}."]
        )


def _unknown_spreads(noise: NoiseFloor) -> Iterator[str]:
    """Yield why metrics have no spread, each reason once, and how long enough pairs take."""
    metrics: dict[str, list[str]] = {}
    for each in noise.metrics:
        if each.spread.sd is None and each.spread.source:
            metrics.setdefault(each.spread.source, []).append(_label(each))
    for reason, labels in metrics.items():
        yield f"{', '.join(labels)}: {reason}."
    if metrics and 0 < noise.pairs < MIN_VALUES:
        needed_s = MIN_VALUES * noise.seconds_per_pair
        minutes = math.ceil(BUDGET_RESERVE * needed_s / SECONDS_PER_MINUTE)
        yield (
            f"{MIN_VALUES} pairs take about {number_format.duration(needed_s)} here: allow them "
            f"with `--budget {minutes}m` and at least `--pairs {MIN_VALUES}`."
        )


def _change_column(noise: MetricNoise) -> Column[_PowerRow]:
    name = noise.test.metric.name
    return figure("", _label(noise), lambda row: row.changes.get(name), number_format.share)


def _power_rows(noise: NoiseFloor) -> list[_PowerRow]:
    changes: dict[int, dict[str, float]] = {}
    for each in noise.metrics:
        for pairs, change in each.spread.detectable:
            changes.setdefault(pairs, {})[each.test.metric.name] = change
    return [
        _PowerRow(pairs, pairs * noise.seconds_per_pair, changes[pairs])
        for pairs in sorted(changes)
    ]


def _label(noise: MetricNoise) -> str:
    return vocabulary.metric_title(noise.test.metric.name)


def _noise_record(noise: NoiseFloor) -> dict[str, object]:
    return {
        "workload": noise.workload,
        "pairs": noise.pairs,
        "seconds_per_pair": noise.seconds_per_pair,
        "margin": noise.margin,
        "max_pairs": noise.max_pairs,
        "check_pairs": noise.check_pairs,
        "failures": noise.failures,
        "metrics": [
            {
                "metric": each.test.metric.name,
                "outcome": each.verdict.outcome,
                "sd": each.spread.sd,
                "source": each.spread.source,
                "changes": [head / base - 1 for base, head in each.test.pairs],
                "detectable": [
                    {
                        "pairs": pairs,
                        "seconds": pairs * noise.seconds_per_pair,
                        "change": change,
                    }
                    for pairs, change in each.spread.detectable
                ],
            }
            for each in noise.metrics
        ],
    }
