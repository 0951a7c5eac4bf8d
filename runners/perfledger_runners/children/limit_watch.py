"""Watches the limits of one child: its time, its memory and the budget of the check."""

import math
from collections.abc import Callable, Collection

from perfledger.measuring.thread_waits import ThreadWaits
from perfledger.meters.child_processes import ThreadTimes
from perfledger.records import FailureReason
from perfledger.rounding import digits, integer, percentage, typed
from perfledger_runners.children.child import POLL_S, Child
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.process_tree import available_bytes
from perfledger_runners.children.protocol_parser import (
    AnyMessage,
    CompilingMessage,
    DoneMessage,
    EndedMessage,
    ImportingMessage,
    ReadyMessage,
    RunMessage,
    SamplingMessage,
    ServedMessage,
    StartedMessage,
    TurnMessage,
)
from perfledger_runners.safe_text import MAX_DETAIL, clean_text

# After the last message: an interpreter with torch and a device takes a second or two to exit.
GRACE_S = 15.0
# The rest is for the agent, the system, and errors in the kernel's estimate.
MEMORY_SHARE = 0.9
# Share of its time limit that a child may be idle.
IDLE_SHARE = 0.25
STARTING, SETTING_UP, PROFILED = "starting up", "setting up or warming up", "being profiled"
# Share of a workload's time so far from which on compiling is why it takes too long.
COMPILING_SHARE = 0.5
# Begins the reason for ending a child that waits, perhaps for what the other side has.
WAITED = "it waited"
# Begins the reason for ending a child in the time of which another workload may need the rest.
TOOK_SHARE = "it was not done after"
# Of a core. A loop that tries for a lock twenty times a second takes a two-hundredth.
IDLE_CORES = 0.02
# Share of the idle time after which threads are read: not in every turn of a child that steps.
QUIET_SHARE = 0.1
AWAITS_DISK = "D"


class IdleWatch:
    """A watch over how long no thread of a child wants a core.

    A thread that is ready but gets none, because other programs load the machine, wants one.
    """

    def __init__(self, threads: Callable[[], ThreadTimes]) -> None:
        self._threads = threads
        self._before: ThreadTimes | None = None
        self._since, self.idle_s = 0.0, math.inf

    def restart(self, now: float, *, idle_s: float) -> None:
        """Begin again, because the child has done something; it may be idle for so long."""
        self._before, self._since, self.idle_s = None, now, idle_s

    def is_idle(self, now: float) -> bool:
        """Return whether it has been idle for the whole time until now."""
        elapsed_s = now - self._since
        if self._before is None:
            if elapsed_s >= QUIET_SHARE * self.idle_s:
                self._before, self._since = self._threads(), now
            return False
        if elapsed_s < self.idle_s:
            return False
        before, after = self._before, self._threads()
        self._before, self._since = after, now
        if not after or any(each.state == AWAITS_DISK for each in after.values()):
            return False
        waits = ThreadWaits()
        waits.add(before, after, elapsed_s)
        return waits.cores_used() + waits.cores_lacking() < IDLE_CORES


