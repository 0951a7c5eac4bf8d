"""Turns the waits of policies, or of a queue, into an SVG that stands alone, with bars of use.

Left, how many wait no longer than a time (its axis is logarithmic, from a second on); right, how
much of the devices is in use. It follows the reader's light or dark colours and loads nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfledger_cost_models import policy_gain, queue_plan
from perfledger_cost_models.day_draws import Interval
from perfledger_cost_models.filling import Filling
from perfledger_cost_models.policy_gain import PolicyComparison
from perfledger_cost_models.queue_plan import QueuePlan
from perfledger_cost_models.recorded_waits import RecordedWaits
from perfledger_service.pages import figures
from perfledger_service.pages.caption import caption
from perfledger_service.pages.environment import render
from perfledger_service.pages.escape import clean
from perfledger_service.pages.scale import Scale, Tick
from perfledger_service.pages.scheduled import duration, gain_sentences

# As the template draws it.
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 560.0, 84.0, 300.0
_BAR_LEFT, _BAR_WIDTH, _BAR_ROW = 700.0, 190.0, 24.0
_MARKS_S = (1.0, 60.0, 3600.0, 86400.0, 7 * 86400.0, 365 * 86400.0)
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_MAX_CURVES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One line and its row of the legend; `bar` is None where nothing is known of use."""

    name: str
    tone: int  # which of the template's colours
    points: str
    bar: float | None  # width
    figure: str
    y: float  # of its row
    ends: tuple[float, float] | None = None  # of the bar's interval, from where it begins


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPlot:
    """A picture as shapes."""

    title: str
    summary: tuple[str, ...]  # lines
    x_label: str
    bars: str  # the heading of the bars
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]


def policies_svg(view: PolicyComparison) -> str:
    """Return waits and use by policy, and as recorded if the log says so."""
    named = [(row.figures.policy, row.wait_curve_s, row.figures.useful) for row in view.rows]
    ends = {row.figures.policy: _ends(row.spread.useful) for row in view.rows}
    has_ends = any(ends.values())
    if view.recorded is not None:
        named.insert(0, ("as recorded", view.recorded.wait_curve_s, view.recorded.allocated))
    sentences = gain_sentences(view)
    return _drawn(
        named,
        policy_gain.CURVE,
        title=f"{view.log}: {view.jobs:,} jobs on {view.devices:,} devices",
        summary=sentences[0] if sentences else "Share of jobs that wait no longer",
        bars="devices in use, and 95 % interval" if has_ends else "devices in use",
        ends=ends,
    )


def queue_svg(plan: QueuePlan) -> str:
    """Return the waits of an M/M/c queue; a queue that grows without end has no line."""
    use = plan.load / plan.devices
    return _drawn(
        [(f"{plan.devices} devices", plan.curve_s, min(use, 1.0))],
        queue_plan.CURVE,
        title=f"{figures.count(plan.load)} of {plan.devices:,} devices busy on average",
        summary="Random arrivals, exponential services (M/M/c)"
        if plan.curve_s
        else "The queue grows without end: more is wanted than there is",
        bars="devices in use",
    )


def recorded_svg(waits: RecordedWaits, *, quarter: str) -> str:
    """Return the waits that a job log recorded, of all jobs and of the teams with the most.

    The bars are the shares within the objective, where there is one.
    """
    named = [("all jobs", waits.everyone)]
    named += [(one.team or "(no team)", one) for one in waits.teams]
    limit = waits.objective_s
    return _drawn(
        [(name, one.wait_curve_s, one.met_share) for name, one in named],
        policy_gain.CURVE,
        title=f"Share of the jobs of {quarter} that waited no longer, by {clean(waits.log)}",
        summary="All jobs, and the teams with the most jobs; waits as the log recorded them",
        bars="" if limit is None else f"within the objective, {duration(limit)}",
    )


def filling_svg(found: Sequence[Filling]) -> str:
    """Return for each placement, with its first seed, what is allocated against what arrived."""
    first = {each.placement: each for each in reversed(found)}
    largest = max((asked for each in found for asked, _ in each.curve), default=1.0)
    x, y = Scale(0.0, largest, _LEFT, _RIGHT), Scale(0.0, 1.0, _BOTTOM, _TOP)
    curves = tuple(
        Curve(
            name=placement,
            tone=place,
            points=_points([(x.at(asked), y.at(taken)) for asked, taken in each.curve]),
            bar=round(each.allocated * _BAR_WIDTH, 2),
            figure=figures.share(each.allocated),
            y=_row(place),
        )
        for place, (placement, each) in enumerate(sorted(first.items()))
    )
    ticks = tuple(Tick(x.at(share), f"{share:.0%}") for share in (0.25, 0.5, 0.75, 1.0, 1.25))
    plot = WaitPlot(
        title="Allocated devices as jobs arrive",
        summary=("Jobs come in random order and stay; one that does not fit is turned away",),
        x_label="asked for so far, of all devices",
        bars="allocated in the end",
        x_ticks=tuple(tick for tick in ticks if tick.at <= _RIGHT),
        y_ticks=_share_ticks(y),
        curves=curves,
    )
    return _svg(plot)


def _drawn(
    named: Sequence[tuple[str, Sequence[float], float | None]],
    shares: Sequence[float],
    *,
    title: str,
    summary: str,
    bars: str,
    ends: Mapping[str, tuple[float, float] | None] | None = None,
) -> str:
    longest = max((wait for _, waits, _ in named for wait in waits), default=0.0)
    y = Scale(0.0, 1.0, _BOTTOM, _TOP)
    x = Scale(0.0, math.log10(max(longest, 60.0)), _LEFT, _RIGHT)
    curves = tuple(
        Curve(
            name=clean(name, limit=18),
            tone=place,
            points=_points(_places(waits, shares, x, y)),
            bar=None if use is None else round(use * _BAR_WIDTH, 2),
            figure="" if use is None else figures.share(use),
            y=_row(place),
            ends=(ends or {}).get(name),
        )
        for place, (name, waits, use) in enumerate(named[:_MAX_CURVES])
    )
    marks = [mark for mark in _MARKS_S if mark <= max(longest, 60.0)]
    plot = WaitPlot(
        title=title,
        summary=caption(summary),
        x_label="wait, at most",
        bars=bars,
        x_ticks=tuple(Tick(x.at(math.log10(mark)), duration(mark)) for mark in marks),
        y_ticks=_share_ticks(y),
        curves=curves,
    )
    return _svg(plot)


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return round(interval.low * _BAR_WIDTH, 2), round(interval.high * _BAR_WIDTH, 2)


def _places(
    waits: Sequence[float], shares: Sequence[float], x: Scale, y: Scale
) -> list[tuple[float, float]]:
    """Return where a curve goes; after the longest wait it stays where it is."""
    places = [
        (x.at(math.log10(max(wait, 1.0))), y.at(share))
        for wait, share in zip(waits, shares, strict=False)
    ]
    return [*places, (_RIGHT, places[-1][1])] if places else []


def _svg(plot: WaitPlot) -> str:
    height = max(_BOTTOM + 48, _row(len(plot.curves)) + 12)
    return render("waits.svg.j2", plot=plot, height=height) + "\n"


def _row(place: int) -> float:
    return _TOP + 12 + _BAR_ROW * place


def _share_ticks(y: Scale) -> tuple[Tick, ...]:
    return tuple(Tick(y.at(share), f"{share:.0%}") for share in _SHARES)


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)
