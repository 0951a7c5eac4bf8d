"""What a project's badge says of its default branch."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.bundle import Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Failure, FailureReason, Machine, Revision, Side
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    EventUpdate,
    TrackedEvent,
)
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import save_event
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.fleet.device import quarantine_device
from perfledger_service.usecases.history.gate_badge import STALE_AFTER, gate_badge
from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.branch_views import GateState
from perfledger_service.values.people.person import Actor

SERIES = ChangedSeries(
    workload="gpt:step",
    metric=STEP_TIME.name,
    machine_class="cpu:Test CPU:1",
    before=1.0,
    after=1.1,
    change=0.1,
    low=0.09,
    high=0.11,
)
IMPORTED = replace(SERIES, machine_class="imported:asv, box:1")
EVENT = TrackedEvent(
    harm=Harm.WORSE,
    occurrences=(EventOccurrence(after_sha="c" * 40, last_sha="d" * 40, series=(SERIES,)),),
)


@pytest.fixture
def check(engine, judged_on_branch, make_bundle):
    def check(number, **values):
        usual = {
            "base": Revision(sha=f"{number:040x}"),
            "head": Revision(sha=f"{number + 1:040x}"),
            "pull_request": None,
            "pairs": 4,
            "samples": 2,
            "ratio": 1.0,
            "plan": Plan(seed=1, order=("base",) * 4, looks=(4,)),
            "seed": number,
        }
        return judged_on_branch(
            engine, make_bundle(**(usual | values)), upload_id=f"{values.get('seed', number):032x}"
        )

    return check


@pytest.fixture
def badge(engine, now):
    def badge(*, later=timedelta()):
        with read_session(engine) as session:
            return gate_badge(session, "octo/models", now=now + later)

    return badge


@pytest.fixture
def save(engine):
    def save(event, now):
        with write_session(engine) as session:
            save_event(session, 1, EventUpdate(event, "found"), now=now)
            session.commit()

    return save


def test_a_failed_check_on_a_quarantined_device_is_not_hidden_by_an_earlier_one(
    engine, badge, check, now
):
    check(1)
    with read_session(engine) as session:
        project = project_named(session, "octo/models")
    actor = Actor(name="alice")
    quarantine_device(
        engine, project, "Test CPU of host a1", actor=actor, reason="its fan", now=now
    )
    before = badge().state

    check(2, ratio=1.5)

    assert (before, badge().state) == (GateState.PASSING, GateState.REGRESSED)


def test_a_project_without_a_check_of_its_branch_is_unknown(engine, badge, check, now):
    add_project(engine, "octo/models", token="pl_0123abcd_" + "s" * 43, now=now)
    nothing = badge()
    check(1, pull_request=7)

    assert (nothing.state, nothing.measured_at) == (GateState.UNKNOWN, None)
    assert badge().state is GateState.UNKNOWN


def test_an_unknown_project_is_an_error(badge):
    with pytest.raises(NotFoundError):
        badge()


def test_the_newest_commit_counts_whatever_arrived_last(check, badge):
    for number in (1, 2):
        check(number, ratio=1.3 if number == 1 else 1.0)

    before = badge().state
    check(1, ratio=1.3, seed=9)

    assert (before, badge().state) == (GateState.PASSING, GateState.PASSING)


def test_the_worst_machine_class_counts(check, badge):
    check(1)
    check(1, seed=9, ratio=1.3, machine=Machine(device=Device.CPU, model="Other CPU"))

    assert badge().state is GateState.REGRESSED


def test_what_was_not_measured_is_not_passing(check, badge):
    failure = Failure(
        workload="gpt:step", side=Side.HEAD, why=FailureReason.NO_DEVICE, detail="no device"
    )
    check(1, runs=(), failures=(failure,))

    assert badge().state is GateState.NOT_MEASURED


def test_what_is_undecided_is_neither_passing_nor_failing(check, badge):
    check(1, pairs=1, ratio=1.05, plan=Plan(seed=1, order=("base",), looks=(1,)))

    assert badge().state is GateState.UNDECIDED


def test_a_commit_against_itself_says_nothing_of_the_branch(check, badge):
    same = Revision(sha=f"{2:040x}")
    check(1, ratio=1.3)
    check(2, base=same, head=same)

    assert badge().state is GateState.REGRESSED


def test_open_regressions_of_the_history_are_counted(check, badge, save, now):
    check(1)
    save(EVENT, now)
    save(replace(EVENT, state=EventState.ACKNOWLEDGED), now)
    for other in (
        replace(EVENT, harm=Harm.BETTER),
        replace(EVENT, state=EventState.FIXED),
        replace(EVENT, state=EventState.EXPECTED),
        replace(EVENT, is_detected=False),
        replace(EVENT, occurrences=(), pull_request=7, measured_series=(SERIES,)),
        replace(EVENT, occurrences=(replace(EVENT.occurrences[0], series=(IMPORTED,)),)),
    ):
        save(other, now)

    assert (badge().state, badge().open_regressions) == (GateState.REGRESSED, 2)


def test_a_check_of_long_ago_is_stale(check, badge):
    check(1)
    age = badge().measured_at

    assert not badge(later=STALE_AFTER - timedelta(hours=2)).is_stale
    assert badge(later=STALE_AFTER + timedelta(hours=2)).is_stale
    assert badge(later=2 * STALE_AFTER).measured_at == age
