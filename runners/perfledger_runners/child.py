"""A request in, what child processes of the user's Python say about it out, message by message.

A child is never trusted: it may hang, die, fork, fill the disk, the memory or the descriptor. All
that it started is ended when its messages end, whatever the reader does.
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

from perfledger.protocol import Request
from perfledger.records import Why
from perfledger_runners.harness import MARK_VARIABLE, Harness, child_environment
from perfledger_runners.messages import (
    MAX_LINE_BYTES,
    Answer,
    Conversation,
    Counted,
    Done,
    Failed,
    GarbageError,
    Loaded,
    PointServed,
    Profiled,
    Ran,
    Ready,
    Sampling,
    Started,
    Turn,
    failed,
)
from perfledger_runners.processes import (
    available_bytes,
    kill,
    members,
    proportional_bytes,
    resident_bytes,
)
from perfledger_runners.text import MAX_LOG_TAIL_BYTES, last_line, tail

# Between two looks at the child's memory and log; what it says, and its end, wake us at once.
POLL_S = 0.25
# After its last word: an interpreter with torch and a device takes a second or two to go.
GRACE_S = 15.0
READ_BYTES = 2**16
# 2,000 workloads with 200 samples each are a tenth of it.
MAX_ANSWER_BYTES = 64 * 2**20
# A workload that prints without end would fill the disk: beyond this, the log begins anew.
MAX_LOG_BYTES = 32 * 2**20
MAX_LAST_LINE = 500
# The rest is for the agent, the system, and what the kernel's estimate forgets.
MEMORY_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Ended:
    """The last message of every child: all of it is gone, and this is the end of its log.

    `own_tails` is what each workload that failed had printed itself, and none before it.
    """

    log_tail: str
    own_tails: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Going:
    """Follows Ready: the child goes on, and its reader may do something else meanwhile."""

    workload: str


def run_request(
    harness: Harness, request: Request, *, first: "Child | None" = None
) -> Generator[Answer | Going | Ended]:
    """Yield a result for each of the request's workloads, from as many children as it takes.

    A child that dies takes with it only the workload that it was at: those that it had not reached
    get another child. One that dies before it reached any takes them all. Every child's messages
    end with Ended. `first` is a child that was started with this very request.
    """
    waiting: tuple[str, ...] = request.workloads
    while waiting:
        settled: set[str] = set()
        ended = Ended("")
        child, first = first, None
        for message in run_child(harness, replace(request, workloads=waiting), child=child):
            match message:
                case Ended():
                    ended = message
                case Failed(workload=""):
                    if not settled:
                        settled.update(waiting)
                        yield from (failed(each, message.why, message.detail) for each in waiting)
                case Ran() | Profiled() | Counted() | Loaded() | Failed():
                    settled.add(message.workload)
                    yield message
                case _:
                    yield message
        if not settled:
            settled.update(waiting)
            reason = "its process ended well, but without a word about it"
            yield from (failed(each, Why.RAISED, reason) for each in waiting)
        yield ended
        waiting = tuple(workload for workload in waiting if workload not in settled)


def run_child(
    harness: Harness, request: Request, *, child: "Child | None" = None
) -> Generator[Answer | Going | Ended]:
    """Run one child and yield what it says, then what became of it if it did not end well.

    A Failed without a workload is about the child: no workload was under way. `child` is one that
    was started with this request, else it is started now.
    """
    try:
        child = child or Child(harness, request)
    except OSError as error:
        yield failed("", Why.PYTHON, f"{harness.python} cannot be started: {error}")
        yield Ended("")
        return
    own_tails: dict[str, str] = {}
    try:
        for message in _converse(child, harness, request):
            match message:
                case Started():
                    child.log_from = message.log_bytes
                case Failed():
                    own_tails[message.workload] = child.log_tail(since=child.log_from)
                case _:
                    pass
            yield message
    finally:
        child.close()
    yield Ended(child.log_tail(), own_tails)


class Child:
    """A child process in a session of its own; `close` ends all of it."""

    def __init__(self, harness: Harness, request: Request) -> None:
        folder = Path(tempfile.mkdtemp(prefix="child-", dir=harness.folder))
        request.write(folder / "request.json")
        self._log = folder / "log"
        mark = secrets.token_hex(16)
        self.mark = f"{MARK_VARIABLE}={mark}"  # in the environment of all that it starts
        # A socket: what comes back on it says whose turn it is.
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._pipe, descriptor = self._socket.fileno(), theirs.fileno()
        # Appending: after it was cut, the next thing printed goes to its new end.
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - running the user's code is the point
                [str(harness.python), "-P", "-m", "perfledger", str(folder / "request.json")],
                cwd=request.root,
                env=child_environment(
                    harness, device=request.device, descriptor=descriptor, mark=mark
                ),
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
        self.log_from = 0  # where the output begins of the workload that it is at
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._pipe, selectors.EVENT_READ)
        self._watched = {self._pipe}
        if hasattr(os, "pidfd_open"):  # Linux; elsewhere its end is seen at the next look
            end = os.pidfd_open(self.process_id)
            self._selector.register(end, selectors.EVENT_READ)
            self._watched.add(end)

    def has_exited(self) -> bool:
        """Whether the process is over; it stays a zombie, so that its number is not used again."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process_id, flags) is not None

    def read(self) -> bytes:
        """Wait a moment for the child to say something or to end; return what it said."""
        self._selector.select(POLL_S)
        try:
            said = os.read(self._pipe, READ_BYTES)
        except BlockingIOError:
            return b""
        except ConnectionError:  # it ended with a turn not taken
            said = b""
        if not said and self._pipe in self._selector.get_map():
            self._selector.unregister(self._pipe)  # closed: it would wake us for ever
        return said

    def give_turn(self) -> None:
        """Let the child take its next steps."""
        with suppress(OSError):  # it is gone, which is found out elsewhere
            self._socket.send(b"\n")

    def memory_bytes(self, limit: int) -> int:
        """Return the memory its processes hold, exactly only when it is about the limit."""
        processes = members(self.process_id)
        held = resident_bytes(processes)
        return held if held <= limit else proportional_bytes(processes)

    def trim_log(self) -> None:
        """Cut the log down to its end if it has grown too long."""
        if self._log.stat().st_size > MAX_LOG_BYTES:
            kept = self.log_tail().encode()
            os.truncate(self._log, 0)
            with self._log.open("ab") as log:
                log.write(kept)

    def log_tail(self, *, since: int = 0) -> str:
        """Return the end of what was printed, or of what came after the first `since` bytes.

        A log that is shorter than that was cut since, and all of its end is returned.
        """
        with self._log.open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(since if since <= size else 0, size - MAX_LOG_TAIL_BYTES))
            text = log.read(MAX_LOG_TAIL_BYTES).decode(errors="replace")
        return tail(text, MAX_LOG_TAIL_BYTES)

    def close(self) -> int:
        """End the process and all that it started; return its exit status, as Popen has it."""
        if self._watched:
            kill(self.process_id, self.mark)
            self._selector.close()
            for descriptor in self._watched - {self._pipe}:
                os.close(descriptor)
            self._socket.close()
            self._watched.clear()
        return self._process.wait()


