"""Presents the queue for runners, and a project's schedules and budget."""

from collections.abc import Sequence

from perfledger_runners.jobs.runner_job import RunnerJob
from perfledger_service.rendering.layout.document import Column, Document, figure, name, table

_MAX_NAME = 60
_MAX_REASON = 300


_JOB_COLUMNS: tuple[Column[RunnerJob], ...] = (
    name("id", "job", lambda row: row.id, show=lambda row: row.id[:8]),
    figure("state", "state", lambda row: row.state),
    figure("kind", "kind", lambda row: row.kind),
    name("machine_class", "machine class", lambda row: row.machine_class, limit=_MAX_NAME),
    name("head_sha", "head", lambda row: row.head_sha, show=lambda row: row.head_sha[:10]),
    name("runner", "runner", lambda row: row.runner),
    figure("attempts", "attempts", lambda row: row.attempts, str),
    name("reason", "why", lambda row: row.reason, limit=_MAX_REASON),
)


def jobs_document(repository: str, jobs: Sequence[RunnerJob]) -> Document:
    """Return the newest jobs of a project, newest first."""
    return Document(
        name="perfledger-jobs",
        facts={"repository": repository},
        blocks=(table(_JOB_COLUMNS, jobs, key="jobs"),),
    )
