"""Runs child processes of the user's Python and yields their messages.

A child is not trusted: it may hang, die, fork, or fill the disk, the memory or the descriptor. All
processes that it started are killed when its messages end, whatever the reader does.
"""

import signal
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace

from msgspec import structs

from perfledger.measuring.rank_link import ENDED_EARLY
from perfledger.protocol import PROTOCOL_VERSION, ChildRequest
from perfledger.records import FailureReason
from perfledger_runners.children.child import Child
from perfledger_runners.children.harness import Harness, python_of
from perfledger_runners.children.launch import LaunchError
from perfledger_runners.children.limit_watch import LimitWatch
from perfledger_runners.children.protocol_parser import (
    MAX_LINE_BYTES,
    AnyMessage,
    BrokenMessage,
    CountedMessage,
    FailedMessage,
    GarbageError,
    LoadedMessage,
    NoForkMessage,
    ProfiledMessage,
    ReadyMessage,
    RunMessage,
    StartedMessage,
    TurnMessage,
    WindowsMessage,
    failed_message,
)
from perfledger_runners.children.protocol_state import ProtocolState
from perfledger_runners.children.rank_sockets import DIED
from perfledger_runners.children.window_files import WindowFiles
from perfledger_runners.safe_text import MAX_DETAIL, last_line

# 2,000 workloads with 200 samples each take a tenth of it.
MAX_ANSWER_BYTES = 64 * 2**20
MAX_LAST_LINE = 500
# Failures that a withheld variable may explain.
VARIABLE_REASONS = {FailureReason.RAISED, FailureReason.KILLED, FailureReason.NO_DEVICE}


@dataclass(frozen=True, slots=True)
class ChildExit:
    """The last message of every child, sent when all of its processes are gone, with its log's end.

    `own_tails` is the output of each failed workload alone; `withheld` lists the variables that the
    child did not get, if that may have caused a failure.
    """

    log_tail: str
    own_tails: Mapping[str, str] = field(default_factory=dict[str, str])
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class ChildContinuation:
    """The message after READY: the child continues, and its reader may do other work meanwhile."""

    workload: str


def run_request(
    harness: Harness,
    request: ChildRequest,
    *,
    first: Child | None = None,
    is_repeating: bool = True,
) -> Generator[AnyMessage | ChildContinuation | ChildExit]:
    """Yield a result for each of the request's workloads, from as many children as needed.

    A child that forks runs all of them, otherwise each has its own child. Those that it refuses to
    fork for are asked for again, unless `is_repeating` is False: each file's of a child of their
    own, and where this refuses as well, each of its own. A child that dies fails only its current
    workload, or after its run loses only its profiled windows: the remaining workloads get another
    child. A child that dies before its first workload fails all of them, or those of the file that
    it has begun to import. Every child's messages end with ChildExit. `first` is a child that was
    started with this request.
    """
    requests = [request]
    while requests:
        waiting = requests.pop(0)
        child_request = harness.first_child_of(waiting)
        answered = _Answered()
        yield from _answers(harness, child_request, first, answered)
        first = None
        refused = tuple(filter(answered.refused.__contains__, child_request.workloads))
        left = tuple(each for each in waiting.workloads if each not in answered)
        requests[:0] = [
            *(_separate_requests(child_request, refused) if is_repeating else ()),
            *([replace(waiting, workloads=left)] if left else ()),
        ]


@dataclass(slots=True)
class _Answered:
    """The workloads of which one child has sent a result, or a refusal to fork."""

    finished: set[str] = field(default_factory=set[str])
    refused: set[str] = field(default_factory=set[str])
    next_one: str = ""  # for which the child was last ready

    def __contains__(self, workload: str) -> bool:
        return workload in self.finished or workload in self.refused

    def lose(self, request: ChildRequest) -> list[str]:
        """Finish and return what a child without any result fails: of a file, if it began one."""
        if self.finished:
            return []
        left = [each for each in request.workloads if each not in self]
        file = request.file_of(self.next_one)
        lost = [each for each in left if request.file_of(each) == file] or left
        self.finished.update(lost)
        return lost


