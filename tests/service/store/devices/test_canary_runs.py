"""Tests which runs of canaries a new one is compared with."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger_baselines.judging.device_drift import DriftState
from perfledger_service.store.database import write_session
from perfledger_service.store.devices import canary_runs
from perfledger_service.store.devices.canary_runs import (
    add_run,
    count_runs,
    device_views,
    newest_run,
    own_rates,
    rate_key,
    sibling_rates,
    stored_run,
)
from perfledger_service.store.devices.quarantines import (
    add_quarantine,
    device_for,
    end_quarantine,
    open_quarantine,
)
from perfledger_service.store.projects import project_for
from perfledger_service.values.service_views.devices import CanaryRate, CanaryRun, DeviceKey

KEY = DeviceKey(device="cuda", model="NVIDIA H100", name="GPU-0", has_id=True)
RATE = CanaryRate(
    name="matmul", framework="torch", setting="2.9", unit="FLOP", processes=3, per_second=1e12
)


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


@pytest.fixture
def project_id(session, now):
    return project_for(session, "octo/models", now=now).id


@pytest.fixture
def device(session, project_id):
    def device(place=0, **values):
        return device_for(session, project_id, replace(KEY, name=f"GPU-{place}", **values))

    return device


@pytest.fixture
def add(session, now):
    """Add a run with one rate; each is an hour after the one before."""
    count = iter(range(1000))

    def add(device_id, per_second=1e12, **values):
        number = next(count)
        run = CanaryRun(
            bundle_id=f"{number:032x}",
            epoch="driver 570",
            is_disturbed=False,
            state=DriftState.STEADY,
            reason="",
            measured_at=now + timedelta(hours=number),
            stored_at=now + timedelta(hours=number),
            rates=(replace(RATE, per_second=per_second),),
        )
        run = replace(run, **values)
        add_run(session, device_id, run)
        return run

    return add


def values(rates):
    return rates.get(rate_key(RATE), [])


def test_a_run_is_read_as_it_was_stored(session, device, add):
    run = add(device())

    assert stored_run(session, device(), run.bundle_id) == run
    assert stored_run(session, device(1), run.bundle_id) is None
    assert newest_run(session, device()) == run
    assert newest_run(session, device(1)) is None


def test_the_history_is_the_first_accepted_runs_of_a_state(session, device, add, monkeypatch):
    monkeypatch.setattr(canary_runs, "MAX_EARLIER", 2)
    add(device(), 1.0, is_disturbed=True)
    add(device(), 2.0, state=DriftState.SUSPECTED)
    add(device(), 3.0, state=DriftState.DRIFTING)
    add(device(), 4.0, epoch="driver 580")
    add(device(), 5.0, state=DriftState.UNKNOWN)
    for per_second in (6.0, 7.0):
        add(device(), per_second)
    add(device(1), 8.0)

    assert values(own_rates(session, device(), epoch="driver 570")) == [5.0, 6.0]


def test_the_history_begins_anew_after_a_release(session, device, add, now):
    add(device(), 1.0)
    add_quarantine(session, device(), reason="slow", set_by="alice", since=now)
    quarantine = open_quarantine(session, device())
    released_at = now + timedelta(minutes=30)
    end_quarantine(session, quarantine.id, reason="mended", released_by="alice", now=released_at)
    add(device(), 2.0)

    assert values(own_rates(session, device(), epoch="driver 570")) == [2.0]


def test_each_sibling_has_the_median_of_its_newest_accepted_runs(session, device, add, now):
    add(device(), 1.0)
    for per_second in (100.0, 2.0, 2.0, 9.0, 2.0, 2.0):  # the first is the sixth newest
        add(device(1), per_second)
    add(device(2), 3.0)
    add(device(2), 50.0, state=DriftState.SUSPECTED)
    add(device(2), 50.0, is_disturbed=True)
    add(device(3), 4.0)
    add_quarantine(session, device(3), reason="slow", set_by="alice", since=now)
    add(device(4, has_id=False), 5.0)
    add(device(5, model="NVIDIA A100"), 6.0)

    assert sorted(values(sibling_rates(session, device()))) == [2.0, 3.0]
    assert values(sibling_rates(session, device(4))) == []
    assert sibling_rates(session, 999) == {}


def test_devices_are_listed_with_those_in_quarantine_first(
    session, project_id, device, add, monkeypatch
):
    monkeypatch.setattr(canary_runs, "MAX_PAST", 2)
    for per_second in (1.0, 2.0, 3.0):
        add(device(), per_second)
    since = add(device(2)).stored_at
    add_quarantine(session, device(1), reason="slow", set_by="alice", since=since)

    (first, second, _), left_out = device_views(session, project_id)

    assert (first.key.name, first.newest, first.quarantine.reason) == ("GPU-1", None, "slow")
    assert (second.key.name, second.past, second.quarantine) == ("GPU-0", ((2.0, 3.0),), None)
    assert left_out == 0
    monkeypatch.setattr(canary_runs, "MAX_DEVICES", 1)
    (only,), left_out = device_views(session, project_id)
    assert (only.key.name, left_out) == ("GPU-1", 2)


def test_runs_are_counted_by_project(session, project_id, device, add, now):
    add(device())
    add(device(1))
    other = project_for(session, "octo/other", now=now)

    assert count_runs(session, project_id, since=now) == 2
    assert count_runs(session, project_id, since=now + timedelta(minutes=1)) == 1
    assert count_runs(session, other.id, since=now) == 0
