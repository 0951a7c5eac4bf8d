"""Runs child processes of the user's Python and yields their messages.

A child is not trusted: it may hang, die, fork, or fill the disk, the memory or the descriptor. All
processes that it started are killed when its messages end, whatever the reader does.
"""

import os
import secrets
import selectors
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfledger.protocol import ChildRequest
from perfledger.records import FailureReason
from perfledger_runners.children.harness import (
    MARK_VARIABLE,
    Harness,
    child_environment,
    python_of,
)
from perfledger_runners.children.process_tree import (
    available_bytes,
    kill,
    members,
    proportional_bytes,
    resident_bytes,
)
from perfledger_runners.children.protocol_parser import (
    MAX_LINE_BYTES,
    AnyMessage,
    CountedMessage,
    DoneMessage,
    FailedMessage,
    GarbageError,
    LoadedMessage,
    ProfiledMessage,
    ProtocolState,
    ReadyMessage,
    RunMessage,
    SamplingMessage,
    ServedMessage,
    StartedMessage,
    TurnMessage,
    failed_message,
)
from perfledger_runners.safe_text import MAX_LOG_TAIL_BYTES, last_line, tail_of_text

# Interval between checks of the child's memory and log; its messages and its exit wake the agent.
POLL_S = 0.25
# After its last message: an interpreter with torch and a device takes a second or two to exit.
GRACE_S = 15.0
READ_BYTES = 2**16
# 2,000 workloads with 200 samples each are a tenth of it.
MAX_ANSWER_BYTES = 64 * 2**20
# Endless output would fill the disk: beyond this, the log is cut to its end.
MAX_LOG_BYTES = 32 * 2**20
MAX_LAST_LINE = 500
# The rest is for the agent, the system, and errors of the kernel's estimate.
MEMORY_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class ChildExit:
    """The last message of every child, when all of its processes are gone, with its log's end.

    `own_tails` is the output of each failed workload alone.
    """

    log_tail: str
    own_tails: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ChildContinuation:
    """The message after READY: the child continues, and its reader may do other work meanwhile."""

    workload: str


def run_request(
    harness: Harness, request: ChildRequest, *, first: "Child | None" = None
) -> Generator[AnyMessage | ChildContinuation | ChildExit]:
    """Yield a result for each of the request's workloads, from as many children as needed.

    A child that dies fails only its current workload: the remaining ones get another child. A child
    that dies before its first workload fails all of them. Every child's messages end with
    ChildExit. `first` is a child that was started with this request.
    """
    waiting: tuple[str, ...] = request.workloads
    while waiting:
        finished: set[str] = set()
        ended = ChildExit("")
        child, first = first, None
        for message in run_child(harness, replace(request, workloads=waiting), child=child):
            match message:
                case ChildExit():
                    ended = message
                case FailedMessage(workload=""):
                    if not finished:
                        finished.update(waiting)
                        yield from (
                            failed_message(each, message.reason, message.detail) for each in waiting
                        )
                case (
                    RunMessage()
                    | ProfiledMessage()
                    | CountedMessage()
                    | LoadedMessage()
                    | FailedMessage()
                ):
                    finished.add(message.workload)
                    yield message
                case _:
                    yield message
        if not finished:
            finished.update(waiting)
            reason = "its process ended without an error and without a result"
            yield from (failed_message(each, FailureReason.RAISED, reason) for each in waiting)
        yield ended
        waiting = tuple(workload for workload in waiting if workload not in finished)


def run_child(
    harness: Harness, request: ChildRequest, *, child: "Child | None" = None
) -> Generator[AnyMessage | ChildContinuation | ChildExit]:
    """Run one child and yield its messages, then a failure if it did not end well.

    A FailedMessage without a workload concerns the child: no workload was running. `child` is one
    that was started with this request; without it one is started now.
    """
    try:
        child = child or Child(harness, request)
    except OSError as error:
        yield failed_message(
            "", FailureReason.PYTHON, f"{python_of(harness, request)} cannot be started: {error}"
        )
        yield ChildExit("")
        return
    own_tails: dict[str, str] = {}
    try:
        for message in _messages_of(child, harness, request):
            match message:
                case StartedMessage():
                    child.log_from = message.log_bytes
                case FailedMessage():
                    own_tails[message.workload] = child.log_tail(since=child.log_from)
                case _:
                    pass
            yield message
    finally:
        child.close()
    yield ChildExit(child.log_tail(), own_tails)


class Child:
    """A child process in its own session; `close` kills all of its processes."""

    def __init__(self, harness: Harness, request: ChildRequest) -> None:
        folder = Path(tempfile.mkdtemp(prefix="child-", dir=harness.folder))
        arguments = (str(folder / "request.json"),)
        request.write(folder / "request.json")
        self._log = folder / "log"
        mark = secrets.token_hex(16)
        self.mark = f"{MARK_VARIABLE}={mark}"  # in the environment of all its descendants
        # A socket, because the agent writes to it to start a turn.
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._pipe, descriptor = self._socket.fileno(), theirs.fileno()
        # Opened for appending, so that output continues at the new end after a cut.
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - running the user's code is the point
                [str(python_of(harness, request)), "-P", "-m", "perfledger", *arguments],
                cwd=request.root,
                env=child_environment(harness, request, descriptor=descriptor, mark=mark),
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
        return self._process.wait()


