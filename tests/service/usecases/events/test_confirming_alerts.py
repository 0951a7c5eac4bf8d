"""Alerts of an event are those of one of its series, in commits that overlap with its own."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, EventOccurrence
from perfledger_service.usecases.events.confirming_alerts import alerts_at, confirming_alerts
from perfledger_service.values.branch_views import AlertView
from tests.service.suspects import MACHINE, WORKLOAD, an_alert

SHAS = [f"{place:040x}" for place in range(40)]
PLACES = {sha: place for place, sha in enumerate(SHAS)}


def alert_at(first, last, workload=WORKLOAD):
    return AlertView(
        alert=an_alert(workload),
        upload_id="u1",
        after_sha=SHAS[first - 1],
        last_sha=SHAS[last],
        created_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("first", "last", "is_there"),
    [(10, 12, True), (12, 12, True), (5, 10, True), (12, 20, True), (5, 9, False), (13, 20, False)],
)
def test_an_alert_confirms_what_shares_a_commit_with_it(first, last, is_there):
    alert = alert_at(first, last)

    alerts = alerts_at(CommitRange(10, 12), {(WORKLOAD, MACHINE)}, [alert], PLACES)

    assert alerts == ((alert,) if is_there else ())


@pytest.mark.parametrize("member", [("other:step", MACHINE), (WORKLOAD, "cuda:H100:1")])
def test_an_alert_of_another_workload_or_machine_class_confirms_nothing(member):
    assert alerts_at(CommitRange(10, 12), {member}, [alert_at(10, 12)], PLACES) == ()


def test_an_alert_whose_commits_left_the_branch_confirms_nothing():
    gone = replace(alert_at(10, 12), after_sha="f" * 40, last_sha="e" * 40)

    assert alerts_at(CommitRange(10, 12), {(WORKLOAD, MACHINE)}, [gone], PLACES) == ()


def test_an_event_whose_commits_left_the_branch_has_no_alerts():
    series = ChangedSeries(
        workload=WORKLOAD,
        metric="step_time",
        machine_class=MACHINE,
        before=1.0,
        after=1.05,
        change=0.05,
        low=0.04,
        high=0.06,
    )
    there = EventOccurrence(after_sha=SHAS[9], last_sha=SHAS[12], series=(series,))
    alert = alert_at(10, 12)

    assert confirming_alerts(there, [alert], PLACES) == (alert,)
    assert confirming_alerts(replace(there, last_sha="e" * 40), [alert], PLACES) == ()
