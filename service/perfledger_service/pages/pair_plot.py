"""Turns a verdict's pairs into a plot: a dot for each pair, above the interval and the margin.

Coordinates are in the plot's own units, y downwards.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger_baselines.pairing import judged_metrics, locate_pairs, match_runs, tests_of
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


Pairs = tuple[tuple[float, float], ...]
PairsOfTests = Mapping[tuple[str, str], Pairs]  # by workload and metric's name


def pairs_of(bundle: Bundle) -> PairsOfTests:
    """Return (base, head) of every pair by workload and metric, reduced as the judge does it."""
    metrics = judged_metrics(bundle.metrics)
    found: dict[tuple[str, str], Pairs] = {}
    for workload, runs in match_runs(bundle.runs).items():
        tests = tests_of(workload, locate_pairs(runs, metrics), metrics)
        found.update({(workload, test.metric.name): test.pairs for test in tests})
    return found


def pair_plot(
    verdict: Verdict, pairs: Sequence[tuple[float, float]], *, margin: float
) -> PairPlot | None:
    """Return the plot of a verdict's pairs (base, head), or None if there is nothing to draw.

    `margin` is relative: within it on either side a change counts as none.
    """
    estimate = verdict.estimate
    changes = [head / base - 1 for base, head in pairs if base > 0]
    if estimate is None or not changes:
        return None
    marks = (*changes, estimate.low, estimate.change, estimate.high, -margin, margin, 0.0)
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
            Dot(scale.at(change), _TOP + row * (place + 0.5), _title(place, change))
            for place, change in enumerate(changes)
        ),
        ticks=tuple(
            Tick(scale.at(at), _tick(at)) for at in nice_ticks(scale.low + room, scale.high - room)
        ),
    )


def _title(place: int, change: float) -> str:
    return f"pair {place + 1}: {figures.percent(change)}"


def _tick(change: float) -> str:
    shown = f"{change * 100:+.3g}{figures.NBSP}%"
    return shown if change else f"0{figures.NBSP}%"