def start_early(harness: Harness, request: ChildRequest, stack: ExitStack) -> Child | None:
    """Start the child of an interleaved request now; return None for other requests.

    Both sides then import and set up at the same time, which takes longer than measuring. A child
    that cannot be started is tried again when its side is read, and reported.
    """
    if not request.is_interleaved:
        return None
    with suppress(OSError):
        child = Child(harness, request)
        stack.callback(child.close)
        return child
    return None


class _LimitWatch:
    """A watch over the limits of one child."""

    def __init__(self, child: Child, harness: Harness) -> None:
        self._child = child
        self._limits = harness.limits
        self._clock = harness.clock
        self._phase = "starting up"
        self._allowed_s = harness.limits.startup_s
        self._since = self._clock()
        available = available_bytes()
        self._memory = harness.limits.memory_bytes
        if self._memory is None and available is not None:
            self._memory = int(MEMORY_SHARE * available)
        self._looked_at = self._since

    def hear(self, message: AnyMessage) -> None:
        """Set the time limit of the child's current phase."""
        match message:
            case SamplingMessage() | TurnMessage():
                self._phase = "being measured"  # within the workload's limit, from its start
                return
            case ReadyMessage():
                return
            case ServedMessage():
                self._phase, self._allowed_s = "under load", self._limits.workload_s
            case StartedMessage():
                self._phase, self._allowed_s = "setting up or warming up", self._limits.workload_s
            case DoneMessage():
                self._phase, self._allowed_s = "ending", GRACE_S
            case _:
                self._phase, self._allowed_s = "between workloads", self._limits.startup_s
        self._since = self._clock()

    def wait(self, seconds: float) -> None:
        """Exclude the time of the other side's turn."""
        self._since += seconds

    def trouble(self) -> tuple[FailureReason, str] | None:
        """Return the exceeded limit, if any."""
        now = self._clock()
        if now - self._since > self._allowed_s:
            return FailureReason.HUNG, f"no end within {self._allowed_s:g} s while {self._phase}"
        if now - self._looked_at < POLL_S:
            return None
        self._looked_at = now
        self._child.trim_log()
        if self._memory is None:
            return None
        used = self._child.memory_bytes(self._memory)
        if used <= self._memory:
            return None
        return (
            FailureReason.OUT_OF_MEMORY,
            f"used {used} bytes of memory: the limit is {self._memory}",
        )


def _messages_of(
    child: Child, harness: Harness, request: ChildRequest
) -> Iterator[AnyMessage | ChildContinuation]:
    state = ProtocolState(request.command, frozenset(request.workloads))
    watch = _LimitWatch(child, harness)
    rest, total = b"", 0
    while True:
        is_over = child.has_exited()  # checked first, so that all of its output is readable
        data = child.read()
        total += len(data)
        *lines, rest = (rest + data).split(b"\n")
        try:
            for line in lines:
                yield from _pass_on(state.accept(line), child, watch, harness)
            _check_size(rest, total)
        except GarbageError as error:
            yield failed_message(state.current, FailureReason.GARBAGE, str(error))
            return
        if is_over and not data:
            break
        trouble = watch.trouble()
        if trouble is not None:
            if not state.is_done:
                yield failed_message(state.current if state.is_in_workload else "", *trouble)
            return
    if not state.is_done:
        yield _failure_at_exit(child, state.current if state.is_in_workload else "")


def _pass_on(
    message: AnyMessage, child: Child, watch: _LimitWatch, harness: Harness
) -> Iterator[AnyMessage | ChildContinuation]:
    """Pass a message on; a child that waits for its turn gets it when the reader returns."""
    watch.hear(message)
    asked_at = harness.clock()
    yield message
    if isinstance(message, ReadyMessage | TurnMessage):
        watch.wait(harness.clock() - asked_at)
        child.start_turn()
    if isinstance(message, ReadyMessage):
        yield ChildContinuation(message.workload)


def _check_size(rest: bytes, total: int) -> None:
    if len(rest) > MAX_LINE_BYTES or total > MAX_ANSWER_BYTES:
        msg = f"more bytes on perfledger's descriptor ({total}) than the harness writes"
        raise GarbageError(msg)


def _failure_at_exit(child: Child, workload: str) -> FailedMessage:
    status = child.close()
    printed = child.log_tail(since=child.log_from if workload else 0)
    last = last_line(printed)[:MAX_LAST_LINE] or "it printed nothing"
    if status >= 0:
        detail = f"the process ended with exit status {status} before it was done: {last}"
        return failed_message(workload, FailureReason.RAISED, detail)
    name = signal.Signals(-status).name
    if -status == signal.SIGKILL:
        detail = f"{name}: probably the out-of-memory killer, or a limit of the machine; {last}"
    else:
        detail = f"{name}: {last}"
    return failed_message(workload, FailureReason.KILLED, detail)
