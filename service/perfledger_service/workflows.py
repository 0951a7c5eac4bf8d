"""Runs the durable workflows; only `workflow_failures` knows the workflow engine beside it.

The steps are use cases and are passed in as functions. Finished steps are recorded: after a crash
the work resumes with the first step that was not recorded, so each step must be repeatable.
"""

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from dbos import (
    DBOS,
    DBOSConfig,
    SetEnqueueOptions,
    SetWorkflowID,
    StepOptions,
    WorkflowStatus,
    error as dbos_error,
)
from sqlalchemy.exc import OperationalError

from perfledger_service.errors import PerfledgerError
from perfledger_service.values.jobs.queued_work import (
    MAX_LATER_ATTEMPTS,
    QueuedCheck,
    QueuedCommand,
    QueuedNotice,
    QueuedRetention,
    QueuedReview,
    QueuedUpload,
)
from perfledger_service.workflow_database import engine_options, prepare_sqlite
from perfledger_service.workflow_failures import (
    cause_of,
    may_help,
    next_attempt,
    passing_cause,
    reason_of,
)

# Increase only if running workflows could not continue with the new code: the engine never resumes
# work of another version.
WORKFLOW_VERSION = "1"
WORKFLOW = "upload"
CHECK_WORKFLOW = "check"
COMMAND_WORKFLOW = "command"
NOTICE_WORKFLOW = "notice"
RETENTION_WORKFLOW = "retention"
REVIEW_WORKFLOW = "review"
QUEUE = "pull_requests"
POLL_S = 0.25
WORKERS = 4  # pull requests that are processed at the same time
# Waits of 2, 4 and 8 seconds between attempts. What takes longer is deferred, and no worker waits.
ATTEMPTS = 4
# In an hour, of storing what came of a work: nobody looks for one again that ended without it.
RECORDING_ATTEMPTS = 12
MAX_PASSES = 100  # of retention in a day; the next day goes on
MAX_FORGOTTEN = 1000  # records of finished work, at a time
RETRY_INTERVAL_S = 2.0
# Longer than a step takes, unless it waits for GitHub.
CLOSING_S = 10.0
CLOSING_POLL_S = 0.02
ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSteps:
    """The steps of the workflows, by an upload's id; each may be called again after a crash.

    `judge` returns whether there is a report to post, and `post` the checks of others to post then.
    `fail` records the reason of a failure, and returns the check that says so, None for none.
    `defer` records that of one that may pass, and returns the next attempt, None after enough.
    `deadlines` returns the checks that are due later, or now (a merge group's), and `post_check`
    posts one of them and returns those that are due later.
    `carry_out` carries out a command by its id and returns the uploads to post again.
    `send_notice` returns where a notice went, None where none was due; `record_sent` stores that.
    `fail_notice` records why a notice was not sent, and whether that is the end of it.
    `prune` removes what is past its retention period and returns whether to call it again.
    `review` makes the review of a quarter, and `fail_review` records why there is none.
    """

    judge: Callable[[str], bool]
    post: Callable[[str], tuple[QueuedCheck, ...]]
    fail: Callable[[str, str], QueuedCheck | None]
    defer: Callable[[str, str, float | None], QueuedUpload | None]
    deadlines: Callable[[str], tuple[QueuedCheck, ...]]
    post_check: Callable[[QueuedCheck], tuple[QueuedCheck, ...]]
    carry_out: Callable[[int], tuple[QueuedUpload, ...]]
    fail_command: Callable[[int, str], None]
    send_notice: Callable[[QueuedNotice], str | None] = lambda _: None  # by default none is sent
    record_sent: Callable[[QueuedNotice, str], None] = lambda _work, _reference: None
    fail_notice: Callable[[QueuedNotice, str, bool], None] = lambda _work, _reason, _is_final: None
    prune: Callable[[], bool] = bool  # by default nothing is removed
    review: Callable[[QueuedReview], None] = lambda _: None  # by default none is made
    fail_review: Callable[[QueuedReview, str], None] = lambda _work, _reason: None


_AnyLaterWork = TypeVar(
    "_AnyLaterWork", QueuedCheck, QueuedCommand, QueuedNotice, QueuedRetention, QueuedReview
)


