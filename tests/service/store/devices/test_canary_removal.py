"""Tests that old canaries go, and that none goes which a device is compared with."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlmodel import select

from perfledger.records import FindingLevel, HostFinding
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices import canary_removal, canary_runs
from perfledger_service.store.devices.canary_removal import (
    removable_canary_runs,
    remove_canary_runs,
)
from perfledger_service.store.devices.canary_runs import own_rates, sibling_rates
from perfledger_service.store.devices.tables import CanaryRateRow, CanaryRunRow
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.fleet.device import release_device
from perfledger_service.usecases.fleet.device_canaries import store_canaries
from perfledger_service.values.people.person import Actor
from tests.service.canary_bundles import GPU, a_canary_bundle

BUSY = HostFinding(name="load", level=FindingLevel.BUSY, detail="a compiler ran")


@pytest.fixture
def store(any_engine, now, monkeypatch):
    """Store a run of canaries, each an hour after the one before; few runs are needed."""
    for module in (canary_runs, canary_removal):
        monkeypatch.setattr(module, "MAX_EARLIER", 6)
        monkeypatch.setattr(module, "RUNS_OF_SIBLING", 2)
        monkeypatch.setattr(module, "MAX_PAST", 3)
    times = iter(now + timedelta(hours=hour) for hour in range(10_000))

    def store(number, **values):
        moment = next(times)
        bundle = replace(a_canary_bundle(number, **values), created_at=moment.isoformat())
        with write_session(any_engine) as session:
            project = project_for(session, "octo/models", now=moment)
            store_canaries(session, project, bundle, now=moment)
            session.commit()
        return moment

    return store


@pytest.fixture
def removable(any_engine, now):
    def removable(*, before=now + timedelta(days=999)):
        with read_session(any_engine) as session:
            return removable_canary_runs(session, before=before)

    return removable


@pytest.mark.slow(ci_only=True)
def test_the_first_runs_of_each_state_and_the_newest_stay(store, removable):
    moments = [store(number) for number in range(1, 13)]
    for number in range(13, 25):
        store(number, machine=replace(GPU, kernel="newer"))

    assert removable() == (*range(7, 13), *range(19, 22))
    assert removable(before=moments[-1]) == (*range(7, 12),)


def test_what_says_nothing_goes_but_the_newest_that_does_stays(store, removable):
    store(1)
    for number in range(2, 9):
        store(number, findings=(BUSY,))

    assert removable() == (2, 3, 4, 5)


@pytest.mark.slow(ci_only=True)
def test_runs_before_a_release_take_no_place_of_those_after_it(store, removable, any_engine, now):
    for number in range(1, 9):
        store(number)
    store(9, speed=0.8)
    moment = store(10, speed=0.8)  # which begins the quarantine
    with read_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
    actor = Actor(name="alice")
    release_device(any_engine, project, "GPU-0", actor=actor, reason="mended", now=moment)
    for number in range(11, 22):
        store(number)

    assert removable() == (7, 8, 9, 17, 18)


@pytest.mark.slow(ci_only=True)
def test_a_device_is_compared_with_the_same_after_the_removal(store, removable, any_engine):
    for number in range(1, 15):
        store(number)
        store(100 + number, machine=replace(GPU, uuid="GPU-1"))

    def comparison():
        with read_session(any_engine) as session:
            epoch = session.exec(select(CanaryRunRow.epoch).limit(1)).one()
            return [
                (own_rates(session, one, epoch=epoch), sibling_rates(session, one))
                for one in (1, 2)
            ]

    before = comparison()
    ids = removable()
    with write_session(any_engine) as session:
        remove_canary_runs(session, ids)
        session.commit()

    assert len(ids) == 2 * (14 - 6 - 3)
    assert comparison() == before
    assert removable() == ()
    with read_session(any_engine) as session:
        runs = set(session.exec(select(CanaryRateRow.run_id)))
        assert runs == set(session.exec(select(CanaryRunRow.id)))
