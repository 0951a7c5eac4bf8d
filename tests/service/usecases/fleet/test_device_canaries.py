"""Tests that canaries are compared within a project, and that a drift leads to quarantine."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.records import Device, FindingLevel, HostFinding, Machine
from perfledger_baselines.judging.device_drift import DriftState
from perfledger_service.errors import ConflictError, TooManyRequestsError
from perfledger_service.rendering.layout.writers import plain_lines, to_json, to_terminal
from perfledger_service.rendering.server.device import devices_document, reason_of
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices import quarantines
from perfledger_service.store.devices.canary_runs import device_views
from perfledger_service.store.devices.quarantines import open_quarantines
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.fleet import device_canaries
from perfledger_service.usecases.fleet.device import quarantine_device, release_device
from perfledger_service.usecases.fleet.device_canaries import store_canaries
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.service_views.devices import DeviceList
from tests.service.canary_bundles import GPU, a_canary_bundle

ALICE = Actor(name="alice")


class Canaries:
    """Runs of canaries, each in a bundle of its own, twelve hours apart."""

    def __init__(self, engine, now):
        self.engine, self.now, self.count = engine, now, 0

    def project(self, repository="octo/models"):
        with write_session(self.engine) as session:
            project = project_for(session, repository, now=self.now)
            session.commit()
        return project

    def bundle(self, **values):
        self.count += 1
        created_at = (self.now + timedelta(hours=12)).isoformat()
        return replace(a_canary_bundle(self.count, **values), created_at=created_at)

    def store(self, bundle=None, *, repository="octo/models", **values):
        bundle = bundle or self.bundle(**values)
        project = self.project(repository)
        self.now += timedelta(hours=12)
        with write_session(self.engine) as session:
            run = store_canaries(session, project, bundle, now=self.now)
            session.commit()
        return run

    def quarantines(self, repository="octo/models"):
        project = self.project(repository)
        with read_session(self.engine) as session:
            return open_quarantines(session, project.id)

    def views(self, repository="octo/models"):
        project = self.project(repository)
        with read_session(self.engine) as session:
            return device_views(session, project.id)[0]


@pytest.fixture
def canaries(any_engine, now):
    return Canaries(any_engine, now)


def gpu(place):
    return replace(GPU, uuid=f"GPU-{place}")


def test_a_device_without_a_history_is_unknown_and_says_what_settles_it(canaries):
    run = canaries.store()

    assert run.state is DriftState.UNKNOWN
    assert "0 of 5 earlier runs" in run.reason
    assert "5 more runs of canaries settle it, or those of siblings" in run.reason


def test_what_may_be_several_devices_has_neither_a_history_nor_a_quarantine(canaries):
    unknown = Machine(device=Device.CPU, model="Xeon", cpu_model="Xeon")
    for _ in range(7):
        canaries.store(machine=unknown)
    runs = [canaries.store(machine=unknown, speed=0.5) for _ in range(2)]

    assert {run.state for run in runs} == {DriftState.UNKNOWN}
    assert {run.rates[0].own_count for run in runs} == {0}
    assert "PERFLEDGER_HOST" in runs[0].reason
    assert canaries.quarantines() == ()


def test_processors_of_two_hosts_are_two_devices_and_a_new_kernel_makes_none(canaries):
    one = Machine(device=Device.CPU, model="Xeon", cpu_model="Xeon", cores=8, host="a1")
    other = replace(one, host="b2")
    for machine in (one, other):
        for _ in range(6):
            canaries.store(machine=machine)
    runs = []
    for _ in range(2):
        canaries.store(machine=replace(one, kernel="newer", cores=4))
        runs.append(canaries.store(machine=other, speed=0.9))

    assert runs[-1].state is DriftState.DRIFTING
    (quarantine,) = canaries.quarantines()
    assert quarantine.device.name == "Xeon of host b2"


def test_the_reason_of_a_quarantine_names_only_canaries_that_were_slower_twice(canaries):
    for _ in range(6):
        canaries.store()
    for first, second in ((1.0, 0.9), (0.5, 0.9)):
        bundle = canaries.bundle()
        readings = tuple(
            replace(one, rates=tuple(rate * speed for rate in one.rates))
            for one, speed in zip(bundle.canaries, (first, second), strict=True)
        )
        canaries.store(replace(bundle, canaries=readings))

    (quarantine,) = canaries.quarantines()
    assert quarantine.reason.startswith("memory_copy[mebibytes=1024] in torch is ")
    assert quarantine.reason.endswith("in 6 earlier runs; slower in the run before, too")
    assert "matmul" not in quarantine.reason


def test_only_canaries_that_were_measured_in_a_quarantine_speak_for_a_release(canaries):
    for _ in range(6):
        canaries.store()
    quarantine_device(
        canaries.engine, canaries.project(), "GPU-0", actor=ALICE, reason="a fan", now=canaries.now
    )
    (before,) = canaries.views()
    canaries.store()
    (after,) = canaries.views()

    assert "release it" not in reason_of(before)
    assert reason_of(after).endswith("show no drift: release it")


def test_two_slow_runs_in_a_row_quarantine_a_device_with_reason_and_audit(canaries):
    for _ in range(6):
        canaries.store()
    suspected = canaries.store(speed=0.7)
    assert canaries.quarantines() == ()
    drifting = canaries.store(speed=0.7)

    (quarantine,) = canaries.quarantines()
    assert (suspected.state, drifting.state) == (DriftState.SUSPECTED, DriftState.DRIFTING)
    assert "% slower than in 6 earlier runs" in quarantine.reason
    assert (quarantine.set_by, quarantine.since) == ("canaries", canaries.now)
    (entry,) = audit_log(canaries.engine, repository="octo/models", most=9)
    assert entry.action is AuditAction.QUARANTINE_DEVICE
    assert entry.detail == f"GPU-0: {quarantine.reason}"
    (view,) = canaries.views()
    assert view.quarantine == quarantine
    assert [len(each) for each in view.past] == [8, 8]


def test_one_slow_run_alone_does_no_harm_and_is_no_part_of_the_history(canaries):
    for _ in range(6):
        canaries.store()
    canaries.store(speed=0.7)

    steady = canaries.store()

    assert steady.state is DriftState.STEADY
    assert {rate.own_count for rate in steady.rates} == {6}
    assert canaries.quarantines() == ()


def test_a_device_that_was_always_slow_drifts_from_its_siblings(canaries):
    for place in range(1, 6):
        canaries.store(machine=gpu(place))
    _, run = (canaries.store(speed=0.7) for _ in range(2))

    assert run.state is DriftState.DRIFTING
    assert "slower than on 5 siblings" in run.reason
    assert [each.device.name for each in canaries.quarantines()] == ["GPU-0"]


@pytest.mark.slow
def test_another_model_framework_or_mig_is_no_sibling(canaries):
    for place in range(1, 6):
        machine = gpu(place)
        canaries.store(machine=replace(machine, model="NVIDIA A100"))
        canaries.store(machine=replace(machine, frameworks={"torch": "2.8"}))
        canaries.store(machine=replace(machine, mig="enabled"))

    assert {rate.sibling_count for rate in canaries.store().rates} == {0}


def test_devices_without_an_id_have_no_siblings(canaries):
    nameless = replace(GPU, uuid="")
    for place in range(1, 6):
        canaries.store(machine=gpu(place))

    run = canaries.store(machine=nameless)

    assert {rate.sibling_count for rate in run.rates} == {0}


def test_a_new_state_of_the_machine_begins_a_new_history(canaries):
    for _ in range(6):
        canaries.store()

    run = canaries.store(machine=replace(GPU, driver="another"), speed=0.7)

    assert run.state is DriftState.UNKNOWN


def test_a_busy_machine_says_nothing_and_is_no_part_of_the_history(canaries):
    busy = HostFinding(name="GPU", level=FindingLevel.BUSY, detail="another program")
    for _ in range(6):
        canaries.store()
    *_, run = (canaries.store(speed=0.5, findings=(busy,)) for _ in range(3))

    assert run.state is DriftState.UNKNOWN
    assert "other work ran (another program)" in run.reason
    assert canaries.quarantines() == ()
    assert {rate.own_count for rate in canaries.store().rates} == {6}


@pytest.mark.slow
def test_after_a_release_the_history_begins_anew(canaries):
    for _ in range(6):
        canaries.store()
    for _ in range(2):
        canaries.store(speed=0.7)
    release_device(
        canaries.engine, canaries.project(), "GPU-0", actor=ALICE, reason="mended", now=canaries.now
    )

    runs = [canaries.store(speed=0.7) for _ in range(6)]

    assert [run.state for run in runs] == [DriftState.UNKNOWN] * 5 + [DriftState.STEADY]
    assert canaries.quarantines() == ()


@pytest.mark.slow
def test_a_suspicion_before_a_release_confirms_nothing_after_it(canaries):
    for place in range(1, 6):
        canaries.store(machine=gpu(place))
    for _ in range(2):
        canaries.store(speed=0.7)
    release_device(
        canaries.engine, canaries.project(), "GPU-0", actor=ALICE, reason="mended", now=canaries.now
    )

    assert canaries.store(speed=0.7).state is DriftState.SUSPECTED
    assert canaries.store(speed=0.7).state is DriftState.DRIFTING


@pytest.mark.slow
def test_canaries_from_before_a_release_that_arrive_after_it_confirm_nothing(canaries):
    for place in range(1, 6):
        canaries.store(machine=gpu(place))
    late = [canaries.bundle(speed=0.7) for _ in range(2)]
    for _ in range(2):
        canaries.store(speed=0.7)
    release_device(
        canaries.engine, canaries.project(), "GPU-0", actor=ALICE, reason="mended", now=canaries.now
    )

    for bundle in late:
        assert canaries.store(bundle).state is DriftState.SUSPECTED
    assert canaries.quarantines() == ()
    assert canaries.store().state is DriftState.STEADY


def test_rates_of_any_size_are_judged_and_shown(canaries):
    for speed in (1e-300, 1e6, 1.0, 1e-300, 1e6, 1.0, 1e-300):
        canaries.store(speed=speed)

    document = devices_document(DeviceList(repository="octo/models", devices=canaries.views()))
    assert "nan" not in to_json(document)
    assert plain_lines(to_terminal(document))


@pytest.mark.slow
def test_canaries_of_another_project_say_nothing_of_this_one(canaries):
    for _ in range(6):
        canaries.store()
    for _ in range(9):
        canaries.store(repository="evil/fork", speed=0.01)
    for place in range(1, 6):
        canaries.store(repository="evil/fork", machine=gpu(place), speed=100.0)

    run = canaries.store()

    assert run.state is DriftState.STEADY
    assert {(rate.own_count, rate.sibling_count) for rate in run.rates} == {(6, 0)}
    assert canaries.quarantines() == ()


def test_the_same_bundle_is_stored_once(canaries):
    bundle = canaries.bundle()

    assert canaries.store(bundle) == canaries.store(bundle)
    (view,) = canaries.views()
    assert [len(each) for each in view.past] == [1, 1]


def test_a_flood_of_canaries_and_of_devices_is_refused(canaries, monkeypatch):
    monkeypatch.setattr(device_canaries, "MAX_RUNS", 1)
    monkeypatch.setattr(device_canaries, "QUOTA_PERIOD", timedelta(days=1))
    canaries.store()
    with pytest.raises(TooManyRequestsError, match="within an hour"):
        canaries.store()

    monkeypatch.setattr(quarantines, "MAX_DEVICES", 1)
    with pytest.raises(ConflictError, match="1 devices, the limit"):  # a runner does not wait
        canaries.store(machine=gpu(1))
