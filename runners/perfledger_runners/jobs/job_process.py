"""Runs a job's command in a child process, which ends with the runner, however that ends."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from perfledger_runners.children import process_tree

POLL_S = 0.2
# A check that is asked to end stops its children and removes its checkouts first.
ENDING_S = 60.0
_PR_SET_PDEATHSIG = 1
# None beyond Linux: there a child outlives a runner that is killed, and its upload is refused.
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


def run_job_process(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    is_over: Callable[[], bool],
) -> int | None:
    """Run a command until it ends, and return its exit status.

    Once `is_over` says so it is ended, with all that it started, and the answer is None. What it
    prints goes into `log`.
    """
    runner = os.getpid()

    def end_with_runner() -> None:
        if _PRCTL is not None:
            _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != runner:  # it was killed between the fork and the line above
            os._exit(1)

    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - an argument list, and none is ever a shell's
            list(command),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_runner,  # noqa: PLW1509 - it allocates nothing and takes no lock
        )
    try:
        while not is_over():
            try:
                return process.wait(POLL_S)
            except subprocess.TimeoutExpired:
                continue
        return None
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a child that still runs: it is asked first, then killed with its session."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            process_tree.kill(process.pid, "")
            process.wait()
