"""A child process of the user's Python: its start, its output and its end."""

import os
import secrets
import selectors
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfledger.meters.child_processes import ThreadTimes, are_children_listed, thread_times
from perfledger.protocol import ChildRequest
from perfledger.records import FailureReason
from perfledger_runners.children.answer_socket import AnswerSocket, PairedSocket
from perfledger_runners.children.child_variables import (
    may_need_variable,
    withheld_hint,
    withheld_note,
)
from perfledger_runners.children.harness import (
    MARK_VARIABLE,
    Harness,
    child_environment,
    launcher_command,
    python_of,
    rank_folder,
    sandbox_command,
)
from perfledger_runners.children.launch import Launch
from perfledger_runners.children.process_tree import (
    kill,
    members,
    proportional_bytes,
    resident_bytes,
)
from perfledger_runners.children.protocol_state import ends_with_stop
from perfledger_runners.children.rank_sockets import RankSockets
from perfledger_runners.children.sandbox import exit_status
from perfledger_runners.safe_text import MAX_LOG_TAIL_BYTES, tail_of_text

# Interval between checks of the child's memory and log; its messages and its exit wake the agent.
POLL_S = 0.25
# Python would trust bytecode with an unchecked hash, which a repository may contain: it can be
# that of another source.
PYTHON_OPTIONS = ("-P", "--check-hash-based-pycs", "always")
# Endless output would fill the disk: a longer log is cut, keeping its end.
MAX_LOG_BYTES = 32 * 2**20


