"""Stores the runner jobs that a command in a comment asked for."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import msgspec
from sqlmodel import Session, col, select

from perfledger_service.store.comments.tables import CommandJobRow
from perfledger_service.store.tables import add_if_new


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandJob:
    """The job of a machine class that a command asked for, or (None) why there is none."""

    machine_class: str
    job_id: str | None = None
    problem: str = ""


_COMMAND_JOB_DECODER = msgspec.json.Decoder(CommandJob)


def add_command_jobs(session: Session, command_id: int, jobs: Sequence[CommandJob]) -> None:
    """Store a command's jobs, once for each machine class."""
    for job in jobs:
        add_if_new(session, CommandJobRow, {"command_id": command_id} | asdict(job))


def command_jobs(session: Session, command_id: int) -> tuple[CommandJob, ...]:
    """Return a command's jobs by machine class, none if it asked for none."""
    rows = session.exec(
        select(CommandJobRow)
        .where(col(CommandJobRow.command_id) == command_id)
        .order_by(col(CommandJobRow.machine_class))
    )
    return tuple(row.to_value(_COMMAND_JOB_DECODER) for row in rows)
