"""What is suspected of a project's commits and what A/Bs bore out, stored and found again.

As MessagePack: evidence may hold infinities, which JSON has no word for.
"""

import msgspec
from sqlmodel import Session, col, select

from perfledger.records import Machine
from perfledger_baselines.history.docket import Alert, Docket
from perfledger_service.store.tables import AlertRow, DocketRow, EnvRow, UploadRow
from perfledger_service.views import AlertView

# Newest alerts of a project that its page shows.
MOST_ALERTS = 50


def docket_of(session: Session, project_id: int) -> Docket:
    """Return a project's docket; an empty one if nothing was ever suspected."""
    row = session.get(DocketRow, project_id)
    return Docket() if row is None else msgspec.msgpack.decode(row.content, type=Docket)


def save_docket(session: Session, project_id: int, docket: Docket) -> None:
    """Store a project's docket in place of the one before; the caller holds the project's lock."""
    row = session.get(DocketRow, project_id) or DocketRow(project_id=project_id, content=b"")
    row.content = msgspec.msgpack.encode(docket)
    session.add(row)
    session.flush()


def add_alerts(
    session: Session, alerts: tuple[Alert, ...], *, project_id: int, upload_id: str
) -> None:
    """Store what an upload's A/B bore out."""
    for alert in alerts:
        content = msgspec.msgpack.encode(alert)
        session.add(AlertRow(project_id=project_id, upload_id=upload_id, content=content))
    session.flush()


def alerts_of(session: Session, project_id: int) -> tuple[AlertView, ...]:
    """Return a project's newest alerts, newest first."""
    found = session.exec(
        select(AlertRow, UploadRow.created_at, EnvRow.machine)
        .select_from(AlertRow)
        .join(UploadRow)
        .join(EnvRow, col(EnvRow.hash) == col(UploadRow.env_hash))
        .where(col(AlertRow.project_id) == project_id)
        .order_by(col(AlertRow.id).desc())
        .limit(MOST_ALERTS)
    )
    return tuple(
        AlertView(
            alert=msgspec.msgpack.decode(row.content, type=Alert),
            upload_id=row.upload_id,
            created_at=created_at,
            device=msgspec.json.decode(machine, type=Machine).uuid,
        )
        for row, created_at, machine in found
    )
