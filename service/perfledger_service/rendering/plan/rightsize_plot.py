"""Draws load curves and the sizes derived from them.

It shows P99 against requests per second of one replica on logarithmic axes: measurements as dots
with intervals, the model as lines with bands, the P99 objective as a horizontal line, and on the
lines of the best options the rate planned for each replica.
"""

import math
from collections.abc import Iterator, Sequence

from perfledger_cost_models.serving.load_curve import LoadPoint
from perfledger_cost_models.serving.replica_settings import ReplicaSettings
from perfledger_cost_models.serving.rightsizing import MAX_BEST_OPTIONS, SizedOption, SizingResult
from perfledger_service.rendering.chart.axis import Axis, log_axis
from perfledger_service.rendering.chart.marks import (
    SERIES_TONES,
    BandMark,
    DotMark,
    LineMark,
    Mark,
    RuleMark,
    Tone,
)
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.plan.rightsize import setting_name, sizing_sentence, sizing_title

_MAX_LINES = 6
_STEPS = 60  # of a line
# Upper end of the axis, relative to the SLO; higher latencies would flatten the rest.
_MAX_TIMES_PROMISED = 6.0
_BEFORE = 0.7  # start of a line, relative to the lowest rate measured
_QUANTILES = (0.025, 0.5, 0.975)
_LEGEND = (
    LegendKey(label="measured", tone=Tone.INK, shape=KeyShape.DOT),
    LegendKey(label="planned for", tone=Tone.INK, shape=KeyShape.RING),
    LegendKey(label="95 %", tone=Tone.INK, opacity=0.15),
)


def sizing_svg(result: SizingResult) -> str:
    """Return the curves and the objective as a standalone SVG document."""
    chart = sizing_chart(result)
    return picture_svg(
        Picture(title=sizing_title(result), summary=sizing_sentence(result), charts=(chart,))
    )


def sizing_chart(result: SizingResult) -> Chart:
    """Return the curves of the best options, then those of the others, with the objective."""
    planned = [option.plan.setting for option in _options(result)]
    settings = list(dict.fromkeys([*planned, *result.settings]))[:_MAX_LINES]
    x, y = _axes(settings, result)
    by_tone = dict(zip(SERIES_TONES, settings, strict=False))
    promised_s = result.demand.p99_s
    label = f"promised: {number_format.seconds(promised_s)}"
    return Chart(
        x=x,
        y=y,
        marks=(
            *(mark for tone, one in by_tone.items() for mark in _marks(one, tone, result, y)),
            RuleMark(y=promised_s, tone=Tone.RED, width=2.0, is_dashed=True, label=label),
        ),
        legend=(*(_key(one, tone, result) for tone, one in by_tone.items()), *_LEGEND),
        height=300.0,
    )


def _key(setting: ReplicaSettings, tone: Tone, result: SizingResult) -> LegendKey:
    loop = "closed loop: M/G/k (screening)" if setting.is_screening else "open loop"
    return LegendKey(label=f"{setting_name(setting, result)}, {loop}", tone=tone)


def _axes(settings: Sequence[ReplicaSettings], result: SizingResult) -> tuple[Axis, Axis]:
    points = [point for setting in settings for point in setting.points]
    rates = [_rate(point) for point in points]
    rates += [option.replica_rate for option in _options(result)]
    promised_s = result.demand.p99_s
    most_s = _MAX_TIMES_PROMISED * promised_s
    seconds = [point.latency_p99_s for point in points if point.latency_p99_s < most_s]
    return (
        log_axis(min(rates) * _BEFORE, max(rates) * 1.1, title="requests a second of one replica"),
        log_axis(
            min([*seconds, promised_s]) / 1.5, most_s, label=number_format.seconds, title="P99"
        ),
    )


def _options(result: SizingResult) -> tuple[SizedOption, ...]:
    return (*result.best, *(rival.option for rival in result.rivals[:MAX_BEST_OPTIONS]))


def _marks(setting: ReplicaSettings, tone: Tone, result: SizingResult, y: Axis) -> Iterator[Mark]:
    curve = tuple(_curve(setting, y))
    if curve:
        yield BandMark(
            points=tuple((at, low, high) for at, low, _, high in curve), tone=tone, opacity=0.15
        )
        points = tuple((at, middle) for at, _, middle, _ in curve)
        yield LineMark(points=points, tone=tone, title=setting_name(setting, result))
    for point in setting.points:
        if point.keeps_up:
            yield from _measured_marks(point, tone, y)
    for option in _options(result):
        if option.plan.setting is setting:
            yield DotMark(
                x=option.replica_rate,
                y=_within(y, option.p99_s[1]),
                tone=tone,
                radius=7.0,
                is_open=True,
                title=f"planned for {number_format.count(option.replica_rate)}/s of each replica",
            )


def _curve(setting: ReplicaSettings, y: Axis) -> Iterator[tuple[float, float, float, float]]:
    """Yield rates with their P99 (low, middle and high), up to the end of the axis."""
    low = math.log(min(map(_rate, setting.points)) * _BEFORE)
    step = (math.log(setting.fit.capacity * setting.batch) - low) / _STEPS
    for number in range(_STEPS):
        rate = math.exp(low + step * number)
        at, fill_s = setting.at(rate), setting.fill_s(rate)
        lower, middle, upper = (at.quantile_s(share) for share in _QUANTILES)
        if lower is None or middle is None or middle + fill_s > y.high:
            return
        highest = y.high if upper is None else upper + fill_s
        yield rate, _within(y, lower + fill_s), _within(y, middle + fill_s), _within(y, highest)


def _measured_marks(point: LoadPoint, tone: Tone, y: Axis) -> Iterator[Mark]:
    rate, p99_s = _rate(point), point.latency_p99_s
    if point.latency_p99_low_s is not None and point.latency_p99_high_s is not None:
        ends = (point.latency_p99_low_s, point.latency_p99_high_s)
        yield LineMark(points=tuple((rate, _within(y, end)) for end in ends), tone=tone, width=1.5)
    if p99_s <= y.high:
        title = f"{number_format.count(rate)}/s: P99 {number_format.seconds(p99_s)}"
        yield DotMark(x=rate, y=_within(y, p99_s), tone=tone, title=title)


def _rate(point: LoadPoint) -> float:
    """Return the requests per second of a point: offered, or completed."""
    is_kept = point.offered_per_second is not None and point.keeps_up
    served = point.offered_per_second if is_kept else point.throughput_per_second
    return (served or point.throughput_per_second) * point.batch


def _within(axis: Axis, value: float) -> float:
    """Return a value clipped to the axis."""
    return min(max(value, axis.low), axis.high)
