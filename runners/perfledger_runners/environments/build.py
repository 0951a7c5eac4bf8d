"""Runs the command that installs or compiles a checkout."""

import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path

from perfledger.records import FailureReason
from perfledger.rounding import typed
from perfledger_runners.children.child_guard import NO_GUARD, ChildGuard
from perfledger_runners.children.harness import MARK_VARIABLE
from perfledger_runners.children.process_tree import kill
from perfledger_runners.safe_text import MAX_DETAIL, MAX_LOG_TAIL_BYTES, clean_text, tail_of_text

SHELL = "/bin/sh"


class BuildError(Exception):
    """A build that failed; `output` is the end of what it printed."""

    reason = FailureReason.BUILD

    def __init__(self, message: str, *, output: str = "", has_hung: bool = False) -> None:
        super().__init__(message)
        self.output = output
        self.has_hung = has_hung  # it used all of its time


def run_build(
    command: str,
    *,
    checkout: Path,
    environment: Mapping[str, str],
    log: Path,
    timeout_s: float,
    guard: ChildGuard = NO_GUARD,
) -> None:
    """Run a shell command in the checkout, with its output in `log`. Raises BuildError.

    All of its processes are gone when it returns.
    """
    token = secrets.token_hex()
    mark = f"{MARK_VARIABLE}={token}"
    guard.begin(mark)
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the command that the user configured
            [SHELL, "-c", command],
            cwd=checkout,
            env={**environment, MARK_VARIABLE: token},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        guard.add_session(mark, process.pid)
        try:
            status: int | None = process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            kill(process.pid, mark)
            guard.end(mark)
            process.wait()
    if status != 0:
        reason = (
            f"it did not end within {typed(timeout_s)} s"
            if status is None
            else f"exit status {status}"
        )
        msg = f"`{clean_text(command)}` failed: {reason}"[:MAX_DETAIL]
        raise BuildError(msg, output=_end_of(log), has_hung=status is None)


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_LOG_TAIL_BYTES))
        return tail_of_text(file.read().decode(errors="replace"), MAX_LOG_TAIL_BYTES)
