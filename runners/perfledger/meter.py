"""What measuring a step needs of the framework that it computes with, as a port, and the host's."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from perfledger import memory
from perfledger.clock import Clock, HostClock
from perfledger.work import Work
from perfledger.workload import Step

Kept = TypeVar("Kept")  # what a profiler keeps of a pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A profiled pass: the profiler's file, and what its kept steps took on average."""

    tool: str  # "torch.profiler" or "jax.profiler"
    trace: Path
    steps: int  # kept: the first profiled one pays for the profiler's own start
    step_seconds: float
    again: Path | None = None  # the same steps once more; what two such files differ by is noise


class Meter(Protocol):
    """A framework on a device: its clock, its memory, its counters and its profiler."""

    @property
    def clock(self) -> Clock:
        """The clock that waits for this device."""
        ...

    def placed(self) -> AbstractContextManager[object]:
        """Return a context in which the framework's default device is this one."""
        ...

    def reset_peak(self) -> None:
        """Begin a new high-water mark of memory."""
        ...

    def peak_bytes(self) -> float | None:
        """Return the most memory held since `reset_peak`; None when nothing tells."""
        ...

    def work(self, set_up: Callable[[], Step]) -> Work:
        """Return what one step asks for, without running it where that can be.

        `set_up` returns the step; it may be called twice, and neither step may be used again.
        """
        ...

    def devices(self) -> int:
        """Return on how many devices the steps so far have computed."""
        ...

    def trace(self, next_step: Callable[[], Step], folder: Path, name: str) -> Traced | None:
        """Profile a few steps into a file in `folder`; None when there is no profiler.

        `next_step` is called before each window of steps and returns the step of that window.
        """
        ...


def shortest(windows: Sequence[tuple[float, Kept]]) -> list[tuple[float, Kept]]:
    """Return the two profiled passes with the shortest steps, by their seconds.

    What disturbs a pass makes it longer: what is left of a disturbance shows in what two differ by.
    """
    return sorted(windows, key=lambda window: window[0])[:2]


class HostMeter:
    """Plain Python steps: the host's clock and the process's memory; no profiler yet."""

    clock: Clock = HostClock()

    def placed(self) -> AbstractContextManager[object]:
        """Return a context that does nothing."""
        return nullcontext()

    def reset_peak(self) -> None:
        """Begin a new high-water mark of resident memory."""
        memory.reset_peak()

    def peak_bytes(self) -> float | None:
        """Return the most resident memory since `reset_peak`."""
        return float(memory.peak_bytes())

    def work(self, set_up: Callable[[], Step]) -> Work:
        """Return nothing but why: nobody counts what Python computes."""
        del set_up
        return Work(limits=("nothing counts what plain Python computes",))

    def devices(self) -> int:
        """Return 1: the host."""
        return 1

    def trace(self, next_step: Callable[[], Step], folder: Path, name: str) -> Traced | None:
        """Return None."""
        del next_step, folder, name
        return None
