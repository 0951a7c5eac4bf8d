"""A project's history for tests of retention, with newer checks and commits than those of a test.

The newest checks and commits are kept however old they are: only what stands behind them can go.
"""

from datetime import timedelta

from sqlalchemy import insert
from sqlmodel import select

from perfledger.metrics import STEP_TIME
from perfledger.records import Revision
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.gate_checks import MAX_CHECKS
from perfledger_service.store.retention.upload_removal import KEPT_COMMITS, remove_part
from perfledger_service.store.tables import (
    BranchCommitRow,
    BundleRow,
    RevisionRow,
    UploadRow,
    VerdictRow,
)
from perfledger_service.values.people.person import Actor
from perfledger_service.values.storage.retention import RetentionClass, RetentionPolicy, UploadPart

KEPT_DAYS = 90
EVERYTHING = RetentionPolicy(dict.fromkeys(RetentionClass, KEPT_DAYS))
OPERATOR = Actor(name="operator")
FIRST_PLACE = 1000  # of the commits that are newer than those of a test


def sha_of(number):
    return f"{number:040x}"


def commits(base, head):
    """Return a bundle's values for two commits of the default branch, by their places."""
    return {
        "base": Revision(sha=sha_of(base), subject="before", depth=base),
        "head": Revision(sha=sha_of(head), subject="after", depth=head),
    }


def remove_bundle(engine, upload, *, removed_at):
    """Remove an upload's bundle, as retention does."""
    with write_session(engine) as session:
        remove_part(
            session, UploadPart.BUNDLE, [upload.id], removed_at=removed_at, kept_days=KEPT_DAYS
        )
        session.commit()


def add_newer_commits(engine, project_id, count=KEPT_COMMITS, *, first=FIRST_PLACE):
    """Store commits of the branch that were measured, after those of a test."""
    numbers = range(first, first + count)
    with write_session(engine) as session:
        session.execute(
            insert(RevisionRow),
            [
                {
                    "project_id": project_id,
                    "position": number,
                    "sha": sha_of(number),
                    "is_claimed": True,
                }
                for number in numbers
            ],
        )
        session.execute(
            insert(BranchCommitRow),
            [
                {"project_id": project_id, "place": number, "sha": sha_of(number)}
                for number in numbers
            ],
        )
        session.commit()


def add_newer_checks(engine, upload, *, since, count=MAX_CHECKS):
    """Store copies of a judged upload, each with a change of step time, arrived since a time."""
    with read_session(engine) as session:
        row = session.exec(select(UploadRow).where(UploadRow.id == upload.id)).one()
        bundle = session.get_one(BundleRow, upload.bundle_sha256)
        of_step_time = (VerdictRow.upload_id == upload.id, VerdictRow.metric == STEP_TIME.name)
        verdict = session.exec(select(VerdictRow).where(*of_step_time)).one()
        values, content, decided = row.model_dump(), bundle.model_dump(), verdict.model_dump()
    decided |= {"outcome": "improved", "is_warning": False, "position": 0}
    copies = [
        {
            "id": f"f{number:031x}",
            "bundle_sha256": f"{number:064x}",
            "created_at": since + timedelta(minutes=number),
            "measured_at": since + timedelta(minutes=number),
        }
        for number in range(count)
    ]
    with write_session(engine) as session:
        session.execute(
            insert(BundleRow), [content | {"sha256": one["bundle_sha256"]} for one in copies]
        )
        session.execute(insert(UploadRow), [values | one for one in copies])
        session.execute(insert(VerdictRow), [decided | {"upload_id": one["id"]} for one in copies])
        session.commit()


class Open:
    """GitHub, which says which pull requests are open."""

    def __init__(self, *numbers, error=None):
        self.numbers, self.error = frozenset(numbers), error

    def open_pull_requests(self, _):
        if self.error:
            raise self.error
        return self.numbers


def rows_by_class(report):
    return {row.kind: row for row in report.rows}
