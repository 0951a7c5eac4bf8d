"""Turns a verdict's pairs into a plot: a dot for each pair, above the interval and the margin.

Coordinates are in the plot's own units, y downwards.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger_baselines.judge import judged_tests
from perfledger_baselines.pairing import PairedTest
from perfledger_baselines.verdict import Verdict
from perfledger_service.pages import figures
from perfledger_service.pages.scale import Dot, Scale, Tick, nice_ticks

_WIDTH = 380.0  # as the template draws it
_SIDE = 18.0
_TOP = 12.0
_ROW = 12.0
_MAX_ROWS_HEIGHT = 96.0  # many pairs move closer together instead of making a tower
_ROOM = 0.06  # of the range, free on either side


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPlot:
    """One verdict's pairs along the axis of relative change."""

    height: float
    baseline: float  # y of the axis
    zero: float
    band: tuple[float, float]  # x of the margin's two ends
    bar: tuple[float, float, float]  # x of the interval's low end, the estimate and its high end
    bar_y: float
    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]


PairsOfTests = Mapping[tuple[str, str], PairedTest]  # by workload and metric's name


def pairs_of(bundle: Bundle) -> PairsOfTests:
    """Return by workload and metric the very pairs that the judge decides by. Raises PlanError."""
    return {(test.workload, test.metric.name): test for test in judged_tests(bundle)}


def pair_plot(verdict: Verdict, test: PairedTest, *, margin: float) -> PairPlot | None:
    """Return the plot of a verdict's pairs, or None if there is nothing to draw.

    `margin` is relative: within it on either side a change counts as none.
    """
    estimate = verdict.estimate
    changes = {
        number: head / base - 1
        for number, base, head in zip(test.numbers, test.base, test.head, strict=True)
        if base is not None and head is not None and base > 0
    }
    if estimate is None or not changes:
        return None
    marks = (*changes.values(), estimate.low, estimate.change, estimate.high, -margin, margin, 0.0)
    low, high = min(marks), max(marks)
    if not math.isfinite(high - low) or low == high:
        return None
    room = (high - low) * _ROOM
    scale = Scale(low - room, high + room, _SIDE, _WIDTH - _SIDE)
    row = min(_ROW, _MAX_ROWS_HEIGHT / len(changes))
    bar_y = _TOP + row * len(changes) + 10.0
    return PairPlot(
        height=bar_y + 40.0,
        baseline=bar_y + 14.0,
        zero=scale.at(0.0),
        band=(scale.at(-margin), scale.at(margin)),
        bar=(scale.at(estimate.low), scale.at(estimate.change), scale.at(estimate.high)),
        bar_y=bar_y,
        dots=tuple(
            Dot(scale.at(change), _TOP + row * (place + 0.5), _title(number, change))
            for place, (number, change) in enumerate(changes.items())
        ),
        ticks=tuple(
            Tick(scale.at(at), _tick(at)) for at in nice_ticks(scale.low + room, scale.high - room)
        ),
    )


def _title(number: int, change: float) -> str:
    return f"pair {number}: {figures.percent(change)}"


def _tick(change: float) -> str:
    shown = f"{change * 100:+.3g}{figures.NBSP}%"
    return shown if change else f"0{figures.NBSP}%"
