"""Draws a measured load curve: P50, P95 and P99 latency against throughput.

The latency axis is logarithmic; P99 is drawn with its interval. A line joins the points of one loop
and one batch size.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from perfledger.load import LoopKind
from perfledger_baselines.estimation.latency_quantiles import LatencyQuantile
from perfledger_baselines.estimation.load_points import MeasuredLoad, MeasuredPoint
from perfledger_service.rendering.bench.load import load_name, load_notes, load_title, rate
from perfledger_service.rendering.chart.axis import linear_axis, log_axis
from perfledger_service.rendering.chart.marks import Anchor, DotMark, LineMark, Mark, TextMark, Tone
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.layout import number_format

_TONES = {"P50": Tone.GREEN, "P95": Tone.BLUE, "P99": Tone.ORANGE}
_FREE = 1.25  # margin below the lowest and above the highest latency, as a factor
_LEGEND = (
    *(LegendKey(label=name, tone=tone, shape=KeyShape.LINE) for name, tone in _TONES.items()),
    LegendKey(label="open loop", tone=Tone.INK, shape=KeyShape.DOT),
    LegendKey(label="closed loop", tone=Tone.INK, shape=KeyShape.RING),
)


def load_svg(view: MeasuredLoad) -> str:
    """Return the curve as a standalone SVG document."""
    notes = " ".join(load_notes(view))
    return picture_svg(
        Picture(
            title=load_title(view),
            summary=notes or "Throughput and latency",
            charts=(load_chart(view),),
        )
    )


def load_chart(view: MeasuredLoad) -> Chart:
    """Return a line for each quantile of each loop and batch."""
    has_batches = len({point.batch for point in view.points}) > 1
    groups = [list(group) for _, group in groupby(sorted(view.points, key=_order), key=_group)]
    # If a batch has both loops, the open one is labelled: it sorts last.
    labelled = list({group[0].batch: group for group in groups}.values()) if has_batches else []
    marks: list[Mark] = []
    for group in groups:
        rates = [
            point.throughput_per_second * (point.batch if has_batches else 1) for point in group
        ]
        for name in _TONES:
            marks += _marks(name, group, rates)
        if group in labelled:
            text = f"batch {group[0].batch}"
            marks.append(
                TextMark(
                    x=rates[0], y=group[0].p50.seconds, text=text, dy=16.0, anchor=Anchor.MIDDLE
                )
            )
    most = max(x for mark in marks if isinstance(mark, LineMark) for x, _ in mark.points)
    seconds = [y for mark in marks if isinstance(mark, LineMark) for _, y in mark.points]
    counted = "requests times batch" if has_batches else "requests"
    return Chart(
        x=linear_axis(0.0, most * 1.05, title=f"{counted} per second"),
        y=log_axis(
            min(seconds) / _FREE,
            max(seconds) * _FREE,
            label=number_format.seconds,
            title="latency from the scheduled start; vertical bars: 95 % interval of P99",
        ),
        marks=tuple(marks),
        legend=_LEGEND,
        height=300.0,
    )


def _group(point: MeasuredPoint) -> tuple[str, int]:
    return point.mode, point.batch


def _order(point: MeasuredPoint) -> tuple[str, int, float]:
    return (*_group(point), point.concurrency or point.offered_per_second or 0.0)


def _marks(name: str, points: Sequence[MeasuredPoint], rates: Sequence[float]) -> Iterator[Mark]:
    """Yield one quantile's line, then the intervals of P99, then the dots."""
    tone, is_closed = _TONES[name], points[0].mode is not LoopKind.OPEN
    latencies = [_quantile(name, point) for point in points]
    yield LineMark(
        points=tuple((x, each.seconds) for x, each in zip(rates, latencies, strict=True)),
        tone=tone,
        width=1.0 if is_closed else 2.0,
        is_dashed=is_closed,
    )
    for x, each, point in zip(rates, latencies, points, strict=True):
        if name == "P99" and each.low and each.high:
            yield LineMark(points=((x, each.low), (x, each.high)), tone=tone, width=1.5)
        yield DotMark(
            x=x, y=each.seconds, tone=tone, is_open=is_closed, title=_title(name, each, point)
        )


def _quantile(name: str, point: MeasuredPoint) -> LatencyQuantile:
    return {"P50": point.p50, "P95": point.p95, "P99": point.p99}[name]


def _title(name: str, quantile: LatencyQuantile, point: MeasuredPoint) -> str:
    return (
        f"{load_name(point)}, batch {point.batch}: {rate(point.throughput_per_second)}, "
        f"{name} {number_format.seconds(quantile.seconds)}"
    )
