"""Defines what a launcher is, and follows one submission from its start to its end.

A launcher is four calls on an existing engine: submit, status, collect, cancel. Queueing, fairness
and preemption stay with the engine. The caller names a submission, so a runner that was killed
finds it again by submitting it again.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from perfledger.rounding import minutes

# A controller that restarts or fails over is unreachable for minutes.
MAX_SILENCE_S = 600.0
# An engine ends overlong work itself; the runner does so if that fails.
OVERTIME_S = 120.0
# An NFS client may show the state of a folder, such as of a result, of a minute ago.
RESULT_WAIT_S = 90.0


class LauncherError(Exception):
    """An engine that cannot be reached, or that refuses a submission."""


class SubmissionState(StrEnum):
    """State of a submission."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionStatus:
    """An engine's report on a submission.

    One that ended without its own exit status has a reason. `node` names the node,
    or GitHub's runner and the page of the run. `usage` is what the engine's accounting says of a
    submission that ended, "" without accounting.
    """

    state: SubmissionState
    exit_status: int | None = None
    reason: str = ""
    node: str = ""
    usage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A command to run: argument list, folder, environment, and the files of log and bundle."""

    name: str
    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    log: Path
    bundle: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionLimits:
    """How long a submission may wait and run; None means without limit."""

    wait_s: float | None = None
    run_s: float | None = None


class Launcher(Protocol):
    """An engine that runs commands; every method raises LauncherError.

    `poll_s` is the time between two status requests. A submission that `outlives_runner` continues
    while its runner is away.
    """

    poll_s: float
    outlives_runner: bool

    def submit(self, submission: Submission) -> None:
        """Submit a command; one already submitted under this name is left as it is."""
        ...

    def status(self, submission: Submission) -> SubmissionStatus:
        """Return a submission's status."""
        ...

    def collect(self, submission: Submission) -> None:
        """Copy the log and the bundle of a submission that ended to their files."""
        ...

    def cancel(self, name: str) -> None:
        """End a submission, with all that it started, and forget it; without one do nothing."""
        ...


def run_submission(
    launcher: Launcher,
    submission: Submission,
    limits: SubmissionLimits,
    *,
    is_over: Callable[[], bool],
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> SubmissionStatus | None:
    """Run a command to its end, collect its files, and return how it ended.

    Once `is_over` returns true it is cancelled, and the answer is None. Raises LauncherError if it
    cannot be submitted, or if the files of one that ended by itself cannot be collected.
    """
    try:
        launcher.submit(submission)
        watch = _SubmissionWatch(launcher, submission, limits, say, clock)
        while not is_over():
            ending = watch.ending()
            if ending is None:
                wait(launcher.poll_s)
            elif ending.exit_status is None:
                with suppress(LauncherError):  # the reason is known
                    launcher.collect(submission)
                return ending
            else:
                launcher.collect(submission)
                return ending
        return None
    finally:
        cancel_submission(launcher, submission.name, say)


def cancel_submission(launcher: Launcher, name: str, say: Callable[[str], None]) -> None:
    """Cancel a submission; if that fails, its own time limit ends it."""
    try:
        launcher.cancel(name)
    except LauncherError as error:
        say(f"{name} may still run: {error}")


class _SubmissionWatch:
    """A watch that polls a submission's status and reports changes."""

    def __init__(
        self,
        launcher: Launcher,
        submission: Submission,
        limits: SubmissionLimits,
        say: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._launcher, self._submission, self._limits = launcher, submission, limits
        self._say, self._clock = say, clock
        self._state = SubmissionState.WAITING
        self._since = self._answered_at = clock()

    def ending(self) -> SubmissionStatus | None:
        """Return how the submission ended; None while it has not."""
        try:
            status = self._launcher.status(self._submission)
        except LauncherError as error:
            silence_s = self._clock() - self._answered_at
            if silence_s < MAX_SILENCE_S:
                return None
            return _ended_status(f"no answer about it for {minutes(silence_s)}: {error}")
        self._answered_at = self._clock()
        if status.state is SubmissionState.ENDED:
            if status.node:
                self._say(f"it ended on {status.node}")
            if status.usage:
                self._say(status.usage)
            return status
        if status.state is not self._state:
            self._say(_change_text(status))
            self._state, self._since = status.state, self._clock()
        return self._overdue(status)

    def _overdue(self, status: SubmissionStatus) -> SubmissionStatus | None:
        elapsed_s = self._clock() - self._since
        wait_s, run_s = self._limits.wait_s, self._limits.run_s
        if status.state is SubmissionState.WAITING and wait_s is not None and elapsed_s >= wait_s:
            why = f" ({status.reason})" if status.reason else ""
            return _ended_status(f"it did not start within {minutes(wait_s)}{why}")
        if status.state is SubmissionState.RUNNING and run_s is not None:
            if elapsed_s < run_s + OVERTIME_S:
                return None
            return _ended_status(f"it ran longer than {minutes(run_s)}")
        return None


def _ended_status(reason: str) -> SubmissionStatus:
    return SubmissionStatus(state=SubmissionState.ENDED, reason=reason)


def _change_text(status: SubmissionStatus) -> str:
    if status.state is SubmissionState.RUNNING:
        return f"it runs on {status.node}" if status.node else "it runs"
    return f"it waits again: {status.reason or 'the engine requeued it'}"