class LimitWatch:
    """A watch over the limits of one child; the runs of `windowed` workloads precede windows."""

    def __init__(self, child: Child, harness: Harness, *, windowed: Collection[str] = ()) -> None:
        self._child, self._windowed = child, windowed
        self._limits = harness.limits
        self._clock, self._ends_at = harness.clock, harness.ends_at
        self._phase = STARTING
        self._allowed_s = harness.limits.startup_s
        self._since = self._clock()
        self._share, self._share_s = 1.0, math.inf
        self._share_budget(harness.limits.startup_share)
        available = available_bytes()
        self._memory = harness.limits.memory_bytes
        if self._memory is None and available is not None:
            self._memory = int(MEMORY_SHARE * available)
        self._looked_at = self._since
        self._workload = ""
        self._compiling: CompilingMessage | None = None  # the last one of the workload
        self._file = ""  # that is being imported
        self._is_awaited = harness.is_awaited
        self._idle = IdleWatch(child.thread_times)
        self._await(self._since)

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
            case ReadyMessage() | EndedMessage() | CompilingMessage():
                self._compiling = message if isinstance(message, CompilingMessage) else None
                return
            case ServedMessage(workload=workload):
                self._phase, self._allowed_s = "under load", self._limits.of(workload)
            case StartedMessage(workload=workload):
                self._workload, self._compiling = workload, None
                self._phase = SETTING_UP
                self._allowed_s = self._limits.of(workload)
            case ImportingMessage(path=path):
                self._phase, self._file = STARTING, path
                self._allowed_s = self._limits.startup_s
            case DoneMessage():
                self._phase, self._allowed_s = "ending", GRACE_S
            case _:
                self._phase, self._allowed_s = "between workloads", self._limits.startup_s
        self._since = self._clock()
        is_of_workload = isinstance(message, StartedMessage | ServedMessage)
        limits = self._limits
        self._share_budget(limits.workload_share if is_of_workload else limits.startup_share)
        self._await(self._since)

    def _share_budget(self, share: float) -> None:
        """Allow what begins now a share of the rest of the budget."""
        self._share = share
        self._share_s = share * (self._ends_at - self._since)

    def wait(self, seconds: float) -> None:
        """Exclude the time of the other side's turn."""
        self._since += seconds
        self._await(self._clock())

    def _activity(self) -> str:
        """Return what the child is doing, with the file that it imports while it is listed."""
        is_importing = self._file and self._phase == STARTING
        if is_importing:
            return f"importing {clean_text(self._file)[:MAX_DETAIL]}"
        return f"{self._phase}{self._compilations()}"

    def _compilations(self) -> str:
        """Return how much of the workload's time its steps compiled, if that is most of it."""
        steps = self._compiling
        if steps is None or steps.compile_s < COMPILING_SHARE * steps.seconds:
            return ""
        share = f"{digits(steps.compile_s, 2)} of {digits(steps.seconds, 2)} s"
        if steps.compiling_steps == 1:
            return f" (compiling took {share})"
        return (
            f" (at least {integer(steps.compiling_steps)} of {integer(steps.steps)} steps compiled "
            f"for {share}: let all steps have the same shapes, padded, or sizes marked as dynamic)"
        )

    def _await(self, now: float) -> None:
        """Expect the child to compute from now on."""
        idle_s = min(self._limits.idle_s, IDLE_SHARE * self._allowed_s)
        self._idle.restart(now, idle_s=idle_s)

    def trouble(self) -> tuple[FailureReason, str] | None:
        """Return the exceeded limit, if any."""
        now = self._clock()
        if now >= self._ends_at:
            return FailureReason.BUDGET, f"the budget ended it while {self._activity()}"
        if now - self._since > self._allowed_s:
            return (
                FailureReason.HUNG,
                f"it did not end within {typed(self._allowed_s)} s while {self._activity()}",
            )
        if self._share < 1 and now - self._since > self._share_s:
            share = f"{digits(self._share_s, 2)} s, {percentage(self._share)}"
            return (
                FailureReason.BUDGET,
                f"{TOOK_SHARE} {share} of what was left of the budget, while {self._activity()}",
            )
        return self._waiting(now) or self._memory_trouble(now)

    def _waiting(self, now: float) -> tuple[FailureReason, str] | None:
        """Return a failure if the child seems to wait for what the other side has."""
        if self._phase not in (STARTING, SETTING_UP):
            return None
        if not self._is_awaited(self._workload):
            self._await(now)  # both sides may sleep, or wait for something else
            return None
        if not self._idle.is_idle(now):
            return None
        seconds = f"{digits(self._idle.idle_s, 2)} s"
        return (
            FailureReason.IN_USE,
            f"{WAITED} {seconds} without using a core while {self._activity()}",
        )

    def _memory_trouble(self, now: float) -> tuple[FailureReason, str] | None:
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
