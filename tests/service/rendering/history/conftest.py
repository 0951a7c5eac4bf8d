"""A history with a finding of every kind, and changes that several series share."""

import math
from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import AttributedChange, CommitRange, Series
from perfledger_baselines.history.commits.grouping import (
    ChangeEvent,
    EnvironmentChange,
    EventMember,
    GroupedChanges,
)
from perfledger_baselines.history.detection.changes import (
    ChangePoint,
    Drift,
    SeriesFindings,
    SpreadChange,
    StateChange,
    Transient,
)
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries

MACHINE = "cpu:Test CPU:1"


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


def attributed(workload, *, change=0.05, metric=STEP_TIME, machine_class=MACHINE, first=3, last=3):
    """Return a change of a series that these commits may have made."""
    return AttributedChange(
        series=Series(workload, metric, machine_class),
        change=ChangePoint(
            index=first,
            earliest=first,
            latest=last,
            before=1.0,
            after=1.0 + change,
            change=change,
            low=change - 0.01,
            high=change + 0.01,
            confidence=0.999,
        ),
        commits=CommitRange(first, last),
        likely=CommitRange(first, last),
        has_new_environment=False,
    )


def event_of(*changes, significant=None, **values):
    """Return the event of these changes; of all of them, or of the first `significant`."""
    count = len(changes) if significant is None else significant
    members = tuple(
        EventMember(change, 0.01 if place < count else 0.4, place < count)
        for place, change in enumerate(changes)
    )
    usual = ChangeEvent(
        commits=changes[0].commits,
        harm=changes[0].harm,
        members=members,
        observed_series=120,
        changed_elsewhere=(),
        unchanged_elsewhere=(),
        has_new_environment=False,
    )
    return replace(usual, **values)


class Events:
    """What examples of shared changes are made with."""

    attributed = staticmethod(attributed)
    event_of = staticmethod(event_of)


@pytest.fixture(scope="session")
def make_events() -> type[Events]:
    """Return what examples of shared changes are made with."""
    return Events


@pytest.fixture(scope="session")
def grouped_changes() -> GroupedChanges:
    """Return an event that is believed, one that is not, and a machine that changed."""
    changed = tuple(
        EventMember(attributed(workload, first=5, last=6), 0.01, is_significant=True)
        for workload in ("gpt:step", "data:load")
    )
    return GroupedChanges(
        events=(
            event_of(attributed("gpt:step", change=0.2), attributed("gpt:eval")),
            event_of(attributed("vit:step", first=4, last=4), significant=0),
        ),
        environment_changes=(
            EnvironmentChange(
                machine_class=MACHINE,
                commits=CommitRange(5, 6),
                members=changed,
                changed_workloads=2,
                watched_workloads=3,
            ),
        ),
    )
