"""Measures how long a pair of each workload takes, while two sides run at once."""

from collections.abc import Callable
from dataclasses import dataclass, field

from perfledger_runners.children.child_process import ChildContinuation, ChildExit
from perfledger_runners.children.protocol_parser import AnyMessage, DoneMessage, StartedMessage

# Of the stopwatch's keys for files: no id of a workload ends in it.
FILE_MARK = ":"


@dataclass(slots=True, kw_only=True)
class PairStopwatch:
    """A stopwatch that charges all time, once, to the workload that started last.

    Concurrent work of two sides is not counted twice, and a set-up counts for its own workload.
    The key "" has the time that every pair needs: for processes to start, import the framework and
    end. Keys that end in FILE_MARK have the imports of files.
    """

    clock: Callable[[], float]
    since: float
    file_of: Callable[[str], str]
    at: str = ""
    seconds: dict[str, float] = field(default_factory=lambda: {"": 0.0})

    def heard(
        self, message: AnyMessage | ChildContinuation | ChildExit
    ) -> AnyMessage | ChildContinuation | ChildExit:
        """Charge the time passed if a message starts another activity; return the message."""
        match message:
            case StartedMessage():
                self._turn_to(message.workload)
            case ChildContinuation() if message.workload:
                self._turn_to(self.file_of(message.workload) + FILE_MARK)
            case DoneMessage() | ChildExit():
                self._turn_to("")
            case _:
                pass
        return message

    def alone(self) -> dict[str, float]:
        """Return the time of a pair of each workload alone."""
        self._turn_to("")
        shared = self.seconds[""]
        return {
            each: shared + self.seconds.get(self.file_of(each) + FILE_MARK, 0.0) + own
            for each, own in self.seconds.items()
            if each and not each.endswith(FILE_MARK)
        }

    def _turn_to(self, workload: str) -> None:
        now = self.clock()
        self.seconds[self.at] = self.seconds.get(self.at, 0.0) + now - self.since
        self.at, self.since = workload, now