class Child:
    """A child process in its own session; `close` kills all of its processes."""

    def __init__(self, harness: Harness, request: ChildRequest) -> None:
        folder = Path(tempfile.mkdtemp(prefix="child-", dir=harness.folder))
        request.write(folder / "request.json")
        self._log = folder / "log"
        mark = secrets.token_hex()
        self.mark = f"{MARK_VARIABLE}={mark}"  # in the environment of all its descendants
        launcher = launcher_command(harness, request)
        self._answers = _answer_socket(harness.launch_of(request), folder)
        self._environment = child_environment(
            harness, request, answers=self._answers.variables, mark=mark
        )
        self._harness, self._guard = harness, harness.guard
        command = [
            *sandbox_command(harness, request, folder),
            *launcher,
            str(python_of(harness, request)),
        ]
        self._guard.begin(self.mark)
        try:
            self._process = _start(
                [*command, *PYTHON_OPTIONS, "-m", "perfledger", str(folder / "request.json")],
                root=request.root,
                environment=self._environment,
                log=self._log,
                inherited=self._answers.inherited,
            )
        except OSError:
            self._guard.end(self.mark)
            self._answers.close()
            raise
        self._answers.child_started()
        self.process_id = self._process.pid  # and its session's
        self._guard.add_session(self.mark, self.process_id)
        self.log_from = 0  # where the current workload's output starts
        self.is_stopped = False  # it waits for its turn, and has said so
        self._selector = selectors.DefaultSelector()
        self._answers.watch(self._selector)
        self._exit_descriptor: int | None = None
        self._ended: os.waitid_result | None = None
        self.is_open = True
        if hasattr(os, "pidfd_open"):  # on Linux; elsewhere the next check detects its exit
            self._exit_descriptor = os.pidfd_open(self.process_id)
            self._selector.register(self._exit_descriptor, selectors.EVENT_READ)

    def has_exited(self) -> bool:
        """Return whether the process has exited; it stays a zombie, so its id is not reused."""
        return self._exit() is not None

    def was_killed(self) -> bool:
        """Return whether a signal has ended the process."""
        ended = self._exit()
        return ended is not None and ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED)

    def _exit(self) -> os.waitid_result | None:
        """Return how the process ended by itself; None if it has not, or if `close` ended it."""
        if self._ended is None and self.is_open:
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            self._ended = os.waitid(os.P_PID, self.process_id, options)
        return self._ended

    def read(self) -> bytes:
        """Wait briefly for output or the exit of the child; return its output."""
        self._selector.select(POLL_S)
        return self._answers.read()

    def start_turn(self, core: int | None = None) -> None:
        """Start the child's next turn, on this core."""
        self.is_stopped = False
        self._answers.start_turn(core)

    def is_waiting(self) -> bool:
        """Return whether it waits for its turn, also if nobody has read yet that it does."""
        unread = self._answers.unread()
        return ends_with_stop(unread) if unread else self.is_stopped

    @property
    def is_launched(self) -> bool:
        """Return whether a launcher starts it as several ranks."""
        return isinstance(self._answers, RankSockets)

    def rank_trouble(self) -> tuple[FailureReason, str] | None:
        """Return the failure of one of the child's ranks, if it has several."""
        return self._answers.trouble()

    def missing_ranks(self) -> tuple[int, ...]:
        """Return the ranks that have not started."""
        return self._answers.missing if isinstance(self._answers, RankSockets) else ()

    def memory_bytes(self, limit: int) -> int:
        """Return its processes' memory, exactly only if the estimate is above the limit."""
        # A launcher's ranks are in their own sessions, and daemons are not counted.
        processes = members(self.process_id, self.mark if self.is_launched else "")
        resident = resident_bytes(processes)
        return resident if resident <= limit else proportional_bytes(processes)

    def thread_times(self) -> ThreadTimes:
        """Return the times of its threads, none if the kernel does not list its processes."""
        return thread_times(str(self.process_id)) if are_children_listed() else {}

    def trim_log(self) -> None:
        """Cut the log down to its end if it is too long."""
        if self._log.stat().st_size > MAX_LOG_BYTES:
            tail = self.log_tail().encode()
            os.truncate(self._log, 0)
            with self._log.open("ab") as log:
                log.write(tail)

    def log_tail(self, *, since: int = 0) -> str:
        """Return the end of the output, or of the output after the first `since` bytes.

        A log shorter than `since` has been cut; then all that is left is returned.
        """
        with self._log.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(since if since <= size else 0, size - MAX_LOG_TAIL_BYTES))
            text = log.read(MAX_LOG_TAIL_BYTES).decode(errors="replace")
        return tail_of_text(text, MAX_LOG_TAIL_BYTES)

    def close(self) -> int:
        """Kill the process and its descendants; return its exit status as Popen defines it."""
        if self.is_open:
            self._exit()  # before the kill, so that it is not taken for the child's own end
            self.is_open = False
            kill(self.process_id, self.mark)
            self._guard.end(self.mark)
            self._selector.close()
            if self._exit_descriptor is not None:
                os.close(self._exit_descriptor)
            self._answers.close()
        status = self._process.wait()
        return exit_status(status) if self._harness.sandbox else status

    def withheld_hint(self, error: str) -> str:
        """Return a sentence on a withheld variable that the child's error names, or ""."""
        return withheld_hint(self._harness.environment, self._environment, error)

    def withheld_note(self, error: str) -> str:
        """Return a line with the variables withheld from the child, "" if none caused the error."""
        if not may_need_variable(error):
            return ""
        return withheld_note(self._harness.environment, self._environment)


def _start(
    command: Sequence[str],
    *,
    root: str,
    environment: Mapping[str, str],
    log: Path,
    inherited: tuple[int, ...],
) -> subprocess.Popen[bytes]:
    """Start a process in its own session, with its output in a log."""
    # Opened for appending, so that output continues at the new end after a cut.
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603 - running the user's code is the point
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=inherited,
            start_new_session=True,
        )
    finally:
        os.close(output)


def _answer_socket(launch: Launch | None, folder: Path) -> AnswerSocket:
    """Return the agent's end of the connections to a child with this folder."""
    if launch is None or not launch.command:
        return PairedSocket()
    return RankSockets(rank_folder(folder), launch.devices)
