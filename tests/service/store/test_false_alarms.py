"""Checks of a commit against itself: they tell how often the gate is red without cause."""

import pytest

from perfledger.bundle import Plan
from perfledger.records import Failure, FailureReason, Revision, Side
from perfledger_baselines.judging.false_alarms import false_alarm_rate
from perfledger_service.store.database import read_session
from perfledger_service.store.false_alarms import false_alarms
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.history.branch_history import branch_view

SAME = Revision(sha="c" * 40)


@pytest.fixture
def check(engine, judged, make_bundle):
    def check(number, **values):
        told = {
            "base": SAME,
            "head": SAME,
            "pull_request": None,
            "pairs": 4,
            "samples": 2,
            "ratio": 1.0,
            "plan": Plan(seed=1, order=("base",) * 4, looks=(4,)),
            "seed": number,
        }
        return judged(engine, make_bundle(**(told | values)), upload_id=f"{number:032x}")

    return check


@pytest.fixture
def counts(engine):
    def counts():
        with read_session(engine) as session:
            return false_alarms(session, 1)

    return counts


def test_a_red_check_of_unchanged_code_is_a_false_alarm(check, counts):
    check(1)
    check(2, ratio=1.3)

    assert counts() == (1, 2)


def test_a_change_is_no_false_alarm(check, counts):
    check(1, head=Revision(sha="d" * 40), ratio=1.3)

    assert counts() == (0, 0)


def test_a_workload_that_failed_said_nothing_false(check, counts):
    failure = Failure(workload="gpt:step", side=Side.HEAD, why=FailureReason.RAISED, detail="boom")
    check(1, failures=(failure,), runs=())

    assert counts() == (0, 1)


def test_the_pages_view_has_the_bound_and_none_without_such_a_check(engine, check):
    check(1, head=Revision(sha="d" * 40))
    with read_session(engine) as session:
        before = branch_view(session, project_named(session, "octo/models")).false_alarm_rate
    check(2)
    with read_session(engine) as session:
        after = branch_view(session, project_named(session, "octo/models")).false_alarm_rate

    assert before is None
    assert after == false_alarm_rate(false=0, checks=1)
