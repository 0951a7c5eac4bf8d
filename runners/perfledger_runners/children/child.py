"""A child process of the user's Python: its start, its output and its end."""

import os
import secrets
import selectors
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from perfledger.protocol import ChildRequest
from perfledger_runners.children.child_variables import withheld_hint, withheld_note
from perfledger_runners.children.harness import (
    MARK_VARIABLE,
    Harness,
    child_environment,
    python_of,
    sandbox_command,
)
from perfledger_runners.children.process_tree import (
    kill,
    members,
    proportional_bytes,
    resident_bytes,
)
from perfledger_runners.children.sandbox import exit_status
from perfledger_runners.safe_text import MAX_LOG_TAIL_BYTES, tail_of_text

# Interval between checks of the child's memory and log; its messages and its exit wake the agent.
POLL_S = 0.25
READ_BYTES = 2**16
# Endless output would fill the disk: beyond this, the log is cut to its end.
MAX_LOG_BYTES = 32 * 2**20


class Child:
    """A child process in its own session; `close` kills all of its processes."""

    def __init__(self, harness: Harness, request: ChildRequest) -> None:
        folder = Path(tempfile.mkdtemp(prefix="child-", dir=harness.folder))
        request.write(folder / "request.json")
        self._log = folder / "log"
        mark = secrets.token_hex()
        self.mark = f"{MARK_VARIABLE}={mark}"  # in the environment of all its descendants
        # A socket, because the agent writes to it to start a turn.
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._pipe, descriptor = self._socket.fileno(), theirs.fileno()
        self._environment = child_environment(harness, request, descriptor=descriptor, mark=mark)
        self._harness = harness
        command = [*sandbox_command(harness, request, folder), str(python_of(harness, request))]
        # Opened for appending, so that output continues at the new end after a cut.
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - running the user's code is the point
                [*command, "-P", "-m", "perfledger", str(folder / "request.json")],
                cwd=request.root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(descriptor,),
                start_new_session=True,
            )
        except OSError:
            self._socket.close()
            raise
        finally:
            os.close(log)
            theirs.close()
        self.process_id = self._process.pid  # and its session's
        self.log_from = 0  # where the current workload's output begins
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._pipe, selectors.EVENT_READ)
        self._watched = {self._pipe}
        if hasattr(os, "pidfd_open"):  # Linux; elsewhere the next check sees its exit
            end = os.pidfd_open(self.process_id)
            self._selector.register(end, selectors.EVENT_READ)
            self._watched.add(end)

    def has_exited(self) -> bool:
        """Return whether the process has exited; it stays a zombie, so its id is not reused."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process_id, flags) is not None

    def read(self) -> bytes:
        """Wait briefly for output or the exit of the child; return its output."""
        self._selector.select(POLL_S)
        try:
            data = os.read(self._pipe, READ_BYTES)
        except BlockingIOError:
            return b""
        except ConnectionError:  # it exited with an unread turn
            data = b""
        if not data and self._pipe in self._selector.get_map():
            self._selector.unregister(self._pipe)  # a closed pipe is always ready
        return data

    def start_turn(self) -> None:
        """Start the child's next turn."""
        with suppress(OSError):  # it is gone, which is detected elsewhere
            self._socket.send(b"\n")

    def memory_bytes(self, limit: int) -> int:
        """Return its processes' memory, exactly only if the estimate is above the limit."""
        processes = members(self.process_id)
        resident = resident_bytes(processes)
        return resident if resident <= limit else proportional_bytes(processes)

    def trim_log(self) -> None:
        """Cut the log down to its end if it is too long."""
        if self._log.stat().st_size > MAX_LOG_BYTES:
            tail = self.log_tail().encode()
            os.truncate(self._log, 0)
            with self._log.open("ab") as log:
                log.write(tail)

    def log_tail(self, *, since: int = 0) -> str:
        """Return the end of the output, or of the output after the first `since` bytes.

        A log that is shorter than `since` has been cut, and all of its end is returned.
        """
        with self._log.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(since if since <= size else 0, size - MAX_LOG_TAIL_BYTES))
            text = log.read(MAX_LOG_TAIL_BYTES).decode(errors="replace")
        return tail_of_text(text, MAX_LOG_TAIL_BYTES)

    def close(self) -> int:
        """Kill the process and its descendants; return its exit status as Popen defines it."""
        if self._watched:
            kill(self.process_id, self.mark)
            self._selector.close()
            for descriptor in self._watched - {self._pipe}:
                os.close(descriptor)
            self._socket.close()
            self._watched.clear()
        status = self._process.wait()
        return exit_status(status) if self._harness.sandbox else status

    def withheld_hint(self, error: str) -> str:
        """Return a sentence on a variable that the child did not get and its error names, or ""."""
        return withheld_hint(self._harness.environment, self._environment, error)

    def withheld_note(self) -> str:
        """Return a line with the names of the variables that the child did not get, or ""."""
        return withheld_note(self._harness.environment, self._environment)
