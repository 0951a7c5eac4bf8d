"""What stored checks tell of their gate: false alarms, doubt, what they find, what they cost."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfledger.bundle import Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason, Revision, Side
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.gate_checks import gate_uploads, stored_gates, undecided_checks
from perfledger_service.store.retention.upload_removal import remove_part
from perfledger_service.store.uploads import verdicts_of
from perfledger_service.values.storage.retention import UploadPart

SAME = Revision(sha="c" * 40)
OTHER = Revision(sha="d" * 40)
LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def check(engine, judged, make_bundle, now):
    def check(number, at=now, **values):
        usual = {
            "base": SAME,
            "head": SAME,
            "pull_request": None,
            "pairs": 4,
            "samples": 2,
            "ratio": 1.0,
            "plan": Plan(seed=1, order=("base",) * 4, looks=(4,)),
            "seed": number,
        }
        bundle = make_bundle(**(usual | values))
        return judged(engine, bundle, upload_id=f"{number:032x}", now=at)

    return check


@pytest.fixture
def gates(engine):
    def gates():
        with read_session(engine) as session:
            return stored_gates(session, gate_uploads(session, 1))

    return gates


def test_a_project_without_checks_has_no_gate(gates):
    assert gates() == ()


def test_a_red_check_of_unchanged_code_is_a_false_alarm(check, gates):
    check(1)
    check(2, ratio=1.3)

    (gate,) = gates()

    assert sorted(each.is_false_alarm for each in gate.checks) == [False, True]


def test_a_change_is_no_false_alarm(check, gates):
    check(1, head=OTHER, ratio=1.3)

    (gate,) = gates()

    assert [each.is_false_alarm for each in gate.checks] == [None]
    assert [each.is_shadow_false_alarm for each in gate.checks] == [None]


def test_a_workload_that_failed_is_no_false_alarm(check, gates):
    failure = Failure(workload="gpt:step", side=Side.HEAD, why=FailureReason.RAISED, detail="boom")
    check(1, failures=(failure,), runs=())

    (gate,) = gates()

    assert [each.is_false_alarm for each in gate.checks] == [False]
    assert gate.checks[0].detectable == ()


def test_a_check_has_its_shadow_its_time_and_what_it_finds(check, gates, engine):
    upload = check(1, head=OTHER, held_s=90.0)

    (gate,) = gates()
    (each,) = gate.checks

    assert each.held_s == 90.0
    assert each.is_shadow_false_alarm is False
    with read_session(engine) as session:
        verdict = next(one for one in verdicts_of(session, upload.id) if one.metric == STEP_TIME)
    (detectable,) = (one for one in each.detectable if one.metric == STEP_TIME.name)
    assert detectable.workload == verdict.workload
    assert detectable.change == verdict.estimate.smallest_detectable
    assert detectable.pairs == 4


def test_a_check_whose_workloads_were_skipped_tells_nothing(check, gates, engine):
    check(1, skipped={"gpt:step": "same code"}, same_code=("gpt:step",), runs=())
    assert gates() == ()

    measured = check(2)
    (gate,) = gates()
    assert len(gate.checks) == 1
    with read_session(engine) as session:
        later = replace(measured, id="3" * 32, created_at=LATER)
        assert undecided_checks(session, later)[1] == 1


def test_each_machine_class_is_a_gate(check, gates, make_bundle):
    other = make_bundle().machine
    check(1)
    check(2, machine=type(other)(device=other.device, model="Another CPU"))

    names = [gate.machine_class for gate in gates()]

    assert len(names) == 2
    assert names == sorted(names)


def test_undecided_checks_are_counted_by_machine_class_and_time(check, engine):
    too_fine = Plan(seed=1, order=("base",) * 4, looks=(4,), margin=0.0001, floor=0.0001)
    check(1, head=OTHER)
    upload = replace(check(2, head=OTHER, plan=too_fine), id="3" * 32, created_at=LATER)
    earlier = replace(upload, created_at=LATER - timedelta(days=40_000))
    elsewhere_upload = replace(upload, machine_class="cuda:H100:1")

    with read_session(engine) as session:
        counts = [undecided_checks(session, one) for one in (upload, earlier, elsewhere_upload)]

    assert counts == [(1, 2), (0, 0), (0, 0)]


def test_what_was_before_a_check_is_counted_once_as_it_is_judged(engine, check, now):
    too_fine = Plan(seed=1, order=("base",) * 4, looks=(4,), margin=0.0001, floor=0.0001)
    first = check(1, head=OTHER, plan=too_fine, at=now - timedelta(days=1))
    second = check(2, head=OTHER)
    with write_session(engine) as session:
        removal = {"removed_at": now, "kept_days": 90}
        remove_part(session, UploadPart.RESULTS, [first.id], **removal)
        session.commit()

    with read_session(engine) as session:
        assert undecided_checks(session, second) == (1, 1)
