"""Tests that quarantines are of one project's devices, and are kept after they ended."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger_service.errors import ConflictError
from perfledger_service.store.database import write_session
from perfledger_service.store.devices import quarantines
from perfledger_service.store.devices.quarantines import (
    add_quarantine,
    device_for,
    devices_named,
    end_quarantine,
    find_device,
    last_release,
    open_quarantine,
    open_quarantines,
)
from perfledger_service.store.projects import project_for
from perfledger_service.values.service_views.devices import DeviceKey

KEY = DeviceKey(device="cuda", model="NVIDIA H100", name="GPU-0", has_id=True)


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


@pytest.fixture
def project_id(session, now):
    return project_for(session, "octo/models", now=now).id


def test_a_device_is_one_by_kind_model_and_name_whatever_their_length(session, project_id):
    long = replace(KEY, name="x" * 5000)
    first, same, other = (
        device_for(session, project_id, key)
        for key in (long, long, replace(long, model="NVIDIA A100"))
    )

    assert first == same != other
    assert find_device(session, project_id, KEY) is None
    assert devices_named(session, project_id, long.name) == (
        long,
        replace(long, model="NVIDIA A100"),
    )


def test_a_project_has_only_so_many_devices(session, project_id, monkeypatch):
    monkeypatch.setattr(quarantines, "MAX_DEVICES", 1)
    device_for(session, project_id, KEY)

    device_for(session, project_id, KEY)
    with pytest.raises(ConflictError, match="already has 1 devices, the limit"):
        device_for(session, project_id, replace(KEY, name="GPU-1"))


def test_a_quarantine_is_of_its_projects_device(session, project_id, now):
    other_id = project_for(session, "octo/other", now=now).id
    device, namesake = (device_for(session, one, KEY) for one in (project_id, other_id))
    add_quarantine(session, device, reason="slow", set_by="alice", since=now)

    (quarantine,) = open_quarantines(session, project_id)
    assert (quarantine.device, quarantine.reason, quarantine.since) == (KEY, "slow", now)
    assert open_quarantine(session, device) == quarantine
    assert open_quarantine(session, namesake) is None
    assert open_quarantines(session, other_id) == ()


def test_the_last_release_is_that_of_the_newest_quarantine(session, project_id, now):
    device = device_for(session, project_id, KEY)
    assert last_release(session, device) is None
    for days in (1, 2):
        add_quarantine(session, device, reason="slow", set_by="alice", since=now)
        quarantine = open_quarantine(session, device)
        end = now + timedelta(days=days)
        end_quarantine(session, quarantine.id, reason="mended", released_by="bob", now=end)

    assert last_release(session, device) == now + timedelta(days=2)
    assert open_quarantines(session, project_id) == ()