def _answers(
    harness: Harness, request: ChildRequest, child: Child | None, answered: _Answered
) -> Generator[AnyMessage | ChildContinuation | ChildExit]:
    """Yield the messages of one child, noting in `answered` what they answer."""
    ended = ChildExit("")
    for message in run_child(harness, request, child=child):
        match message:
            case ChildExit():
                ended = message
            case FailedMessage(workload=""):
                lost = answered.lose(request)
                yield from (failed_message(each, message.reason, message.detail) for each in lost)
            case ReadyMessage():
                answered.next_one = message.workload
                yield message
            case (
                RunMessage()
                | ProfiledMessage()
                | CountedMessage()
                | LoadedMessage()
                | FailedMessage()
            ):
                answered.finished.add(message.workload)
                yield message
            case NoForkMessage():
                answered.refused.update(message.workloads)
                yield message
            case _:
                yield message
    if not answered.refused:
        reason = "its process ended without an error and without a result"
        lost = answered.lose(request)
        yield from (failed_message(each, FailureReason.RAISED, reason) for each in lost)
    yield ended


def _separate_requests(request: ChildRequest, refused: tuple[str, ...]) -> list[ChildRequest]:
    """Return the requests for workloads that the child of a request refused to fork for."""
    is_one_file = len(request.by_file()) == 1
    return [
        replace(request, workloads=names, is_forking=not is_one_file)
        for names in replace(request, workloads=refused).by_file()
    ]


def run_child(
    harness: Harness, request: ChildRequest, *, child: Child | None = None
) -> Generator[AnyMessage | ChildContinuation | ChildExit]:
    """Run one child and yield its messages, then a failure if it did not end well.

    A FailedMessage without a workload concerns the child: no workload was running. `child` was
    already started with this request; without it, one is started now.
    """
    if child is None and harness.seconds_left() <= 0:
        yield failed_message("", FailureReason.BUDGET, "the budget ended before its process began")
        yield ChildExit("")
        return
    new_child = child or _start(harness, request)
    if isinstance(new_child, FailedMessage):
        yield new_child
        yield ChildExit("")
        return
    child = new_child
    own_tails: dict[str, str] = {}
    withheld = ""
    try:
        for message in _messages_of(child, harness, request):
            match message:
                case StartedMessage():
                    child.log_from = message.log_bytes
                case FailedMessage() | BrokenMessage() if message.reason in VARIABLE_REASONS:
                    withheld = child.withheld_note(message.detail) or withheld
                case _:
                    pass
            if isinstance(message, FailedMessage):
                tail = child.log_tail(since=child.log_from)
                own_tails[message.workload] = _join(tail, withheld)
            yield _with_hint(message, child)
    finally:
        child.close()
    yield ChildExit(_join(child.log_tail(), withheld), own_tails, withheld)


def _start(harness: Harness, request: ChildRequest) -> Child | FailedMessage:
    """Start a child, or return why it cannot be started."""
    try:
        return Child(harness, request)
    except LaunchError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{python_of(harness, request)} cannot be started: {error}"
    return failed_message("", FailureReason.PYTHON, reason)


def _with_hint(
    message: AnyMessage | ChildContinuation, child: Child
) -> AnyMessage | ChildContinuation:
    """Name the variables that a failure mentions and that were withheld from the child."""
    match message:
        case FailedMessage() | BrokenMessage() if message.reason in VARIABLE_REASONS:
            hint = child.withheld_hint(message.detail)
            detail = f"{message.detail}; {hint}" if hint else message.detail
            return structs.replace(message, detail=detail[:MAX_DETAIL])
        case _:
            return message


def _join(text: str, line: str) -> str:
    """Return a text with a line appended."""
    return "\n".join(filter(None, (text.rstrip("\n"), line))) if line else text


def start_early(harness: Harness, request: ChildRequest, stack: ExitStack) -> Child | None:
    """Start the child of an interleaved request now; return None for other requests.

    Both sides then import and set up at the same time, which takes longer than measuring. A child
    that cannot be started is retried when its side is read, and then reported.
    """
    if not request.is_interleaved:
        return None
    with suppress(OSError, LaunchError):
        child = Child(harness, harness.first_child_of(request))
        stack.callback(child.close)
        return child
    return None


