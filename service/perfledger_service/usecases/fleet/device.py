"""Lists the devices of a project, and sets and ends their quarantine."""

from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger_service.errors import ConflictError, NotFoundError, UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.store.database import is_storable, read_session, write_session
from perfledger_service.store.devices.canary_runs import device_views
from perfledger_service.store.devices.quarantines import (
    add_quarantine,
    device_for,
    devices_named,
    end_quarantine,
    open_quarantine,
    quarantines_of_upload,
)
from perfledger_service.store.fleet.machines import project_machines
from perfledger_service.store.jobs.runner_jobs import (
    ab_jobs_in_quarantine,
    failed_ab_jobs,
    retire_key,
    withdraw_waits,
)
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import Project, lock_project, project_named
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.service_views.devices import DeviceKey, DeviceList, Quarantine

MAX_WORDS = 300
MAX_NAMED = 3  # of the devices in quarantine, in a report


def devices_of_repository(engine: Engine, repository: str) -> DeviceList:
    """Return a project's devices with canaries or a quarantine; raise NotFoundError for none."""
    with read_session(engine) as session:
        project = project_named(session, repository)
        devices, left_out = device_views(session, project.id)
    return DeviceList(repository=project.repository, devices=devices, left_out=left_out)


def quarantine_sentence(session: Session, upload_id: str) -> str:
    """Return what an upload's report says about its devices' quarantine, "" for most uploads."""
    quarantines = quarantines_of_upload(session, upload_id)
    if not quarantines:
        return ""
    devices = {one.device.name: one for one in quarantines}
    named = ", ".join(_quarantine_words(one) for one in [*devices.values()][:MAX_NAMED])
    more = len(devices) - MAX_NAMED
    count = "a quarantined device" if len(devices) == 1 else f"{len(devices)} quarantined devices"
    return (
        f"measured on {count}: {named}{f' and {more} more' if more > 0 else ''}. Its pairs are "
        "compared with each other, and the history does not take them"
    )


def devices_used(bundle: Bundle) -> frozenset[tuple[str, str]]:
    """Return kind and name of each device that a bundle's runs used, and of a slice's whole GPU."""
    runs = {(run.device, run.devices, run.device_places): run for run in bundle.runs}
    machines = [bundle.machine.part_used_by(run) for run in runs.values()]
    return frozenset((one.device, name) for one in machines for name in one.occupied_names)


def quarantine_device(
    engine: Engine, project: Project, name: str, *, actor: Actor, reason: str, now: datetime
) -> None:
    """Put a device in quarantine until it is released; `actor` is who does so.

    Raises NotFoundError for no such device, ConflictError for one already in quarantine or a name
    that may be several devices, and UsageError without a reason.
    """
    words = _words(reason, "why the device is not to be measured on")
    with write_session(engine) as session:
        lock_project(session, project.id)
        key = _key_named(session, project, name)
        if not key.has_id:
            raise ConflictError(_identity_note(key))
        device_id = device_for(session, project.id, key)
        quarantine = open_quarantine(session, device_id)
        if quarantine is not None:
            msg = f"{clean(name)} is in quarantine since {quarantine.since:%Y-%m-%d %H:%M} UTC"
            raise ConflictError(msg)
        add_quarantine(session, device_id, reason=words, set_by=actor.name, since=now)
        add_audit_entry(
            session,
            AuditAction.QUARANTINE_DEVICE,
            actor,
            project_id=project.id,
            detail=f"{name}: {words}",
            now=now,
        )
        session.commit()


def release_device(
    engine: Engine, project: Project, name: str, *, actor: Actor, reason: str, now: datetime
) -> None:
    """End the quarantine of a device, whose own history starts over.

    Raises NotFoundError for no such device, ConflictError for one not in quarantine or for several
    with the name, and UsageError without a reason.
    """
    words = _words(reason, "why the device may be measured on again")
    with write_session(engine) as session:
        lock_project(session, project.id)
        device_id = device_for(session, project.id, _key_named(session, project, name))
        quarantine = open_quarantine(session, device_id)
        if quarantine is None:
            msg = f"{clean(name)} is in no quarantine: there is nothing to release"
            raise ConflictError(msg)
        end_quarantine(session, quarantine.id, reason=words, released_by=actor.name, now=now)
        withdraw_waits(session, project.id)
        failed_here = (  # the last attempt identified this device
            job for job in failed_ab_jobs(session, project.id) if clean(name) in job.reason
        )
        for job in (*failed_here, *ab_jobs_in_quarantine(session, project.id, quarantine.id)):
            retire_key(session, job)
        add_audit_entry(
            session,
            AuditAction.RELEASE_DEVICE,
            actor,
            project_id=project.id,
            detail=f"{name}: {words}",
            now=now,
        )
        session.commit()


def _quarantine_words(quarantine: Quarantine) -> str:
    return (
        f"{clean(quarantine.device.name)}, in quarantine from "
        f"{quarantine.since:%Y-%m-%d %H:%M} UTC ({clean(quarantine.reason, limit=MAX_WORDS)})"
    )


def _identity_note(key: DeviceKey) -> str:
    return (
        f"{clean(key.name)} may be several devices, since their runner could not identify them: "
        "docs/how-to/quarantine.md says what identifies a host"
    )


def _key_named(session: Session, project: Project, name: str) -> DeviceKey:
    """Return a device that has canaries, or that a newest check used."""
    keys: set[DeviceKey] = set()
    if is_storable(name):
        keys.update(devices_named(session, project.id, name))
    if not keys:
        machines, _ = project_machines(session, project.id)
        keys = {
            key
            for each in machines
            for key in DeviceKey.all_from_machine(each.newest)
            if key.name == name
        }
    if not keys:
        msg = f"{project.repository} has no device {clean(name)}: the page of machines names them"
        raise NotFoundError(msg)
    if len(keys) > 1:
        models = ", ".join(sorted(clean(key.class_start) for key in keys))
        msg = f"{clean(name)} is the name of several devices ({models}): give each an id"
        raise ConflictError(msg)
    return keys.pop()


def _words(reason: str, what: str) -> str:
    if not reason.strip():
        msg = f"say {what}: give a reason"
        raise UsageError(msg)
    return clean(reason, limit=MAX_WORDS)
