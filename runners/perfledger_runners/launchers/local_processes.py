"""Runs a submission as a child process here, which ends with the runner, whatever ends that.

With a template the child is another program, which runs the command elsewhere: `ssh`, `docker run`,
a cluster's own command that waits.
"""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from perfledger_runners.children import process_tree
from perfledger_runners.launchers.command_template import COMMAND_WORD, CommandTemplate
from perfledger_runners.launchers.engine_tool import run_tool
from perfledger_runners.launchers.launcher import (
    LauncherError,
    Submission,
    SubmissionState,
    SubmissionStatus,
)

# A check asked to end first stops its children and removes its checkouts.
ENDING_S = 60.0
# A check prints some kilobytes; a wrapper program that keeps failing prints without end.
MAX_LOG_BYTES = 256 * 2**20
END_WITH_PARENT = Path(__file__).with_name("end_with_parent.py")


@dataclass(slots=True)
class LocalProcesses:
    """Child processes of this runner, by the names of their submissions."""

    template: CommandTemplate = field(default_factory=lambda: CommandTemplate((COMMAND_WORD,)))
    cancel_template: CommandTemplate | None = None
    poll_s: float = 0.2
    outlives_runner: bool = False
    _processes: dict[str, "subprocess.Popen[bytes]"] = field(
        default_factory=dict[str, "subprocess.Popen[bytes]"]
    )

    def submit(self, submission: Submission) -> None:
        """Start a child process in its own session; its output goes into the log."""
        if submission.name in self._processes:
            return
        words = self.template.fill(submission)
        program = submission.folder / words[0] if "/" in words[0] else words[0]
        if shutil.which(program, path=submission.environment.get("PATH")) is None:
            msg = f"{words[0]} does not start: there is no such program, or it is not executable"
            raise LauncherError(msg)
        with submission.log.open("wb") as output:
            try:
                process = subprocess.Popen(  # noqa: S603 - an argument list, never a shell's
                    [sys.executable, "-I", "-S", str(END_WITH_PARENT), str(os.getpid()), *words],
                    cwd=submission.folder,
                    env=dict(submission.environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                msg = f"the job {submission.name} does not start: {error}"
                raise LauncherError(msg) from error
        self._processes[submission.name] = process

    def status(self, submission: Submission) -> SubmissionStatus:
        """Return whether the process runs, or how it ended."""
        process = self._processes[submission.name]
        exit_status = process.poll()
        if exit_status is None and submission.log.stat().st_size > MAX_LOG_BYTES:
            reason = f"it printed more than {MAX_LOG_BYTES // 2**20} MiB"
            return SubmissionStatus(state=SubmissionState.ENDED, reason=reason)
        if exit_status is None:
            return SubmissionStatus(state=SubmissionState.RUNNING)
        if exit_status < 0:
            reason = f"signal {-exit_status} ({signal.strsignal(-exit_status)}) ended it"
            return SubmissionStatus(state=SubmissionState.ENDED, reason=reason)
        return SubmissionStatus(state=SubmissionState.ENDED, exit_status=exit_status)

    def collect(self, submission: Submission) -> None:
        """Leave log and bundle where the process wrote them."""

    def cancel(self, name: str) -> None:
        """End a child that still runs: it is asked first, then killed with its session."""
        process = self._processes.pop(name, None)
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            process_tree.kill(process.pid, "")
            process.wait()
        if self.cancel_template is not None:
            run_tool(self.cancel_template.fill_name(name))
