"""What people decide on events, and what the weekly report has of it."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from perfledger.metrics import family_metric
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventUpdate,
    TrackedEvent,
)
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.database import write_session
from perfledger_service.store.events.events import save_event
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.events.event import (
    event_history,
    list_events,
    set_event,
    triage,
)
from perfledger_service.usecases.server.project import project_of_name
from perfledger_service.values.people.person import Actor

SERIES = ChangedSeries(
    workload="m:f",
    metric="step_time_p50",
    machine_class="cpu",
    before=1.0,
    after=1.1,
    change=0.1,
    low=0.09,
    high=0.11,
)
EVENT = TrackedEvent(harm=Harm.WORSE, pull_request=7, measured_series=(SERIES,))
WEEK = timedelta(days=7)


@pytest.fixture
def project(engine, now):
    with write_session(engine) as session:
        project = project_for(session, "octo/models", now=now)
        session.commit()
    return project


@pytest.fixture
def save(engine, project, now):
    def save(event=EVENT, *, now=now):
        with write_session(engine) as session:
            number = save_event(session, project.id, EventUpdate(event, "found"), now=now)
            session.commit()
        return number

    return save


@pytest.fixture
def decide(engine, project, now):
    def decide(number, state, **values):
        defaults = {"actor": Actor(name="alice"), "reason": "safer math", "now": now}
        return set_event(engine, project, number, state, **defaults | values)

    return decide


def test_a_state_has_its_reason_owner_day_and_author_and_all_are_noted(save, decide):
    history = decide(save(), EventState.EXPECTED, owner="bob", until=date(2026, 12, 1))

    event = history.view.event
    assert (event.state, event.set_by, event.owner, event.expected_series) == (
        EventState.EXPECTED,
        "alice",
        "bob",
        (SERIES,),
    )
    assert [(note.author, note.note) for note in history.notes] == [
        ("", "found"),
        ("alice", "safer math; owner bob; until 2026-12-01"),
    ]


@pytest.mark.parametrize(
    ("state", "values", "problem"),
    [
        (EventState.FIXED, {}, "an event cannot be set to fixed"),
        (EventState.ACKNOWLEDGED, {"reason": ""}, "give a reason"),
        (EventState.EXPECTED, {}, "needs an owner"),
        (EventState.OPEN, {"until": date(2026, 12, 1)}, "without a last day"),
        (EventState.EXPECTED, {"owner": "bob", "until": date(2026, 11, 1)}, "not within 366 days"),
        (EventState.EXPECTED, {"owner": "bob", "until": date(2028, 1, 1)}, "not within 366 days"),
    ],
)
def test_a_state_without_what_it_needs_is_refused(save, decide, state, values, problem):
    number = save()

    with pytest.raises(UsageError, match=problem):
        decide(number, state, **values)


def test_an_event_that_is_not_there_is_not_found(engine, project):
    with pytest.raises(NotFoundError, match="no event 5"):
        event_history(engine, project, 5)
    with pytest.raises(NotFoundError, match="not a project"):
        project_of_name(engine, "octo/nothing")


def test_a_page_of_events_says_whether_there_are_more(engine, project, save):
    save()
    save()

    assert list_events(engine, project, most=1).has_more
    assert not list_events(engine, project, most=2).has_more


def test_an_event_is_as_large_as_its_step_and_not_as_its_kernel_families(engine, save, now):
    family = replace(SERIES, metric=family_metric("gelu").name, change=3.0, high=3.1)
    small = replace(SERIES, change=0.02, low=0.01, high=0.03)
    larger = save()
    smaller = save(replace(EVENT, pull_request=8, measured_series=(small, family)))

    report = triage(engine, "octo/models", period=WEEK, now=now)

    assert [view.event.id for view in report.to_decide] == [larger, smaller]


def test_the_report_has_open_regressions_the_largest_first(engine, save, decide, now):
    small, large = save(), save(replace(EVENT, measured_series=(replace(SERIES, change=0.5),)))
    save(replace(EVENT, harm=Harm.BETTER))
    save(replace(EVENT, is_detected=False))
    decide(save(), EventState.ACKNOWLEDGED)
    soon, late = (
        decide(save(), EventState.EXPECTED, owner="bob", until=until).view.event.id
        for until in (date(2026, 12, 1), date(2027, 3, 1))
    )

    report = triage(engine, "octo/models", period=WEEK, now=now)

    assert [view.event.id for view in report.to_decide] == [large, small]
    assert [view.event.state for view in report.acknowledged] == [EventState.ACKNOWLEDGED]
    assert [view.event.id for view in report.expiring] == [soon]
    assert [view.event.id for view in report.expected] == [late]
    assert report.count_notes(EventState.EXPECTED) == 2


def test_the_report_has_regressions_that_were_fixed_or_blamed_on_machines_within_its_period(
    engine, save, decide, now
):
    save(replace(EVENT, state=EventState.FIXED), now=now - timedelta(days=8))
    fixed = save(replace(EVENT, state=EventState.FIXED))
    save(replace(EVENT, state=EventState.FIXED, harm=Harm.BETTER))
    environment = decide(save(), EventState.ENVIRONMENT).view.event.id

    report = triage(engine, "octo/models", period=WEEK, now=now)

    assert [view.event.id for view in report.fixed] == [fixed]
    assert [view.event.id for view in report.environment] == [environment]


def test_the_report_has_what_happened_within_its_period_alone(engine, save, now):
    save(now=now - timedelta(days=8))
    save(now=now)

    report = triage(engine, "octo/models", period=WEEK, now=now)

    assert [note.event_id for note in report.notes] == [2]
    assert report.period == WEEK


def test_the_report_has_nothing_of_an_import_whose_events_are_listed(engine, project, save, now):
    imported = replace(SERIES, machine_class="imported:asv, box:1")
    number = save(replace(EVENT, pull_request=None, measured_series=(imported,)))
    save(replace(EVENT, measured_series=(imported,), state=EventState.FIXED))

    report = triage(engine, "octo/models", period=WEEK, now=now)

    assert (report.to_decide, report.fixed, report.notes) == ((), (), ())
    assert number in {view.event.id for view in list_events(engine, project).events}
