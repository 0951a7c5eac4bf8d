"""Events with the A/B runs that confirmed them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_service.rendering.history.triage import (
    confirming_alerts,
    other_alerts,
    triage_rows,
)
from perfledger_service.values.branch_views import AlertView, BranchSearch, BranchView
from tests.service.suspects import an_alert

SHAS = tuple(f"{place + 10:x}" * 20 for place in range(40))


@pytest.fixture
def event(make_events):
    return make_events.event_of(make_events.attributed("gpt:step"))


@pytest.fixture
def view(event):
    return BranchView(
        repository="octo/models",
        search=BranchSearch(
            commits=SHAS,
            grouped_changes=GroupedChanges(events=(event,), environment_changes=()),
            watched=2,
        ),
        is_search_due=False,
        alerts=(),
        requests=(),
        gates=(),
    )


def alert_of(event, *, workload="gpt:step", shift=0):
    """Return an alert of the event's commits, or of others."""
    alert = replace(an_alert(workload), machine_class=event.members[0].change.series.machine_class)
    return AlertView(
        alert=alert,
        upload_id="1" * 32,
        after_sha=SHAS[event.commits.first - 1 + shift],
        last_sha=SHAS[event.commits.last + shift],
        created_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


def test_an_event_without_an_ab_run_is_suspected(view):
    (row,) = triage_rows(view)

    assert (row.state, row.checks) == ("suspected", ())


def test_an_event_is_confirmed_by_an_ab_run_of_its_commits(view, event):
    confirmed = replace(view, alerts=(alert_of(event),))

    (row,) = triage_rows(confirmed)

    assert row.state == "confirmed"
    assert [one.upload_id for one in row.checks] == ["1" * 32]
    assert other_alerts(confirmed) == ()


def test_an_ab_run_of_other_commits_or_workloads_confirms_nothing(view, event):
    width = event.commits.last - event.commits.first + 1
    for other in (alert_of(event, shift=width), alert_of(event, workload="gpt:other")):
        unconfirmed = replace(view, alerts=(other,))

        assert confirming_alerts(unconfirmed, event) == ()
        assert other_alerts(unconfirmed) == (other,)


def test_an_alert_of_a_commit_that_left_the_branch_is_shown_alone(view, event):
    lost = replace(alert_of(event), last_sha="0" * 40)

    assert other_alerts(replace(view, alerts=(lost,))) == (lost,)


def test_a_change_of_the_machine_has_no_state(view, grouped_changes):
    rows = triage_rows(replace(view, search=replace(view.search, grouped_changes=grouped_changes)))

    assert {row.state for row in rows if row.event.what == "machine changed"} == {""}
