from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfledger.metrics import CPU_ACTIVE
from perfledger.records import Device, Machine, Revision, Side
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.fleet.device_utilization import stored_utilization
from perfledger_service.store.uploads import set_status, upload_by_id
from perfledger_service.usecases.uploads.reports import bundle_of
from perfledger_service.values.upload_views import UploadStatus

OTHER_TOKEN = "pl_4567cdef_" + "t" * 43


@pytest.fixture
def check(any_engine, judged_on_branch, make_bundle):
    """Store a check whose processes of the base each read these shares of active cores."""

    def check(number, readings=(0.25, 0.5), **values):
        plain_bundle = make_bundle(seed=number, pairs=2, samples=2)
        runs = tuple(
            replace(
                run,
                samples=run.samples
                | {CPU_ACTIVE.name: readings if run.side is Side.BASE else (0.75,)},
            )
            for run in plain_bundle.runs
        )
        fields = {"metrics": (*plain_bundle.metrics, CPU_ACTIVE), "runs": runs}
        placed = {name: values.pop(name) for name in ("token",) if name in values}
        bundle = replace(plain_bundle, **fields | values)
        return judged_on_branch(any_engine, bundle, upload_id=f"{number:032x}", **placed)

    return check


@pytest.fixture
def stored(any_engine):
    def stored():
        with read_session(any_engine) as session:
            return stored_utilization(session)

    return stored


def later(hours):
    """Return a time after that of the other bundles."""
    return (datetime(2026, 11, 20, 11, tzinfo=UTC) + timedelta(hours=hours)).isoformat()


def test_a_check_without_activity_tells_of_none(any_engine, judged_on_branch, make_bundle, stored):
    judged_on_branch(any_engine, make_bundle())

    assert stored() == ()


def test_a_workloads_utilization_is_that_of_the_base_with_every_reading(check, stored):
    upload = check(1)

    (utilization,) = stored()

    assert (utilization.repository, utilization.workload) == ("octo/models", "gpt:step")
    assert utilization.machine_class == "cpu:Test CPU:1"
    assert utilization.readings == (0.25, 0.5, 0.25, 0.5)
    assert (utilization.upload_id, utilization.bundle_sha256) == (upload.id, upload.bundle_sha256)


def test_the_newest_commit_counts_and_of_one_commit_its_newest_check(check, stored):
    check(1, readings=(0.125,))
    newer = {"base": Revision(sha="c" * 40), "head": Revision(sha="d" * 40)}
    check(2, readings=(0.25,), created_at=later(2), **newer)
    check(3, readings=(0.5,), created_at=later(1), **newer)
    check(4, readings=(0.75,), created_at=later(3))

    (utilization,) = stored()

    assert utilization.readings == (0.25, 0.25)


@pytest.mark.parametrize("status", [UploadStatus.REFUSED, UploadStatus.FAILED])
def test_a_check_that_does_not_count_is_passed_over(any_engine, check, stored, status):
    check(1, readings=(0.125,))
    refused = check(2, readings=(0.5,), created_at=later(1))
    with write_session(any_engine) as session:
        set_status(session, refused.id, status)
        session.commit()

    (utilization,) = stored()

    assert utilization.readings == (0.125, 0.125)


def test_each_repository_workload_and_class_of_machine_has_its_own_in_their_order(check, stored):
    other = Machine(device=Device.CPU, model="Another CPU")
    check(1, repository="octo/other", token=OTHER_TOKEN)
    check(2)
    check(3, machine=other)

    assert [(each.repository, each.machine_class) for each in stored()] == [
        ("octo/models", "cpu:Another CPU:1"),
        ("octo/models", "cpu:Test CPU:1"),
        ("octo/other", "cpu:Test CPU:1"),
    ]


def test_a_commit_that_only_its_bundle_claims_does_not_count(any_engine, judged, check, stored):
    check(1, readings=(0.125,))
    claimed = replace(read_bundle_of(any_engine), base=Revision(sha="c" * 40), id="f" * 32)
    judged(any_engine, claimed, upload_id="9" * 32)

    (utilization,) = stored()

    assert utilization.readings == (0.125, 0.125)


def test_a_run_that_is_not_believed_does_not_count(any_engine, check, mark_untrusted, stored):
    check(1, readings=(0.125,))
    mark_untrusted(any_engine, check(2, readings=(0.5,), created_at=later(1)))

    (utilization,) = stored()

    assert utilization.readings == (0.125, 0.125)


def read_bundle_of(engine):
    """Return the bundle of the first check."""
    with read_session(engine) as session:
        return bundle_of(session, upload_by_id(session, f"{1:032x}"))
