"""Holds what becomes of work that failed: whether it may pass, when it is due again, and why."""

import logging
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from dbos import error as dbos_error
from sqlalchemy.exc import OperationalError

from perfledger_service.errors import INTERNAL, GitHubError, NoticeServiceError, PerfledgerError
from perfledger_service.values.jobs.queued_work import QueuedCheck, QueuedCommand, QueuedNotice

MIN_LATER_WAIT_S, MAX_LATER_WAIT_S = 60.0, 900.0

_LaterWork = TypeVar("_LaterWork", QueuedCheck, QueuedCommand, QueuedNotice)
_PassingError = GitHubError | NoticeServiceError  # both say whether they may pass, and when

_log = logging.getLogger(__name__)


def may_help(error: BaseException) -> bool:
    """Return whether retrying a step may help: what it asks was busy or unreachable."""
    return isinstance(error, OperationalError) or (
        isinstance(error, _PassingError) and error.is_transient and error.wait_s is None
    )


def next_attempt(work: _LaterWork, *, wait_s: float | None) -> _LaterWork:
    """Return the next attempt of a work, which is the same one after a crash."""
    backoff_s = min(MAX_LATER_WAIT_S, MIN_LATER_WAIT_S * 2 ** (work.attempt - 1))
    due_at = work.due_at + timedelta(seconds=max(backoff_s, wait_s or 0.0))
    return replace(work, due_at=due_at, attempt=work.attempt + 1)


def passing_cause(error: Exception) -> _PassingError | None:
    """Return the failure of GitHub or of a notice that a step ended with, if it may pass."""
    cause = cause_of(error)
    return cause if isinstance(cause, _PassingError) and cause.is_transient else None


def cause_of(error: Exception) -> Exception:
    """Return what a step raised last."""
    if isinstance(error, dbos_error.DBOSMaxStepRetriesExceeded):
        return error.errors[-1]
    return error


def reason_of(error: Exception) -> str:
    """Return why a work failed, for people to read; raise the engine's own errors again."""
    if isinstance(error, dbos_error.DBOSMaxStepRetriesExceeded):
        return reason_of(cause_of(error))
    if isinstance(error, dbos_error.DBOSException):
        raise error
    if isinstance(error, PerfledgerError):
        return str(error)
    _log.error("queued work failed", exc_info=error)
    return INTERNAL
