"""Tests that people quarantine and release devices, with a reason that is kept."""

from dataclasses import replace

import pytest

from perfledger.records import Device, Machine
from perfledger_service.errors import ConflictError, NotFoundError, UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices.quarantines import open_quarantines
from perfledger_service.store.projects import project_for, project_named
from perfledger_service.usecases.fleet.device import (
    MAX_WORDS,
    devices_of_repository,
    devices_used,
    quarantine_device,
    release_device,
)
from perfledger_service.usecases.fleet.device_canaries import store_canaries
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.service_views.devices import DeviceKey
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
    bundle = make_bundle()
    judged(engine, replace(bundle, machine=replace(bundle.machine, host="a1")))
    with read_session(engine) as session:
        project = project_named(session, "octo/models")

    decide(quarantine_device, "Test CPU of host a1", project=project)

    assert names(engine, project) == ["Test CPU of host a1"]


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
    machine = Machine(device=Device.TPU, model="TPU v4", cpu_model="AMD EPYC", cores=120, host="a1")

    assert machine.device_name == "TPU v4 of host a1"
    assert replace(machine, kernel="newer", cores=8).device_name == machine.device_name
    assert replace(machine, host="b2").device_name == "TPU v4 of host b2"
    assert replace(machine, uuid="id").device_name == "id"
    unknown = replace(machine, host="")
    assert unknown.device_name == "TPU v4 on AMD EPYC, 120 cores, unknown host"
    assert not unknown.is_identified
    gpu = replace(machine, device=Device.CUDA)
    assert gpu.device_name == "TPU v4 on AMD EPYC, 120 cores, unknown device"
    assert not gpu.is_identified


def test_what_may_be_several_devices_is_in_no_quarantine(engine, project, decide, now):
    cpu = Machine(device=Device.CPU, model="Xeon", cpu_model="Xeon", cores=8)
    with write_session(engine) as session:
        store_canaries(session, project, a_canary_bundle(7, machine=cpu), now=now)
        session.commit()

    with pytest.raises(ConflictError, match="may be several devices"):
        decide(quarantine_device, cpu.device_name)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({}, {"GPU-0"}),
        ({"device_places": (3,)}, {"GPU-3"}),
        ({"devices": 2}, {"GPU-0", "GPU-1"}),
        ({"devices": 2, "device_places": (1, 3)}, {"GPU-1", "GPU-3"}),
        ({"devices": 8}, {"GPU-0", "GPU-1", "GPU-2", "GPU-3"}),  # as many as are known
        ({"device_places": (9,)}, {"NVIDIA H100 on Xeon, 8 cores, unknown device"}),
        ({"device": Device.CPU}, {"Xeon of host a1"}),
    ],
)
def test_a_run_is_of_the_devices_that_it_used(make_bundle, run, expected):
    gpus = replace(
        GPU,
        count=4,
        more_uuids=("GPU-1", "GPU-2", "GPU-3"),
        cpu_model="Xeon",
        host="a1",
    )
    bundle = make_bundle()
    values = {"device": Device.CUDA} | run
    runs = tuple(replace(one, **values) for one in bundle.runs)

    used = devices_used(replace(bundle, machine=gpus, runs=runs))

    assert {name for _, name in used} == expected


def test_a_slice_is_used_with_its_gpu():
    piece = replace(GPU, model="NVIDIA A100 MIG 1g.5gb", uuid="MIG-1", parent_uuid="GPU-0")

    keys = DeviceKey.all_from_machine(piece)

    assert [(key.name, key.model) for key in keys] == [
        ("MIG-1", "NVIDIA A100 MIG 1g.5gb"),
        ("GPU-0", "NVIDIA A100"),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_reason_and_a_project_of_bad_bytes_are_cleaned_or_refused(engine, decide, text):
    decide(quarantine_device, reason=f"its fan{text}")

    (device,) = devices_of_repository(engine, "octo/models").devices
    assert device.quarantine.reason.isprintable()
    with pytest.raises(NotFoundError, match="is not a project"):
        devices_of_repository(engine, text)