def _messages_of(
    child: Child, harness: Harness, request: ChildRequest
) -> Iterator[AnyMessage | ChildContinuation]:
    windowed = frozenset(filter(request.has_windows, request.workloads))
    state = ProtocolState(
        request.command, frozenset(request.workloads), windowed, is_forking=request.is_forking
    )
    watch = LimitWatch(child, harness, windowed=windowed)
    rest, total = b"", 0
    while True:
        is_over = child.has_exited()  # checked first, so that all of its output is readable
        data = child.read()
        total += len(data)
        *lines, rest = (rest + data).split(b"\n")
        try:
            for line in lines:
                message = _by_rank(state.accept(line), child, state)
                yield from _pass_on(message, child, watch, harness)
            _check_size(rest, total)
        except GarbageError as error:
            yield failed_message(state.current, FailureReason.GARBAGE, str(error))
            return
        if is_over and not data:
            break
        if child.is_launched and (state.has_failed or (state.is_done and not state.awaits_end)):
            return  # its other ranks may wait for each other forever
        if trouble := _rank_trouble(child, state) or _with_missing(watch.trouble(), child):
            yield from () if state.is_done else (_lost_message(state, *trouble),)
            return
    if not state.is_done:
        yield _lost_message(state, *(_rank_trouble(child, state) or _trouble_at_exit(child, state)))


def _rank_trouble(child: Child, state: ProtocolState) -> tuple[FailureReason, str] | None:
    """Return the first failure of a rank, with the last output of a dead rank's launch.

    The ranks of a launcher that a signal has ended end with it: then its signal is the failure.
    """
    trouble = child.rank_trouble()
    if trouble is None or not trouble[1].endswith(DIED):
        return trouble
    if child.was_killed():
        return _trouble_at_exit(child, state)
    return trouble[0], f"{trouble[1]}; the last output: {_last_output(child, state)}"


def _by_rank(message: AnyMessage, child: Child, state: ProtocolState) -> AnyMessage:
    """Name the rank that failed first; rank 0 fails if another one does, and the reverse."""
    if not isinstance(message, FailedMessage):
        return message
    trouble = _rank_trouble(child, state)
    if trouble is None:
        return message
    if ENDED_EARLY in trouble[1] and ENDED_EARLY not in message.detail:
        return message
    return structs.replace(message, reason=trouble[0], detail=trouble[1][:MAX_DETAIL])


def _with_missing(
    trouble: tuple[FailureReason, str] | None, child: Child
) -> tuple[FailureReason, str] | None:
    """Name the ranks for which a hanging child waits."""
    if trouble is None or not child.missing_ranks():
        return trouble
    ranks = ", ".join(map(str, child.missing_ranks()))
    return trouble[0], f"{trouble[1]}; these ranks did not start: {ranks}"


def _pass_on(
    message: AnyMessage, child: Child, watch: LimitWatch, harness: Harness
) -> Iterator[AnyMessage | ChildContinuation]:
    """Pass a message on; a child that waits for its turn gets it when the reader returns."""
    watch.hear(message)
    asked_at = harness.clock()
    child.is_stopped = isinstance(message, ReadyMessage | TurnMessage)
    last_core = harness.last_core
    if isinstance(message, TurnMessage) and last_core is not None:
        last_core.number = message.core
    yield message
    if child.is_stopped:
        watch.wait(harness.clock() - asked_at)
        child.start_turn(None if last_core is None else last_core.number)
    if isinstance(message, ReadyMessage):
        yield ChildContinuation(message.workload)


def _check_size(rest: bytes, total: int) -> None:
    if len(rest) > MAX_LINE_BYTES or total > MAX_ANSWER_BYTES:
        msg = f"more bytes on perfledger's descriptor ({total}) than the harness writes"
        raise GarbageError(msg)


def _lost_message(state: ProtocolState, reason: FailureReason, detail: str) -> AnyMessage:
    """Return what a dead child loses: its workload, or only the windows if its run is complete."""
    if state.is_in_windows:
        lost = WindowFiles(reason=f"{reason}: {detail}"[:MAX_DETAIL])
        return WindowsMessage(version=PROTOCOL_VERSION, workload=state.current, windows=lost)
    return failed_message(state.current if state.is_in_workload else "", reason, detail)


def _last_output(child: Child, state: ProtocolState) -> str:
    printed = child.log_tail(since=child.log_from if state.is_in_workload else 0)
    return last_line(printed)[:MAX_LAST_LINE] or "it printed nothing"


def _trouble_at_exit(child: Child, state: ProtocolState) -> tuple[FailureReason, str]:
    """Return why a child ended before it was finished."""
    status = child.close()
    last = _last_output(child, state)
    if status >= 0:
        detail = f"the process ended with exit status {status} before it was done: {last}"
        return FailureReason.RAISED, detail
    name = _signal_name(-status)
    if -status == signal.SIGKILL:
        cause = "probably the out-of-memory killer, or a limit of the machine"
        return FailureReason.KILLED, f"{name}: {cause}; {last}"
    return FailureReason.KILLED, f"{name}: {last}"


def _signal_name(number: int) -> str:
    """Return the name of a signal; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
