"""Stores which devices of a project are in quarantine, and the uploads measured on them."""

from collections.abc import Collection
from datetime import datetime
from hashlib import sha256

from sqlalchemy import func, update
from sqlmodel import Session, col, select

from perfledger_service.errors import ConflictError
from perfledger_service.store.devices.tables import (
    ProjectDeviceRow,
    QuarantinedUploadRow,
    QuarantineRow,
)
from perfledger_service.store.tables import add_if_new
from perfledger_service.values.service_views.devices import DeviceKey, Quarantine

MAX_DEVICES = 5000  # of a project: a bundle names its device, and none is forgotten


def device_for(session: Session, project_id: int, key: DeviceKey) -> int:
    """Return the number of a project's device, which is added if it is new.

    The caller holds the project's lock. Raises ConflictError if there are too many: a runner asked
    to wait would send its result again for ever.
    """
    device_id = find_device(session, project_id, key)
    if device_id is not None:
        return device_id
    of_project = select(func.count()).where(col(ProjectDeviceRow.project_id) == project_id)
    if session.exec(of_project).one() >= MAX_DEVICES:
        msg = (
            f"this project already has {MAX_DEVICES} devices, the limit: give a machine that is "
            "set up again the PERFLEDGER_HOST of the one that it replaces"
        )
        raise ConflictError(msg)
    row = ProjectDeviceRow(
        project_id=project_id,
        key=_digest(key),
        device=key.device,
        model=key.model,
        name=key.name,
        has_id=key.has_id,
    )
    session.add(row)
    session.flush()
    return row.id or 0


def find_device(session: Session, project_id: int, key: DeviceKey) -> int | None:
    """Return the number of a project's device, None if it has no canaries and no quarantine."""
    query = select(ProjectDeviceRow.id).where(
        col(ProjectDeviceRow.project_id) == project_id, col(ProjectDeviceRow.key) == _digest(key)
    )
    return session.exec(query).first()


def devices_named(session: Session, project_id: int, name: str) -> tuple[DeviceKey, ...]:
    """Return a project's devices with this name, of different kinds or models."""
    rows = session.exec(
        select(ProjectDeviceRow)
        .where(col(ProjectDeviceRow.project_id) == project_id, col(ProjectDeviceRow.name) == name)
        .order_by(col(ProjectDeviceRow.id))
    )
    return tuple(map(key_of, rows))


def open_quarantines(session: Session, project_id: int) -> tuple[Quarantine, ...]:
    """Return a project's current quarantines, oldest first."""
    rows = session.exec(
        select(QuarantineRow, ProjectDeviceRow)
        .join(ProjectDeviceRow)
        .where(
            col(ProjectDeviceRow.project_id) == project_id, col(QuarantineRow.released_at).is_(None)
        )
        .order_by(col(QuarantineRow.since), col(QuarantineRow.id))
    )
    return tuple(_quarantine(row, device) for row, device in rows)


def open_quarantine(session: Session, device_id: int) -> Quarantine | None:
    """Return a device's current quarantine, None if there is none."""
    rows = session.exec(
        select(QuarantineRow, ProjectDeviceRow)
        .join(ProjectDeviceRow)
        .where(col(QuarantineRow.device_id) == device_id, col(QuarantineRow.released_at).is_(None))
    )
    return next((_quarantine(row, device) for row, device in rows), None)


def add_quarantine(
    session: Session,
    device_id: int,
    *,
    reason: str,
    set_by: str,
    since: datetime,
    canary_run_id: int | None = None,
) -> None:
    """Begin the quarantine of a device that is not in one; the caller holds the project's lock."""
    session.add(
        QuarantineRow(
            device_id=device_id,
            canary_run_id=canary_run_id,
            reason=reason,
            set_by=set_by,
            since=since,
        )
    )
    session.flush()


def end_quarantine(
    session: Session, quarantine_id: int, *, reason: str, released_by: str, now: datetime
) -> None:
    """End a quarantine."""
    session.exec(
        update(QuarantineRow)
        .where(col(QuarantineRow.id) == quarantine_id)
        .values(released_at=now, released_by=released_by, release_reason=reason)
    )


def last_release(session: Session, device_id: int) -> datetime | None:
    """Return when a device was last released, None if it never was in quarantine."""
    released_at = func.max(col(QuarantineRow.released_at))
    return session.exec(select(released_at).where(col(QuarantineRow.device_id) == device_id)).one()


def mark_quarantined(
    session: Session,
    upload_id: str,
    project_id: int,
    devices: Collection[tuple[str, str]],
    *,
    measured_at: datetime,
) -> None:
    """Mark an upload with each quarantine of a device that it was measured on: kind and name.

    The quarantine lasts, or did at that time. A name that may be several devices is in none.
    """
    lasted = (col(QuarantineRow.released_at).is_(None)) | (
        (col(QuarantineRow.since) <= measured_at) & (col(QuarantineRow.released_at) > measured_at)
    )
    rows = session.exec(
        select(QuarantineRow.id, ProjectDeviceRow.device, ProjectDeviceRow.name)
        .join(ProjectDeviceRow)
        .where(
            col(ProjectDeviceRow.project_id) == project_id,
            col(ProjectDeviceRow.has_id),
            lasted,
        )
    )
    for quarantine_id, *device in rows.all():
        if tuple(device) in devices:
            values = {"upload_id": upload_id, "quarantine_id": quarantine_id}
            add_if_new(session, QuarantinedUploadRow, values)


def quarantines_of_uploads(
    session: Session, upload_ids: Collection[str]
) -> dict[str, tuple[Quarantine, ...]]:
    """Return the quarantines in which uploads were measured, oldest first; most have none."""
    rows = session.exec(
        select(QuarantinedUploadRow.upload_id, QuarantineRow, ProjectDeviceRow)
        .select_from(QuarantinedUploadRow)
        .join(QuarantineRow)
        .join(ProjectDeviceRow)
        .where(col(QuarantinedUploadRow.upload_id).in_(upload_ids))
        .order_by(col(QuarantineRow.since), col(QuarantineRow.id))
    )
    quarantines: dict[str, tuple[Quarantine, ...]] = {}
    for upload_id, row, device in rows:
        quarantines[upload_id] = (*quarantines.get(upload_id, ()), _quarantine(row, device))
    return quarantines


def quarantines_of_upload(session: Session, upload_id: str) -> tuple[Quarantine, ...]:
    """Return the quarantines in which an upload was measured."""
    return quarantines_of_uploads(session, [upload_id]).get(upload_id, ())


def key_of(row: ProjectDeviceRow) -> DeviceKey:
    """Return the key of a stored device."""
    return DeviceKey(device=row.device, model=row.model, name=row.name, has_id=row.has_id)


def _quarantine(row: QuarantineRow, device: ProjectDeviceRow) -> Quarantine:
    return Quarantine(
        id=row.id or 0,
        device=key_of(device),
        reason=row.reason,
        set_by=row.set_by,
        since=row.since,
        released_at=row.released_at,
        released_by=row.released_by,
        release_reason=row.release_reason,
    )


def _digest(key: DeviceKey) -> str:
    """Return the key of an index, whose texts may be too long for an index row."""
    text = "\n".join((key.device, key.model, key.name))
    return sha256(text.encode()).hexdigest()
