"""Defines the port to a framework's device, and the meter of plain Python."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol, TypeVar

from perfledger.meters import process_memory
from perfledger.meters.clock import Clock, HostClock
from perfledger.meters.compile_watch import CompileReader
from perfledger.step_work import StepWork
from perfledger.workload import Step

# Least seconds, and fewest and most steps, of a profiled window. The least duration and the limits
# of the number of steps of a profiled window, not counting its first step, which includes the
# profiler's start.
WINDOW_SECONDS = 0.05
MIN_WINDOW_STEPS, MAX_WINDOW_STEPS = 4, 24

PassRecord = TypeVar("PassRecord")  # a profiler's record of a pass


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEffort:
    """How many windows a profile has, and after how many seconds of steps no further one begins.

    Other load comes in bursts and lengthens some windows: how far the windows differ shows the
    error of a difference. Longer steps are less disturbed, and have fewer windows.
    """

    windows: int = 8
    max_seconds: float = 5.0
    has_shapes: bool = True  # an extra window if recording shapes distorts the others
    steps: int = 0  # of a window; 0: by the time of the first window's steps
    until: float = math.inf  # by time.monotonic(): afterwards only a first window begins
    is_warm: bool = False  # the steps have just run: a profiler needs none for its warm-up

    @property
    def has_time(self) -> bool:
        """Return whether there is time for more than one window."""
        return monotonic() < self.until


# The effort of a profile that explains a change.
USUAL_EFFORT = TraceEffort()
# The same of a change of peak memory alone, of which the times of steps say nothing.
MEMORY_EFFORT = TraceEffort(windows=1, has_shapes=False, steps=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledPass:
    """Profiled windows: the first one's file and the mean time of its kept steps, and the others.

    The first has the median time. All windows run the same code, so their differences are noise.
    """

    tool: str  # "torch.profiler" or "jax.profiler"
    trace: Path
    steps: int  # kept: the first profiled one includes the profiler's start
    step_seconds: float
    repeats: tuple[Path, ...] = ()  # the files of the other windows, in the order of time
    shapes: Path | None = None  # the file of a window with shapes, if they distort


class DeviceMeter(Protocol):
    """A framework on a device: clock, memory, counters and profiler."""

    clock: Clock  # which waits for this device

    def device_context(self) -> AbstractContextManager[object]:
        """Return a context in which this is the framework's default device."""
        ...

    def reset_peak(self) -> None:
        """Reset the high-water mark of memory."""
        ...

    def peak_bytes(self) -> float | None:
        """Return the peak memory since `reset_peak`, None if unknown."""
        ...

    def in_use_bytes(self) -> float | None:
        """Return the memory in use now, of the same kind as `peak_bytes`; None if unknown."""
        ...

    def work(self, set_up: Callable[[], Step]) -> StepWork:
        """Return the work of one step, without running it where possible.

        `set_up` returns the step; it may be called twice, and neither step may be reused.
        """
        ...

    def devices(self) -> int:
        """Return how many devices the steps so far have used."""
        ...

    def device_places(self) -> tuple[int, ...]:
        """Return the places of these devices among those here; () if unknown."""
        ...

    def trace(
        self,
        next_step: Callable[[], Step],
        folder: Path,
        name: str,
        *,
        effort: TraceEffort = USUAL_EFFORT,
    ) -> ProfiledPass | None:
        """Profile a few steps into files in `folder`; return None without a profiler.

        `next_step` is called before each window of steps and returns its step.
        """
        ...

    def compile_watch(self) -> AbstractContextManager[CompileReader]:
        """Return a context that yields a function: it reads what was compiled in the context."""
        ...

    def compilation_log(self) -> AbstractContextManager[object]:
        """Return a context for set-up and steps, in which compilations are recorded for `lines`."""
        ...

    def lines(self, step: Step, root: Path, path: Path) -> Path | None:
        """Write what one step shows of the code below `root`; return None if that is nothing.

        That is the lines that call its operations, the tensors that its peak memory holds, and what
        compilers report.
        """
        ...


def window_steps(step_seconds: float) -> int:
    """Return how many steps to profile in a window: more if they are short, within limits.

    A window of a few milliseconds shows the scheduler more than the code.
    """
    needed = math.ceil(WINDOW_SECONDS / step_seconds) if step_seconds > 0 else MAX_WINDOW_STEPS
    return min(max(needed, MIN_WINDOW_STEPS), MAX_WINDOW_STEPS)


def median_first(windows: Sequence[tuple[float, PassRecord]]) -> list[tuple[float, PassRecord]]:
    """Return the windows, the one with the (lower) median time first and the others in order."""
    ranked = sorted(range(len(windows)), key=lambda place: windows[place][0])
    middle = ranked[(len(ranked) - 1) // 2]
    return [windows[middle], *windows[:middle], *windows[middle + 1 :]]


class HostMeter:
    """The meter of plain Python: the host's clock and the process's memory, without a profiler."""

    def __init__(self) -> None:
        self.clock: Clock = HostClock()

    def device_context(self) -> AbstractContextManager[object]:
        """Return a context that does nothing."""
        return nullcontext()

    def reset_peak(self) -> None:
        """Reset the high-water mark of resident memory."""
        process_memory.reset_peak()

    def peak_bytes(self) -> float | None:
        """Return the peak resident memory since `reset_peak`."""
        return float(process_memory.peak_bytes())

    def in_use_bytes(self) -> float | None:
        """Return the resident memory."""
        return process_memory.in_use_bytes()

    def work(self, set_up: Callable[[], Step]) -> StepWork:
        """Return no counts, with the reason."""
        del set_up
        return StepWork(limits=("the work of plain Python cannot be counted",))

    def devices(self) -> int:
        """Return 1: the host."""
        return 1

    def device_places(self) -> tuple[int, ...]:
        """Return nothing: a host has one set of processors."""
        return ()

    def trace(
        self,
        next_step: Callable[[], Step],
        folder: Path,
        name: str,
        *,
        effort: TraceEffort = USUAL_EFFORT,
    ) -> ProfiledPass | None:
        """Return None."""
        del next_step, folder, name, effort
        return None

    def compile_watch(self) -> AbstractContextManager[CompileReader]:
        """Return a context that yields a function that returns nothing."""
        return nullcontext(lambda: None)

    def compilation_log(self) -> AbstractContextManager[object]:
        """Return a context that does nothing."""
        return nullcontext()

    def lines(self, step: Step, root: Path, path: Path) -> Path | None:
        """Return None."""
        del step, root, path
        return None
