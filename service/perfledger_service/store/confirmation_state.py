"""Stores a project's suspected and confirmed changes.

The format is MessagePack, since evidence may hold infinities, which JSON cannot represent.
"""

from collections.abc import Sequence

import msgspec
from sqlmodel import Session, col, select

from perfledger.records import Machine
from perfledger_baselines.history.commits.confirmation_state import Alert, ConfirmationState
from perfledger_service.store.tables import (
    AlertRow,
    ConfirmationStateRow,
    EnvironmentRow,
    UploadRow,
)
from perfledger_service.values.branch_views import AlertView

# Newest alerts of a project that its page shows.
MAX_ALERTS = 50


_CONFIRMATION_STATE_DECODER = msgspec.msgpack.Decoder(ConfirmationState)
_ALERT_DECODER = msgspec.msgpack.Decoder(Alert)
_MACHINE_DECODER = msgspec.json.Decoder(Machine)


def confirmation_state_of(session: Session, project_id: int) -> ConfirmationState:
    """Return a project's confirmation state, empty if nothing was ever suspected."""
    row = session.get(ConfirmationStateRow, project_id)
    return ConfirmationState() if row is None else _CONFIRMATION_STATE_DECODER.decode(row.content)


def save_confirmation_state(session: Session, project_id: int, state: ConfirmationState) -> None:
    """Replace a project's confirmation state; the caller holds the project's lock."""
    row = session.get(ConfirmationStateRow, project_id) or ConfirmationStateRow(
        project_id=project_id, content=b""
    )
    row.content = msgspec.msgpack.encode(state)
    session.add(row)
    session.flush()


def add_alerts(
    session: Session,
    alerts: tuple[Alert, ...],
    *,
    commits: Sequence[str],
    project_id: int,
    upload_id: str,
) -> None:
    """Store the changes that an upload's A/B run confirmed; `commits` are those they count."""
    for alert in alerts:
        session.add(
            AlertRow(
                project_id=project_id,
                upload_id=upload_id,
                content=msgspec.msgpack.encode(alert),
                after_sha=commits[alert.commits.first - 1],
                last_sha=commits[alert.commits.last],
            )
        )
    session.flush()


def alerts_of(session: Session, project_id: int) -> tuple[AlertView, ...]:
    """Return a project's newest alerts, newest first."""
    rows = session.exec(
        select(AlertRow, UploadRow.measured_at, EnvironmentRow.machine)
        .select_from(AlertRow)
        .join(UploadRow)
        .join(EnvironmentRow, col(EnvironmentRow.hash) == col(UploadRow.environment_hash))
        .where(col(AlertRow.project_id) == project_id)
        .order_by(col(AlertRow.id).desc())
        .limit(MAX_ALERTS)
    )
    return tuple(
        AlertView(
            alert=_ALERT_DECODER.decode(row.content),
            upload_id=row.upload_id,
            after_sha=row.after_sha,
            last_sha=row.last_sha,
            created_at=measured_at,
            device=_MACHINE_DECODER.decode(machine).uuid,
        )
        for row, measured_at, machine in rows
    )
