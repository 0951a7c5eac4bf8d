"""A history with a finding of every kind."""

import math
from dataclasses import replace

import pytest

from perfledger_baselines.history.detection.changes import (
    ChangePoint,
    Drift,
    SeriesFindings,
    SpreadChange,
    StateChange,
    Transient,
)
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries


@pytest.fixture(scope="session")
def everything():
    """Return a series of 80 points, of which the last 30 are a tenth higher."""
    values = (10.0,) * 50 + (11.0,) * 30
    change = ChangePoint(
        index=50,
        earliest=49,
        latest=51,
        before=10.0,
        after=11.0,
        change=0.1,
        low=0.09,
        high=0.11,
        confidence=0.987,
    )
    return SearchedSeries(
        MeasuredSeries(name="ms", unit="", values=values),
        SeriesFindings(
            changes=(
                change,
                replace(change, index=60, after=-1.0, change=math.nan, low=math.nan, high=math.nan),
            ),
            transients=(
                Transient(first=3, last=5, change=0.4),
                Transient(first=9, last=9, change=-0.4),
            ),
            drifts=(Drift(first=0, last=79, change=0.03, low=0.02, high=math.nan),),
            spread_changes=(
                SpreadChange(index=20, ratio=2.1, low=1.5, high=3.0, confidence=0.99),
                SpreadChange(index=30, ratio=0.5, low=0.3, high=0.7, confidence=0.99),
            ),
            state_changes=(
                StateChange(
                    index=40, share_before=0.2, share_after=0.6, distance=0.05, confidence=0.999
                ),
            ),
        ),
    )
