"""How often the gate was red on checks whose two sides are the same commit, counted."""

from sqlalchemy import func
from sqlmodel import Session, col, select

from perfledger_baselines.verdict import Outcome
from perfledger_service.store.overview import COUNTED
from perfledger_service.store.tables import UploadRow, VerdictRow

RED = "failure"  # GitHub's word for the conclusion of a check that blocks


def false_alarms(session: Session, project_id: int) -> tuple[int, int]:
    """Return (false alarms, checks) of a project's checks of a commit against itself.

    One is red if it failed with a regression; one that failed because a workload could not be
    measured said nothing false.
    """
    checks = select(func.count()).where(
        col(UploadRow.project_id) == project_id,
        col(UploadRow.base_sha) == col(UploadRow.head_sha),
        col(UploadRow.status).in_(COUNTED),
    )
    is_regressed = (
        select(VerdictRow.upload_id)
        .where(
            col(VerdictRow.upload_id) == col(UploadRow.id),
            col(VerdictRow.outcome) == Outcome.REGRESSED,
        )
        .exists()
    )
    red = checks.where(col(UploadRow.conclusion) == RED, is_regressed)
    return session.exec(red).one(), session.exec(checks).one()