class UploadWorkflow:
    """Workflow received → judged → posted of every upload; one instance per process."""

    def __init__(
        self,
        url: str,
        steps: WorkflowSteps,
        *,
        retry_interval_s: float = RETRY_INTERVAL_S,
        closing_s: float = CLOSING_S,
        executor_id: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._url = url
        self._steps = steps
        self._closing_s = closing_s
        self._executor_id = executor_id or "local"  # of the only process of a SQLite file
        self._now = now
        self._retries = StepOptions(
            retries_allowed=True,
            max_attempts=ATTEMPTS,
            interval_seconds=retry_interval_s,
            backoff_rate=2.0,
            should_retry=may_help,
        )
        self._recording = StepOptions({**self._retries, "max_attempts": RECORDING_ATTEMPTS})
        self._workflow: Callable[[str], None] | None = None
        self._check_workflow: Callable[[QueuedCheck], None] | None = None
        self._command_workflow: Callable[[QueuedCommand], None] | None = None
        self._notice_workflow: Callable[[QueuedNotice], None] | None = None
        self._retention_workflow: Callable[[QueuedRetention], None] | None = None
        self._review_workflow: Callable[[QueuedReview], None] | None = None

    @property
    def is_launched(self) -> bool:
        """Return whether the workflow runs."""
        return self._workflow is not None

    def launch(self) -> None:
        """Start the workflow, first with the work that the last process left unfinished."""
        prepare_sqlite(self._url)
        DBOS(
            config=DBOSConfig(
                name="perfledger",
                system_database_url=self._url,
                application_version=WORKFLOW_VERSION,
                executor_id=self._executor_id,
                log_level="WARNING",
                # Nothing here is sent to a workflow: this only bounds how long closing takes.
                notification_listener_polling_interval_sec=POLL_S,
                db_engine_kwargs=engine_options(self._url),
            )
        )

        @DBOS.workflow(name=WORKFLOW)
        def workflow(upload_id: str) -> None:
            self._work(upload_id)

        @DBOS.workflow(name=CHECK_WORKFLOW)
        def check_workflow(check: QueuedCheck) -> None:
            self._post_check(check)

        @DBOS.workflow(name=COMMAND_WORKFLOW)
        def command_workflow(command: QueuedCommand) -> None:
            self._carry_out(command)

        @DBOS.workflow(name=RETENTION_WORKFLOW)
        def retention_workflow(_: QueuedRetention) -> None:
            self._prune()

        self._retention_workflow = retention_workflow

        @DBOS.workflow(name=REVIEW_WORKFLOW)
        def review_workflow(review: QueuedReview) -> None:
            self._review(review)

        self._review_workflow = review_workflow

        @DBOS.workflow(name=NOTICE_WORKFLOW)
        def notice_workflow(notice: QueuedNotice) -> None:
            self._send_notice(notice)

        self._check_workflow = check_workflow
        self._command_workflow = command_workflow
        self._notice_workflow = notice_workflow
        DBOS.launch()
        DBOS.register_queue(
            QUEUE, partition_concurrency=1, worker_concurrency=WORKERS, polling_interval_sec=POLL_S
        )
        self._workflow = workflow

    def enqueue(self, work: QueuedUpload) -> None:
        """Enqueue an upload's attempt, which runs once, however often it is enqueued."""
        if self._workflow is None:
            msg = "the upload workflow is not running: launch it first"
            raise PerfledgerError(msg)
        delay_s = self._delay_s(work.due_at) if work.due_at else None
        with (
            SetWorkflowID(f"upload-{work.upload_id}-{work.attempt}"),
            SetEnqueueOptions(queue_partition_key=work.partition, delay_seconds=delay_s),
        ):
            DBOS.enqueue_workflow(QUEUE, self._workflow, work.upload_id)

    def enqueue_check(self, check: QueuedCheck) -> None:
        """Enqueue a check to post at its time, which runs once, however often it is enqueued."""
        self._enqueue_later(self._check_workflow, check)

    def enqueue_command(self, command: QueuedCommand) -> None:
        """Enqueue a command, which is carried out once, however often it is enqueued."""
        self._enqueue_later(self._command_workflow, command)

    def enqueue_retention(self, retention: QueuedRetention) -> None:
        """Enqueue a day's removal of what is past its period; it runs once, on one replica."""
        self._enqueue_later(self._retention_workflow, retention)

    def enqueue_review(self, review: QueuedReview) -> None:
        """Enqueue a day's attempt to make a quarter's review; it runs once, on one replica."""
        self._enqueue_later(self._review_workflow, review)

    def forget_ended(self, before: datetime) -> None:
        """Delete some of the engine's records of work that was enqueued before a time and ended."""
        ended = DBOS.list_workflows(
            status=list(ENDED), end_time=before.isoformat(), limit=MAX_FORGOTTEN
        )
        DBOS.delete_workflows([one.workflow_id for one in ended])

    def enqueue_notice(self, notice: QueuedNotice) -> None:
        """Enqueue a notice, which is sent once, however often it is enqueued."""
        self._enqueue_later(self._notice_workflow, notice)

    def sweep(
        self,
        unfinished: Iterable[QueuedUpload],
        deadlines: Iterable[QueuedCheck] = (),
        commands: Iterable[QueuedCommand] = (),
    ) -> None:
        """Enqueue work that was stored, but perhaps not enqueued, by the last process."""
        for work in unfinished:
            self.enqueue(work)
        for check in deadlines:
            self.enqueue_check(check)
        for command in commands:
            self.enqueue_command(command)

    def take_over(self, of_dead: Callable[[str], AbstractContextManager[bool]]) -> None:
        """Resume the work of other executors that died, in its queue and order.

        `of_dead` holds another executor's lock and gives false if it lives. The engine resumes only
        its own executor's work, at its launch.
        """
        if not self.is_launched:
            return
        executor_ids = {one.executor_id for one in _under_way()} - {self._executor_id, None}
        for other in sorted(filter(None, executor_ids)):
            with of_dead(other) as is_dead:
                # Read again: another replica may have resumed it before we had the lock.
                for work in _under_way(executor_id=other) if is_dead else ():
                    DBOS.resume_workflow(work.workflow_id, queue_name=QUEUE)

    def close(self) -> bool:
        """Stop once the running steps are done; unfinished work resumes at the next launch.

        Return whether all running steps ended. If not, their threads live on: an engine closed
        under a running step retries recording it for ever.
        """
        self._workflow = None
        deadline = time.monotonic() + self._closing_s
        while (work := _under_way(executor_id=self._executor_id)) and time.monotonic() < deadline:
            time.sleep(CLOSING_POLL_S)
        DBOS.destroy(destroy_registry=True)
        return not work

    def _work(self, upload_id: str) -> None:
        other_checks: tuple[QueuedCheck, ...] = ()
        try:
            judge: StepOptions = {**self._retries, "name": "judge"}
            is_to_post = DBOS.run_step(judge, self._steps.judge, upload_id)
            for check in DBOS.run_step({"name": "deadlines"}, self._steps.deadlines, upload_id):
                self.enqueue_check(check)
            if is_to_post:
                post: StepOptions = {**self._retries, "name": "post"}
                # Earlier versions recorded None.
                other_checks = DBOS.run_step(post, self._steps.post, upload_id) or ()
        except Exception as error:  # this upload fails, the service lives on
            reason, cause = reason_of(error), passing_cause(error)
            if cause is not None:
                defer = partial(self._steps.defer, upload_id, reason, cause.wait_s)
                again = DBOS.run_step({**self._recording, "name": "defer"}, defer)
                if again is not None:
                    self.enqueue(again)
                    return
            fail = partial(self._steps.fail, upload_id, reason)
            failed_check = DBOS.run_step({**self._recording, "name": "fail"}, fail)
            if failed_check is not None:
                self.enqueue_check(failed_check)
        for check in other_checks:
            self.enqueue_check(check)

    def _post_check(self, check: QueuedCheck) -> None:
        later_checks: tuple[QueuedCheck, ...] = ()
        try:
            post: StepOptions = {**self._retries, "name": "post_check"}
            # Earlier versions recorded None.
            later_checks = DBOS.run_step(post, self._steps.post_check, check) or ()
        except Exception as error:  # the next upload or deadline posts the check again, too
            _log.warning("a check is not posted: %s", reason_of(error))
            cause = passing_cause(error)
            if cause is not None and check.attempt < MAX_LATER_ATTEMPTS:
                self.enqueue_check(next_attempt(check, wait_s=cause.wait_s))
        for later in later_checks:
            self.enqueue_check(later)

    def _carry_out(self, command: QueuedCommand) -> None:
        carry_out = partial(self._steps.carry_out, command.command_id)
        try:
            works = DBOS.run_step({**self._retries, "name": "carry_out"}, carry_out)
        except Exception as error:  # this command fails, the service lives on
            reason, cause = reason_of(error), passing_cause(error)
            if cause is not None and command.attempt < MAX_LATER_ATTEMPTS:
                self.enqueue_command(next_attempt(command, wait_s=cause.wait_s))
                return
            _log.warning("a command is not carried out: %s", reason)
            fail = partial(self._steps.fail_command, command.command_id, reason)
            DBOS.run_step({**self._recording, "name": "fail_command"}, fail)
            return
        for work in works if self.is_launched else ():  # or the next process finds them
            self.enqueue(work)

    def _prune(self) -> None:
        try:
            for _ in range(MAX_PASSES):
                if not DBOS.run_step({**self._retries, "name": "prune"}, self._steps.prune):
                    return
        except Exception as error:  # it ends a day's retention: the next day goes on
            _log.warning("nothing more is removed today: %s", reason_of(error))

    def _review(self, review: QueuedReview) -> None:
        try:
            make = partial(self._steps.review, review)
            DBOS.run_step({**self._retries, "name": "review"}, make)
        except Exception as error:  # what is missing may be there on the next day
            fail = partial(self._steps.fail_review, review, reason_of(error))
            DBOS.run_step({**self._recording, "name": "fail_review"}, fail)

    def _send_notice(self, notice: QueuedNotice) -> None:
        try:
            send = partial(self._steps.send_notice, notice)
            reference = DBOS.run_step({**self._retries, "name": "send_notice"}, send)
            if reference is not None:  # in a step of its own: a busy store has nothing sent again
                record = partial(self._steps.record_sent, notice, reference)
                DBOS.run_step({**self._recording, "name": "record_sent"}, record)
        except Exception as error:  # this notice fails, the service lives on
            self._fail_notice(notice, error)

    def _fail_notice(self, notice: QueuedNotice, error: Exception) -> None:
        """Record why a notice was not sent, and attempt it again later where that may help."""
        reason, cause, passing = reason_of(error), cause_of(error), passing_cause(error)
        may_pass = passing is not None or isinstance(cause, OperationalError)
        is_final = not may_pass or notice.attempt >= MAX_LATER_ATTEMPTS
        fail = partial(self._steps.fail_notice, notice, reason, is_final)
        try:
            DBOS.run_step({**self._retries, "name": "fail_notice"}, fail)
        except dbos_error.DBOSMaxStepRetriesExceeded:  # the store does not know that it failed
            is_final = False
        if not is_final:
            wait_s = None if passing is None else passing.wait_s
            self.enqueue_notice(next_attempt(notice, wait_s=wait_s))

    def _enqueue_later(
        self, workflow: Callable[[_AnyLaterWork], None] | None, work: _AnyLaterWork
    ) -> None:
        if workflow is None:
            msg = "the upload workflow is not running: launch it first"
            raise PerfledgerError(msg)
        delay_s = self._delay_s(work.due_at)
        with (
            SetWorkflowID(work.id),
            SetEnqueueOptions(queue_partition_key=work.partition, delay_seconds=delay_s),
        ):
            DBOS.enqueue_workflow(QUEUE, workflow, work)

    def _delay_s(self, due_at: datetime) -> float | None:
        return max(0.0, (due_at - self._now()).total_seconds()) or None


def _under_way(*, executor_id: str | None = None) -> list[WorkflowStatus]:
    """Return the workflows that an executor, or any, has begun and not ended."""
    return DBOS.list_workflows(
        status="PENDING", executor_id=executor_id, load_input=False, load_output=False
    )
