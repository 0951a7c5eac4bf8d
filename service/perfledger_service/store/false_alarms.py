"""Counts false alarms: checks of a commit against itself that failed with a regression."""

from sqlalchemy import func
from sqlmodel import Session, col, select

from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.store.page_queries import COUNTED_STATUSES
from perfledger_service.store.tables import UploadRow, VerdictRow

RED_CONCLUSION = "failure"  # GitHub's conclusion of a check that blocks


def false_alarms(session: Session, project_id: int) -> tuple[int, int]:
    """Return (false alarms, checks) of a project's checks of a commit against itself.

    A check that failed because a workload could not be measured is no false alarm.
    """
    checks = select(func.count()).where(
        col(UploadRow.project_id) == project_id,
        col(UploadRow.base_sha) == col(UploadRow.head_sha),
        col(UploadRow.status).in_(COUNTED_STATUSES),
    )
    is_regressed = (
        select(VerdictRow.upload_id)
        .where(
            col(VerdictRow.upload_id) == col(UploadRow.id),
            col(VerdictRow.outcome) == Outcome.REGRESSED,
        )
        .exists()
    )
    red = checks.where(col(UploadRow.conclusion) == RED_CONCLUSION, is_regressed)
    return session.exec(red).one(), session.exec(checks).one()
