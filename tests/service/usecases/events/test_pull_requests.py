"""What pull requests change: measured, accepted, merged or given up."""

from datetime import date

import pytest

from perfledger.records import Device, Machine, Revision
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.store.comments.acceptances import add_acceptance
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import (
    events_of_pull_request,
    notes_of_event,
)
from perfledger_service.usecases.events.pull_requests import (
    close_events,
    expect_accepted,
    merge_events,
)
from perfledger_service.values.acceptance import Acceptance

PROJECT = 1
A100 = Machine(device=Device.CUDA, model="NVIDIA A100-SXM4-80GB")


@pytest.fixture
def push(any_engine, judged, make_bundle):
    """Measure a push of pull request 7."""
    pushes = iter(range(1, 99))

    def push(**values):
        number = next(pushes)
        head = Revision(sha=f"{number:040x}")
        upload_id = f"{number:032x}"
        bundle = make_bundle(seed=number, head=head, pairs=4, **values)
        judged(any_engine, bundle, upload_id=upload_id)

    return push


@pytest.fixture
def events(any_engine):
    def events():
        with read_session(any_engine) as session:
            return events_of_pull_request(session, PROJECT, 7)

    return events


@pytest.fixture
def change(any_engine, now):
    """Call a use case in a transaction."""

    def change(function, *arguments):
        with write_session(any_engine) as session:
            function(session, PROJECT, 7, *arguments, now=now)
            session.commit()

    return change


@pytest.fixture
def accept(any_engine, change, now):
    def accept(workload="gpt:step", *, until=None, comment_id=1):
        acceptance = Acceptance(
            pull_request=7,
            head_sha="b" * 40,
            login="alice",
            workload=workload,
            reason="safer",
            accepted_at=now,
            until=until,
        )
        with write_session(any_engine) as session:
            assert add_acceptance(session, PROJECT, acceptance, comment_id=comment_id)
            session.commit()
        change(expect_accepted)

    return accept


def states(events):
    return [(event.harm, event.state) for event in events]


def test_what_changes_nothing_is_no_event(push, events):
    push(ratio=1.0)

    assert events() == ()


def test_a_regression_is_one_event_over_pushes_and_machine_classes(any_engine, push, events):
    push(ratio=1.2)
    push(ratio=1.3, machine=A100)

    [event] = events()
    assert (event.harm, event.state, event.is_detected) == (Harm.WORSE, EventState.OPEN, True)
    assert {one.machine_class for one in event.series} == {
        "cpu:Test CPU:1",
        "cuda:NVIDIA A100-SXM4-80GB:1",
    }
    with read_session(any_engine) as session:
        assert [note.note for note in notes_of_event(session, event.id)] == [
            "found at 000000000000"
        ]


def test_a_push_that_regresses_no_more_fixes_it_and_a_later_one_opens_it_again(push, events):
    push(ratio=1.2)
    push(ratio=1.0)
    assert states(events()) == [(Harm.WORSE, EventState.FIXED)]

    push(ratio=1.2)
    assert states(events()) == [(Harm.WORSE, EventState.OPEN)]


def test_an_improvement_is_an_event_too(push, events):
    push(ratio=0.8)

    assert states(events()) == [(Harm.BETTER, EventState.OPEN)]


def test_what_is_accepted_whole_is_expected_until_the_first_last_day(push, events, accept):
    push(ratio=1.2, workloads=("gpt:step", "gpt:other"))
    accept("gpt:step", until=date(2026, 12, 31))
    assert states(events()) == [(Harm.WORSE, EventState.OPEN)]

    accept("gpt:other", until=date(2026, 12, 1), comment_id=2)
    [event] = events()
    assert (event.state, event.owner, event.reason, event.until) == (
        EventState.EXPECTED,
        "alice",
        "safer",
        date(2026, 12, 1),
    )


def test_a_push_that_regresses_more_than_was_accepted_is_open_again(push, events, accept):
    push(ratio=1.2)
    accept()
    push(ratio=1.2)
    assert states(events()) == [(Harm.WORSE, EventState.EXPECTED)]

    push(ratio=1.4)
    assert states(events()) == [(Harm.WORSE, EventState.OPEN)]


def test_a_merge_puts_the_event_into_the_history_once(push, events, change):
    push(ratio=1.2)
    change(merge_events, "c" * 40)
    change(merge_events, "d" * 40)

    [event] = events()
    assert event.merged_sha == "c" * 40
    assert [one.last_sha for one in event.occurrences] == ["c" * 40]
    assert event.series == event.measured_series


def test_what_is_fixed_before_the_merge_is_not_in_the_history(push, events, change):
    push(ratio=1.2)
    push(ratio=1.0)
    change(merge_events, "c" * 40)

    assert events()[0].occurrences == ()


def test_an_acceptance_after_the_merge_counts(push, events, change, accept):
    push(ratio=1.2)
    change(merge_events, "c" * 40)
    accept()

    [event] = events()
    assert (event.state, event.merged_sha) == (EventState.EXPECTED, "c" * 40)


def test_a_pull_request_that_is_given_up_changes_nothing(push, events, change):
    push(ratio=1.2)
    change(close_events)
    assert [event.is_detected for event in events()] == [False]

    push(ratio=1.2)
    assert [event.is_detected for event in events()] == [True]