def start_early(harness: Harness, request: Request, stack: ExitStack) -> Child | None:
    """Start the child of a request that takes turns; None where one starts when it is read.

    So both sides import and set up at once: that takes longer than measuring. One that cannot be
    started is tried again when the side is read, and reported.
    """
    if not request.takes_turns:
        return None
    with suppress(OSError):
        child = Child(harness, request)
        stack.callback(child.close)
        return child
    return None


class _Watch:
    """The limits of one child: says when one of them is crossed."""

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

    def hear(self, message: Answer) -> None:
        """Give the child the time that what it is at now may take."""
        match message:
            case Sampling() | Turn():
                self._phase = "being measured"  # within its time, which runs from its start
                return
            case Ready():
                return
            case PointServed():
                self._phase, self._allowed_s = "under load", self._limits.workload_s
            case Started():
                self._phase, self._allowed_s = "setting up or warming up", self._limits.workload_s
            case Done():
                self._phase, self._allowed_s = "ending", GRACE_S
            case _:
                self._phase, self._allowed_s = "between workloads", self._limits.startup_s
        self._since = self._clock()

    def wait(self, seconds: float) -> None:
        """Leave out the time in which it was the other side's turn."""
        self._since += seconds

    def trouble(self) -> tuple[Why, str] | None:
        """Return which limit is crossed, if one is."""
        now = self._clock()
        if now - self._since > self._allowed_s:
            return Why.HUNG, f"no end within {self._allowed_s:g} s while {self._phase}"
        if now - self._looked_at < POLL_S:
            return None
        self._looked_at = now
        self._child.trim_log()
        if self._memory is None:
            return None
        held = self._child.memory_bytes(self._memory)
        if held <= self._memory:
            return None
        return Why.OUT_OF_MEMORY, f"held {held} bytes of memory: {self._memory} are allowed"


def _converse(child: Child, harness: Harness, request: Request) -> Iterator[Answer | Going]:
    talk = Conversation(request.command, frozenset(request.workloads))
    watch = _Watch(child, harness)
    rest, total = b"", 0
    while True:
        is_over = child.has_exited()  # asked first: all that it said is then there to be read
        said = child.read()
        total += len(said)
        *lines, rest = (rest + said).split(b"\n")
        try:
            for line in lines:
                yield from _heard(talk.accept(line), child, watch, harness)
            _check_size(rest, total)
        except GarbageError as error:
            yield failed(talk.current, Why.GARBAGE, str(error))
            return
        if is_over and not said:
            break
        trouble = watch.trouble()
        if trouble is not None:
            if not talk.is_done:
                yield failed(talk.current if talk.is_in_workload else "", *trouble)
            return
    if not talk.is_done:
        yield _death(child, talk.current if talk.is_in_workload else "")


def _heard(
    message: Answer, child: Child, watch: _Watch, harness: Harness
) -> Iterator[Answer | Going]:
    """Pass a message on; a child that asks for its turn has it when the reader comes back."""
    watch.hear(message)
    asked_at = harness.clock()
    yield message
    if isinstance(message, Ready | Turn):
        watch.wait(harness.clock() - asked_at)
        child.give_turn()
    if isinstance(message, Ready):
        yield Going(message.workload)


def _check_size(rest: bytes, total: int) -> None:
    if len(rest) > MAX_LINE_BYTES or total > MAX_ANSWER_BYTES:
        msg = f"more bytes on perfledger's descriptor ({total}) than it ever writes"
        raise GarbageError(msg)


def _death(child: Child, workload: str) -> Failed:
    status = child.close()
    printed = child.log_tail(since=child.log_from if workload else 0)
    last = last_line(printed)[:MAX_LAST_LINE] or "it printed nothing"
    if status >= 0:
        detail = f"the process ended with exit status {status} before it was done: {last}"
        return failed(workload, Why.RAISED, detail)
    name = signal.Signals(-status).name
    if -status == signal.SIGKILL:
        detail = f"{name}: probably the out-of-memory killer, or a limit of the machine; {last}"
    else:
        detail = f"{name}: {last}"
    return failed(workload, Why.KILLED, detail)
