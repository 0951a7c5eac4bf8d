"""Draws a verdict's pairs: a dot for each pair, above the interval and the margin."""

import math
from collections.abc import Mapping

from perfledger import rounding
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_service.rendering.chart.axis import Axis, linear_axis, widen_range
from perfledger_service.rendering.chart.marks import BarMark, DotMark, LineMark, RuleMark, Tone
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.layout import number_format
from perfledger_service.values.report import Report

_WIDTH = 380.0
_ROW_HEIGHT = 12.0
_MAX_ROWS_HEIGHT = 96.0  # more pairs have lower rows
_FOOT = 24.0  # below the rows, for the estimate with its interval
_MARGIN = 0.06  # of the range, on either side
_TONES = {
    Outcome.REGRESSED: Tone.RED,
    Outcome.IMPROVED: Tone.GREEN,
    Outcome.UNDECIDED: Tone.AMBER,
    Outcome.UNCHANGED: Tone.MUTED,
    Outcome.NOT_MEASURED: Tone.PURPLE,
}


def pairs_by_result(report: Report) -> Mapping[tuple[str, str], PairedTest]:
    """Return the tests whose pairs decided, by workload and metric name."""
    return {(test.workload, test.metric.name): test for test in report.tests}


def pair_chart(verdict: Verdict, test: PairedTest, *, margin: float) -> Chart | None:
    """Return the chart of a verdict's pairs, or None if there is nothing to draw.

    `margin` is relative: smaller changes count as unchanged.
    """
    estimate = verdict.shown_estimate
    changes = test.changes(without_waits=verdict.excludes_waits)
    if estimate is None or not changes:
        return None
    marks = (*changes.values(), estimate.low, estimate.change, estimate.high, -margin, margin, 0.0)
    low, high = min(marks), max(marks)
    if not math.isfinite(high - low) or low == high:
        return None
    row = min(_ROW_HEIGHT, _MAX_ROWS_HEIGHT / len(changes))
    bottom = len(changes) + _FOOT / row
    level = len(changes) + _FOOT / row / 2  # of the estimate
    return Chart(
        x=linear_axis(*widen_range(low, high, share=_MARGIN), label=_tick),
        y=Axis(low=bottom, high=0.0),
        marks=(
            BarMark(x=(-margin, margin), opacity=0.13),
            RuleMark(x=0.0, is_dashed=True),
            *(
                DotMark(
                    x=change,
                    y=index + 0.5,
                    tone=_TONES[verdict.outcome],
                    opacity=0.75,
                    title=f"pair {number}: {number_format.percent(change)}",
                )
                for index, (number, change) in enumerate(changes.items())
            ),
            LineMark(
                points=((estimate.low, level), (estimate.high, level)), tone=Tone.INK, width=3.0
            ),
            DotMark(x=estimate.change, y=level, tone=Tone.INK, radius=5.0),
        ),
        width=_WIDTH,
        height=row * bottom,
        left=16.0,
        right=16.0,
    )


def _tick(change: float) -> str:
    return f"{number_format.signed(change * 100, _points)} %"


def _points(percent: float) -> str:
    return rounding.digits(percent, 3)
