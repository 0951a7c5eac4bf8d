"""The drawing of a history, as agreed."""

import math

from perfledger_baselines.history.findings import ChangePoint, History, Transient
from perfledger_service.pages.history_plot import history_svg
from perfledger_service.views import MeasuredSeries, SearchedSeries

BASE = (0.100, 0.101, 0.099, 0.100, 0.102, 0.100)


def test_a_history_is_drawn_as_agreed(matches_golden):
    values = (*BASE, 0.131, *BASE, math.nan, *(1.1 * value for value in BASE), *BASE)
    change = ChangePoint(
        index=14,
        earliest=13,
        latest=15,
        before=0.1,
        after=0.11,
        change=0.1,
        low=0.09,
        high=0.11,
        confidence=0.99999,
    )
    searched = SearchedSeries(
        MeasuredSeries(
            name="gpt:step <p50> & more",
            unit="s",
            values=values,
            labels=tuple(f"c{place:03d}" for place in range(len(values))),
            epochs=(20,),
        ),
        History(changes=(change,), transients=(Transient(first=6, last=6, change=0.3),)),
    )

    matches_golden("history.svg", history_svg(searched))
