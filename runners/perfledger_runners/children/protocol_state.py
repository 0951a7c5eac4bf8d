"""Tracks a child's messages, and rejects any that is out of order."""

from dataclasses import dataclass, field

from perfledger.protocol import Command
from perfledger_runners.children.protocol_parser import (
    AnyMessage,
    BrokenMessage,
    CalledMessage,
    CompilingMessage,
    CountedMessage,
    DoneMessage,
    EndedMessage,
    FactsMessage,
    FailedMessage,
    GarbageError,
    ImportingMessage,
    LeftOutMessage,
    LoadedMessage,
    NoForkMessage,
    NoteMessage,
    ProfiledMessage,
    ReadyMessage,
    RunMessage,
    SamplingMessage,
    ServedMessage,
    StartedMessage,
    TurnMessage,
    WindowsMessage,
    WorkloadMessage,
    decode_message,
)


@dataclass(slots=True)
class ProtocolState:
    """The state of a child's answers, which decides what message may come next.

    A `windowed` workload has no result until windows have followed its run. Only a child that
    `is_forking`, or lists workloads, may refuse to fork.
    """

    command: Command
    requested: frozenset[str]  # empty: any workload
    windowed: frozenset[str] = frozenset()
    is_forking: bool = False
    current: str = ""  # the last workload that started
    finished: set[str] = field(default_factory=set[str])
    is_in_windows: bool = False  # whether the current workload has its run
    is_done: bool = False
    has_failed: bool = False  # any workload
    has_ended: bool = False  # the process of the last workload

    @property
    def is_in_workload(self) -> bool:
        """Return whether a workload has started and has no result yet."""
        return self.current != "" and self.current not in self.finished

    @property
    def awaits_end(self) -> bool:
        """Return whether the process of a measured workload still runs its exit functions."""
        return self.command is Command.MEASURE and not self.has_ended

    def accept(self, line: bytes) -> AnyMessage:
        """Return the line's message if it is allowed now; raise GarbageError."""
        message = decode_message(line)
        is_late = self.is_done and not isinstance(message, EndedMessage)
        if is_late or not self._may_come(message):
            msg = f"the child sent {message.__struct_config__.tag!r} out of order"
            raise GarbageError(msg)
        self.has_ended |= isinstance(message, EndedMessage)
        match message:
            case StartedMessage():
                self.current = message.workload
            case RunMessage() if message.workload in self.windowed:
                self.is_in_windows = True
            case (
                RunMessage()
                | WindowsMessage()
                | ProfiledMessage()
                | CountedMessage()
                | CalledMessage()
                | LoadedMessage()
                | FailedMessage()
            ):
                self.has_failed |= isinstance(message, FailedMessage)
                self.finished.add(message.workload)
                self.is_in_windows = False
            case DoneMessage():
                self.is_done = True
            case NoForkMessage():
                self.finished.update(message.workloads)
            case (
                FactsMessage()
                | WorkloadMessage()
                | BrokenMessage()
                | LeftOutMessage()
                | NoteMessage()
                | ImportingMessage()
                | CompilingMessage()
                | ReadyMessage()
                | SamplingMessage()
                | TurnMessage()
                | ServedMessage()
                | EndedMessage()
            ):
                pass
        return message

    def _may_come(self, message: AnyMessage) -> bool:
        match message:
            case FactsMessage():
                return self.current == ""
            case NoForkMessage():
                is_possible = self.is_forking and not self.is_in_workload
                are_open = is_possible and all(map(self._is_open, message.workloads))
                return are_open or self.command is Command.LIST
            case (
                WorkloadMessage()
                | BrokenMessage()
                | LeftOutMessage()
                | NoteMessage()
                | ImportingMessage()
            ):
                return self.command is Command.LIST
            case ReadyMessage() | StartedMessage() | DoneMessage() | EndedMessage():
                return not self.is_in_workload and self._may_follow(message)
            case (
                CompilingMessage()
                | SamplingMessage()
                | TurnMessage()
                | RunMessage()
                | WindowsMessage()
                | ProfiledMessage()
                | CountedMessage()
                | CalledMessage()
                | ServedMessage()
                | LoadedMessage()
            ):
                is_current = self.is_in_workload and message.workload == self.current
                return is_current and self._is_in_place(message)
            case FailedMessage():
                return self._is_open(message.workload)

    def _may_follow(
        self, message: ReadyMessage | StartedMessage | DoneMessage | EndedMessage
    ) -> bool:
        """Return whether an open workload, or the end, may come now."""
        if isinstance(message, EndedMessage):  # of the workload that ran last
            return self.command is Command.MEASURE and message.workload == self.current
        if isinstance(message, DoneMessage) or (
            isinstance(message, ReadyMessage) and message.workload == ""
        ):
            return True
        return self._is_open(message.workload) and self.command is not Command.LIST

    def _is_in_place(self, message: AnyMessage) -> bool:
        """Return whether a run comes before windows, and windows after a run."""
        match message:
            case RunMessage():
                return not self.is_in_windows
            case WindowsMessage():
                return self.is_in_windows
            case _:
                return True

    def _is_open(self, workload: str) -> bool:
        return workload not in self.finished and (not self.requested or workload in self.requested)


def ends_with_stop(lines: bytes) -> bool:
    """Return whether the last of a child's messages says that it waits for its turn."""
    *_, last, rest = (b"", *lines.split(b"\n"))
    try:
        return rest == b"" and isinstance(decode_message(last), ReadyMessage | TurnMessage)
    except GarbageError:  # it is refused when it is read
        return False
