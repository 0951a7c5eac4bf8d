"""Tests that people quarantine and release devices, with a reason that is kept."""

from dataclasses import replace

import pytest

from perfledger.records import Device, Machine
from perfledger_service.errors import ConflictError, NotFoundError, UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices.quarantines import open_quarantines
from perfledger_service.store.projects import project_for, project_named
from perfledger_service.usecases.fleet.device_canaries import store_canaries
from perfledger_service.usecases.fleet.quarantine import (
    MAX_WORDS,
    devices_of_repository,
    quarantine_device,
    release_device,
)
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.values.people.person import Actor, AuditAction
from tests.service.canary_bundles import GPU, a_canary_bundle

# A byte that is no UTF-8, as a command's arguments have it; half a pair; controls.
HOSTILE = ("GPU-\udcff", "\ud800", "\x1b[2J", "\r\n", "\u202e")
ALICE = Actor(name="alice", address="192.0.2.1")


@pytest.fixture
def engine(any_engine):
    return any_engine


@pytest.fixture
def project(engine, now):
    with write_session(engine) as session:
        project = project_for(session, "octo/models", now=now)
        store_canaries(session, project, a_canary_bundle(1), now=now)
        session.commit()
    return project


@pytest.fixture
def decide(engine, project, now):
    def decide(decision, name="GPU-0", reason="its fan", project=project):
        decision(engine, project, name, actor=ALICE, reason=reason, now=now)

    return decide


def names(engine, project):
    with read_session(engine) as session:
        return [each.device.name for each in open_quarantines(session, project.id)]


def test_a_device_is_quarantined_and_released_with_reasons_in_the_audit_log(
    engine, project, decide, now
):
    decide(quarantine_device)
    (device,) = devices_of_repository(engine, "octo/models").devices
    assert (device.quarantine.reason, device.quarantine.set_by) == ("its fan", "alice")
    assert device.quarantine.since == now

    decide(release_device, reason="a new fan")
    assert names(engine, project) == []
    released, quarantined = audit_log(engine, repository="octo/models", most=9)
    assert (quarantined.action, quarantined.detail) == (
        AuditAction.QUARANTINE_DEVICE,
        "GPU-0: its fan",
    )
    assert (released.action, released.detail) == (AuditAction.RELEASE_DEVICE, "GPU-0: a new fan")
    assert released.address == "192.0.2.1"


def test_a_device_that_only_checks_used_is_quarantined_by_the_name_of_its_machine(
    engine, judged, make_bundle, decide
):
    judged(engine, make_bundle())
    with read_session(engine) as session:
        project = project_named(session, "octo/models")

    decide(quarantine_device, "Test CPU, 1 cores", project=project)

    assert names(engine, project) == ["Test CPU, 1 cores"]


@pytest.mark.parametrize("decision", [quarantine_device, release_device])
def test_no_reason_and_no_device_are_refused(decide, decision):
    with pytest.raises(UsageError, match="give a reason"):
        decide(decision, reason=" \t")
    names = ("", "GPU-9", "a\0b", "GPU-0\0", "x" * 10_000, "'; DROP TABLE device; --")
    for name in (*names, *HOSTILE):
        with pytest.raises(NotFoundError, match="has no device"):
            decide(decision, name)


def test_a_second_quarantine_and_a_release_without_one_are_conflicts(decide):
    with pytest.raises(ConflictError, match="in no quarantine"):
        decide(release_device)
    decide(quarantine_device)
    with pytest.raises(ConflictError, match="in quarantine since 2026-11-20"):
        decide(quarantine_device)


def test_a_long_reason_with_control_characters_is_cut_and_cleaned(engine, decide):
    decide(quarantine_device, reason="a\x1b[31m" + "b" * 10_000)

    (device,) = devices_of_repository(engine, "octo/models").devices
    assert len(device.quarantine.reason) <= MAX_WORDS
    assert "\x1b" not in device.quarantine.reason


def test_a_device_of_another_project_is_none_of_ours(engine, decide, now):
    with write_session(engine) as session:
        other = project_for(session, "octo/other", now=now)
        session.commit()

    with pytest.raises(NotFoundError, match="octo/other has no device GPU-0"):
        decide(quarantine_device, project=other)
    assert devices_of_repository(engine, "octo/other").devices == ()


def test_one_name_of_two_devices_is_ambiguous(engine, project, decide, now):
    twin = a_canary_bundle(2, machine=replace(GPU, model="NVIDIA A100"))
    with write_session(engine) as session:
        store_canaries(session, project, twin, now=now)
        session.commit()

    with pytest.raises(ConflictError, match="several devices"):
        decide(quarantine_device)


def test_devices_without_an_id_are_told_apart_by_model_and_host():
    machine = Machine(device=Device.TPU, model="TPU v4", cpu_model="AMD EPYC", cores=120)

    assert machine.device_name == "TPU v4 on AMD EPYC, 120 cores"
    assert replace(machine, uuid="id").device_name == "id"
    assert replace(machine, model="AMD EPYC").device_name == "AMD EPYC, 120 cores"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_reason_and_a_project_of_bad_bytes_are_cleaned_or_refused(engine, decide, text):
    decide(quarantine_device, reason=f"its fan{text}")

    (device,) = devices_of_repository(engine, "octo/models").devices
    assert device.quarantine.reason.isprintable()
    with pytest.raises(NotFoundError, match="is not a project"):
        devices_of_repository(engine, text)
