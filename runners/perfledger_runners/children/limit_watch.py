"""Watches the limits of one child: its time, its memory and the budget of the check."""

from collections.abc import Collection

from perfledger.records import FailureReason
from perfledger.rounding import typed
from perfledger_runners.children.child import POLL_S, Child
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.process_tree import available_bytes
from perfledger_runners.children.protocol_parser import (
    AnyMessage,
    DoneMessage,
    ReadyMessage,
    RunMessage,
    SamplingMessage,
    ServedMessage,
    StartedMessage,
    TurnMessage,
)

# After the last message: an interpreter with torch and a device takes a second or two to exit.
GRACE_S = 15.0
# The rest is for the agent, the system, and errors in the kernel's estimate.
MEMORY_SHARE = 0.9
PROFILED = "being profiled"


class LimitWatch:
    """A watch over the limits of one child; the runs of `windowed` workloads precede windows."""

    def __init__(self, child: Child, harness: Harness, *, windowed: Collection[str] = ()) -> None:
        self._child, self._windowed = child, windowed
        self._limits = harness.limits
        self._clock, self._ends_at = harness.clock, harness.ends_at
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
            # Within the workload's limit, which counts from its start.
            case RunMessage() if message.workload in self._windowed:
                self._phase = PROFILED
                return
            case SamplingMessage() | TurnMessage():
                self._phase = PROFILED if self._phase == PROFILED else "being measured"
                return
            case ReadyMessage():
                return
            case ServedMessage(workload=workload):
                self._phase, self._allowed_s = "under load", self._limits.of(workload)
            case StartedMessage(workload=workload):
                self._phase = "setting up or warming up"
                self._allowed_s = self._limits.of(workload)
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
        if now >= self._ends_at:
            return FailureReason.BUDGET, f"the budget ended it while {self._phase}"
        if now - self._since > self._allowed_s:
            return (
                FailureReason.HUNG,
                f"it did not end within {typed(self._allowed_s)} s while {self._phase}",
            )
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
