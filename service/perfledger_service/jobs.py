"""Upload ids in, durable work out: the only module with the workflow engine.

The steps themselves are use cases and come in as functions. What a step did is remembered: after a
crash the work goes on with the step that was not recorded, so each step looks before it acts.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import PurePath

from dbos import (
    DBOS,
    DBOSConfig,
    SetEnqueueOptions,
    SetWorkflowID,
    StepOptions,
    error as dbos_error,
)
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from perfledger_service.errors import GitHubError, PerfledgerError

# Raised only when running workflows could not go on with the new code: work of another version is
# never taken up.
WORKFLOW_VERSION = "1"
WORKFLOW = "upload"
QUEUE = "pull_requests"
POLL_S = 0.25
# Pull requests that are worked on at the same time.
WORKERS = 4
# Waits of 2, 4, ... 256 seconds between attempts: GitHub may be away for eight minutes.
ATTEMPTS = 9
RETRY_INTERVAL_S = 2.0
# Longer than a step takes; one that waits for GitHub to come back is not waited for.
CLOSING_S = 10.0
CLOSING_POLL_S = 0.02
INTERNAL = "an internal error: the service's log tells which"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What is done with an upload, by its id; every one may be called again after a crash.

    `judge` returns whether there is something to say; `fail` records the reason for a failure.
    """

    judge: Callable[[str], bool]
    say: Callable[[str], None]
    fail: Callable[[str, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """An upload to be worked on; works of one partition are done one after another, in order.

    `attempt` counts from 1: what failed is worked on again only as the next attempt.
    """

    upload_id: str
    partition: str
    attempt: int = 1


class Jobs:
    """The workflow received → judged → said of every upload; one instance in a process."""

    def __init__(
        self,
        url: str,
        steps: Steps,
        *,
        retry_interval_s: float = RETRY_INTERVAL_S,
        closing_s: float = CLOSING_S,
    ) -> None:
        self._url = url
        self._steps = steps
        self._closing_s = closing_s
        self._retries = StepOptions(
            retries_allowed=True,
            max_attempts=ATTEMPTS,
            interval_seconds=retry_interval_s,
            backoff_rate=2.0,
            should_retry=_may_help,
        )
        self._workflow: Callable[[str], None] | None = None

    @property
    def is_launched(self) -> bool:
        """Whether work is being done."""
        return self._workflow is not None

    def launch(self) -> None:
        """Start working, first on what was interrupted when the process ended last time."""
        _prepare_sqlite(self._url)
        DBOS(
            config=DBOSConfig(
                name="perfledger",
                system_database_url=self._url,
                application_version=WORKFLOW_VERSION,
                log_level="WARNING",
            )
        )

        @DBOS.workflow(name=WORKFLOW)
        def workflow(upload_id: str) -> None:
            self._work(upload_id)

        DBOS.launch()
        DBOS.register_queue(
            QUEUE, partition_concurrency=1, worker_concurrency=WORKERS, polling_interval_sec=POLL_S
        )
        self._workflow = workflow

    def enqueue(self, work: Work) -> None:
        """Have an upload's attempt worked on, once, however often it is enqueued."""
        if self._workflow is None:
            msg = "jobs are not launched"
            raise PerfledgerError(msg)
        with (
            SetWorkflowID(f"upload-{work.upload_id}-{work.attempt}"),
            SetEnqueueOptions(queue_partition_key=work.partition),
        ):
            DBOS.enqueue_workflow(QUEUE, self._workflow, work.upload_id)

    def sweep(self, unfinished: Iterable[Work]) -> None:
        """Enqueue what was stored but perhaps not enqueued before the process ended."""
        for work in unfinished:
            self.enqueue(work)

    def close(self) -> bool:
        """Stop working once the steps under way are done; what is not goes on at the next launch.

        Returns whether all that was under way came to its end. If not, its threads live on: closed
        under a running step, the engine tries for ever to record what it did.
        """
        self._workflow = None
        deadline = time.monotonic() + self._closing_s
        while (is_busy := _is_busy()) and time.monotonic() < deadline:
            time.sleep(CLOSING_POLL_S)
        DBOS.destroy(destroy_registry=True)
        return not is_busy

    def _work(self, upload_id: str) -> None:
        try:
            if DBOS.run_step({**self._retries, "name": "judge"}, self._steps.judge, upload_id):
                DBOS.run_step({**self._retries, "name": "say"}, self._steps.say, upload_id)
        except Exception as error:  # a door: this job fails, the service lives on
            reason = _reason(error)
            DBOS.run_step({**self._retries, "name": "fail"}, self._steps.fail, upload_id, reason)


def jobs_url(database_url: str) -> str:
    """Return where the engine keeps its own tables, as a URL.

    PostgreSQL: in the application's database, under a schema of its own. SQLite: in a file beside
    the application's, since a file has one writer at a time.
    """
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite":
        return database_url
    file = PurePath(url.database or "")
    return f"sqlite:///{file.with_name(f'{file.stem}-jobs{file.suffix}')}"


def _is_busy() -> bool:
    under_way = DBOS.list_workflows(status="PENDING", limit=1, load_input=False, load_output=False)
    return bool(under_way)


def _prepare_sqlite(url: str) -> None:
    """Make the file with a write-ahead log before the engine makes it without one: it persists."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(parsed.database or "")) as connection:
            connection.execute("pragma journal_mode = wal")


def _may_help(error: BaseException) -> bool:
    """Whether doing a step again may help: GitHub, or the database, was busy or away."""
    return isinstance(error, OperationalError) or (
        isinstance(error, GitHubError) and error.is_transient
    )


def _reason(error: Exception) -> str:
    """Return why a job failed, as people may see it; raise the engine's own errors again."""
    if isinstance(error, dbos_error.DBOSMaxStepRetriesExceeded):
        return _reason(error.errors[-1])
    if isinstance(error, dbos_error.DBOSException):
        raise error
    if isinstance(error, PerfledgerError):
        return str(error)
    _log.error("a job failed", exc_info=error)
    return INTERNAL
