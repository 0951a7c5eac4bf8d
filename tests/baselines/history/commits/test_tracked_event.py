"""The values of tracked events: what a change covers, and what a state leaves of the last one."""

import math
from dataclasses import replace
from datetime import date

import pytest

from perfledger.metrics import family_metric
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.grouping import group_changes
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    TrackedEvent,
    changed_series,
    decisive,
    harm_of_change,
)

SLOWER = ChangedSeries(
    workload="m:f",
    metric="step_time_p50",
    machine_class="cpu",
    before=1.0,
    after=1.1,
    change=0.1,
    low=0.08,
    high=0.12,
)
LESS = replace(SLOWER, after=0.9, change=-0.1, low=-0.12, high=-0.08)


@pytest.mark.parametrize(
    ("series", "change", "is_covered"),
    [
        (SLOWER, 0.12, True),
        (SLOWER, 0.121, False),
        (SLOWER, -0.5, True),
        (LESS, -0.12, True),
        (LESS, -0.121, False),
        (replace(SLOWER, high=math.nan), 0.1, True),
        (replace(SLOWER, high=math.inf), 0.11, False),
    ],
)
def test_a_change_covers_its_size_and_its_interval(series, change, is_covered):
    assert series.covers(change) is is_covered


@pytest.mark.parametrize(
    ("low", "exceeds"), [(0.12, False), (0.13, True), (math.nan, True), (-math.inf, True)]
)
def test_only_what_is_surely_larger_exceeds_what_was_accepted(low, exceeds):
    larger = replace(SLOWER, change=0.3, low=low, high=0.5)

    assert larger.exceeds(SLOWER) is exceeds


def test_a_change_of_unknown_size_exceeds_nothing():
    unknown = replace(SLOWER, change=math.nan, low=math.nan, high=math.nan)

    assert not unknown.exceeds(SLOWER)


@pytest.mark.parametrize(("level", "share"), [(1.1, 1.0), (1.0, 0.0), (1.05, 0.5), (0.9, -1.0)])
def test_a_level_has_a_share_of_the_change(level, share):
    assert SLOWER.remaining_share(level) == pytest.approx(share)


def test_a_change_without_a_size_is_never_undone():
    assert replace(SLOWER, after=1.0).remaining_share(1.0) == 1.0


def test_a_new_state_has_nothing_of_the_words_of_the_last():
    event = TrackedEvent(harm=Harm.WORSE, measured_series=(SLOWER,), pull_request=7)
    expected = event.with_state(
        EventState.EXPECTED, set_by="alice", reason="safer", until=date(2026, 12, 31)
    )

    assert expected.expected_series == (SLOWER,)
    assert expected.with_state(EventState.OPEN) == event


def test_the_harm_of_a_change_of_machines_is_the_worst_of_it(past):
    changes = [past.change(40, size=0.05), past.change(40, size=-0.05)]
    grouped = group_changes(
        [
            past.history(f"m{number}:f", change, driver_at=40)
            for number, change in enumerate(changes)
        ]
    )
    [machine_change] = grouped.environment_changes

    assert harm_of_change(machine_change) is Harm.WORSE
    assert {one.workload for one in changed_series(machine_change)} == {"m0:f", "m1:f"}


def test_metrics_decide_where_there_are_any_and_kernel_families_elsewhere():
    family = replace(SLOWER, metric=family_metric("gelu").name)

    assert decisive((family, SLOWER)) == (SLOWER,)
    assert decisive((family,)) == (family,)
