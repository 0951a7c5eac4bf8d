"""Draws the waits of policies, of a queue or of a job log, and the utilization of the devices.

A curve is the share of jobs that wait no longer than a given time; the time axis is logarithmic and
starts at one second.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger.time_units import (
    DAYS_PER_YEAR,
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    SECONDS_PER_MINUTE,
)
from perfledger_cost_models.capacity.log_queue import LogQueuePlan
from perfledger_cost_models.queueing import server_count
from perfledger_cost_models.queueing.server_count import QueuePlan
from perfledger_cost_models.review.queue_waits import RecordedWaits
from perfledger_cost_models.scheduling import policy_comparison
from perfledger_cost_models.scheduling.day_bootstrap import BootstrapInterval
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison
from perfledger_service.rendering.chart.axis import Axis, Tick, rows_axis, share_axis
from perfledger_service.rendering.chart.marks import SERIES_TONES, BarMark, LineMark, Mark, Tone
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.number_format import duration, quantity
from perfledger_service.rendering.plan.calibration import calibration_sentence
from perfledger_service.rendering.plan.log_queue import (
    needed_sentence,
    queue_devices_in_use,
    queue_rows,
)
from perfledger_service.rendering.plan.simulate import devices_in_use, gain_sentences

_TICKS_S = (
    1,
    SECONDS_PER_MINUTE,
    SECONDS_PER_HOUR,
    SECONDS_PER_DAY,
    7 * SECONDS_PER_DAY,
    DAYS_PER_YEAR * SECONDS_PER_DAY,
)
_MIN_S = 1.0  # start of the axis: shorter waits are drawn there
_MAX_CURVES = len(SERIES_TONES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waits:
    """One curve; `share` is the length of its bar, None if unknown."""

    name: str
    curve_s: Sequence[float]
    share: float | None
    interval: BootstrapInterval | None = None


def policies_svg(view: PolicyComparison) -> str:
    """Return waits and utilization by policy as a standalone SVG document."""
    return picture_svg(policies_picture(view))


def policies_picture(view: PolicyComparison) -> Picture:
    """Return waits and use by policy, and as recorded if the log has them."""
    waits = [
        _Waits(
            name=row.figures.policy,
            curve_s=row.wait_curve_s,
            share=devices_in_use(view, row.figures.useful),
            interval=None if view.lacks_device_time else row.spread.useful,
        )
        for row in view.rows
    ]
    if view.recorded_waiting is not None:
        curve_s, share = view.recorded_waiting.wait_curve_s, view.recorded_waiting.allocated
        waits.insert(
            0, _Waits(name="as recorded", curve_s=curve_s, share=devices_in_use(view, share))
        )
    has_intervals = any(_ends(one.interval) for one in waits)
    calibration = calibration_sentence(view.rows[0].calibration)
    sentences = gain_sentences(view) if view.is_calibrated else (calibration,)
    return _picture(
        waits,
        policy_comparison.CURVE,
        title=f"{view.log}: {quantity(view.jobs, 'job')} on {quantity(view.devices, 'device')}",
        summary=sentences[0] if sentences else "Share of jobs that wait no longer",
        bars=_bars_title(view) + (", and 95 % interval" if has_intervals else ""),
    )


def queue_svg(plan: QueuePlan) -> str:
    """Return the waits of an M/M/c queue; one that grows without limit has no line."""
    share = min(plan.load / plan.devices, 1.0)
    name = quantity(plan.devices, "device")
    return picture_svg(
        _picture(
            [_Waits(name=name, curve_s=plan.curve_s, share=share)],
            server_count.CURVE,
            title=f"{number_format.count(plan.load)} of {name} busy on average",
            summary="Random arrivals, exponential services (M/M/c)"
            if plan.curve_s
            else "The queue grows without limit: demand exceeds capacity",
            bars="Devices in use",
        )
    )


def log_queue_svg(plan: LogQueuePlan) -> str:
    """Return recorded, replayed and, if the formula applies, M/M/c waits as an SVG document."""
    waits = [
        _Waits(
            name=row.source
            if row.devices is None
            else f"{row.source}, {quantity(row.devices, 'device')}",
            curve_s=row.waits.wait_curve_s,
            share=queue_devices_in_use(plan, row),
        )
        for row in queue_rows(plan)
    ]
    formula = plan.formula
    if formula is not None and formula.curve_s:
        name = f"formula (M/M/c), {quantity(formula.devices, 'device')}"
        waits.append(_Waits(name=name, curve_s=formula.curve_s, share=None))
    return picture_svg(
        _picture(
            waits,
            policy_comparison.CURVE,
            title=f"{plan.log}: waits of {quantity(plan.jobs, 'job')} as recorded and replayed",
            summary=needed_sentence(plan) or calibration_sentence(plan.calibration),
            bars=_bars_title(plan),
        )
    )


def _bars_title(plan: LogQueuePlan | PolicyComparison) -> str:
    return "Devices in use, at least" if plan.lacks_device_time else "Devices in use"


def recorded_picture(waits: RecordedWaits, *, quarter: str) -> Picture:
    """Return the recorded waits of all jobs, and of the teams with the most jobs.

    The bars are the shares within the objective, if there is one.
    """
    everyone = waits.overall
    named = [("all jobs", everyone), *((one.team or "(no team)", one) for one in waits.teams)]
    limit = waits.objective_s
    return _picture(
        [_Waits(name=name, curve_s=one.wait_curve_s, share=one.met_share) for name, one in named],
        policy_comparison.CURVE,
        title=f"Share of the jobs of {quarter} that waited no longer, by {waits.log}",
        summary="All jobs, and the teams with the most jobs; waits as the log recorded them",
        bars="" if limit is None else f"Within the objective, {duration(limit)}",
    )


def _picture(
    waits: Sequence[_Waits], shares: Sequence[float], *, title: str, summary: str, bars: str
) -> Picture:
    by_tone = dict(zip(SERIES_TONES, waits[:_MAX_CURVES], strict=False))
    charts = [_curves(by_tone, shares)]
    if any(one.share is not None for one in by_tone.values()):
        charts.append(_bars(by_tone, title=bars))
    return Picture(title=title, summary=summary, charts=tuple(charts))


def _curves(by_tone: dict[Tone, _Waits], shares: Sequence[float]) -> Chart:
    longest_s = max(
        [SECONDS_PER_MINUTE, *(max(one.curve_s, default=0) for one in by_tone.values())]
    )
    ticks = tuple(Tick(value=at, label=duration(at)) for at in _TICKS_S if at <= longest_s)
    return Chart(
        x=Axis(low=_MIN_S, high=longest_s, ticks=ticks, title="wait, at most", is_log=True),
        y=share_axis(title="share of the jobs"),
        marks=tuple(
            LineMark(points=_points(one, shares, longest_s), tone=tone, title=one.name)
            for tone, one in by_tone.items()
            if one.curve_s
        ),
        legend=tuple(
            LegendKey(label=one.name, tone=tone, shape=KeyShape.LINE)
            for tone, one in by_tone.items()
        ),
    )


def _points(
    waits: _Waits, shares: Sequence[float], longest_s: float
) -> tuple[tuple[float, float], ...]:
    """Return the points of a curve, which stays flat after its longest wait."""
    points = [
        (max(wait_s, _MIN_S), share) for wait_s, share in zip(waits.curve_s, shares, strict=False)
    ]
    return (*points, (longest_s, points[-1][1]))


def _bars(by_tone: dict[Tone, _Waits], *, title: str) -> Chart:
    marks = [
        mark for row, (tone, one) in enumerate(by_tone.items()) for mark in _bar(row, tone, one)
    ]
    rows = [
        Tick(label=one.name, figure="" if one.share is None else number_format.share(one.share))
        for one in by_tone.values()
    ]
    return Chart(x=share_axis(), y=rows_axis(rows), marks=tuple(marks), title=title)


def _bar(row: int, tone: Tone, waits: _Waits) -> Iterator[Mark]:
    if waits.share is None:
        return
    yield BarMark(x=(0.0, waits.share), y=(row + 0.15, row + 0.75), tone=tone)
    if ends := _ends(waits.interval):
        level = row + 0.87
        yield LineMark(points=tuple((end, level) for end in ends), tone=Tone.INK, width=1.0)
        for end in ends:
            points = ((end, level - 0.08), (end, level + 0.08))
            yield LineMark(points=points, tone=Tone.INK, width=1.0)


def _ends(interval: BootstrapInterval | None) -> tuple[float, float] | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high
