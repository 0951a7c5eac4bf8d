"""Holds the evidence that a process's step does its work."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Answer = Mapping[str, str | int | float | bool]

MAX_ANSWERS = 100  # entries of a check's answer, a fingerprint of the result
# A benchmark may set it itself: asv's `number`, pytest-benchmark's `iterations`.
MAX_STEPS_PER_READING = 10**9
# Threads and processes per step that have not ended. A pool does not grow with its steps.
MIN_TASKS = 0.1


class ResultState(StrEnum):
    """The state of what the first and the last step of a process returned, the worse of the two."""

    UNKNOWN = ""  # not examined, or not possible to examine
    FINITE = "finite"
    PARTLY_EXAMINED = "partly examined"  # finite as far as it was examined: it has too many parts
    NOT_FINITE = "not finite"  # it contains a NaN or an infinity
    NO_DATA = "no data"  # a tensor that has a shape alone: nothing computed it
    NOT_READY = "not ready"  # a coroutine, iterator, future or function: its work is not done


@dataclass(frozen=True, slots=True, kw_only=True)
class EndCost:
    """The CPU time of a process after its last step, in seconds, and how often its step ran.

    Teardowns, exit functions and finalizers count, of all set-ups. `tasks` are the other threads
    and the processes that were still there at the end. `asleep_s` are the seconds in which its
    thread neither computed nor waited for a core; 0 if unknown. Of several ranks, each figure is
    the largest one.
    """

    steps: int
    cpu_s: float
    tasks: int = 0
    asleep_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvidence:
    """What a process's step returned, and whether its time differs from an empty step's.

    `answer` is what the workload's own check returned for the first step's result, by path, and
    `tolerance` how much numbers of base and head may differ, relative to the larger one. A reading
    of a short step times `steps_per_reading` steps; `empty_step_s` is the time of an empty step
    read in the same way, None if the step is clearly longer than an empty one. `paused_cores` are
    the cores that the process used between its turns, or lacked there, although a finished step
    needs none; None if it had no turns, or if unknown. `leftover_s` are the seconds of these cores
    per step, without what the harness itself needs. `ends_by_clock` says that the step works until
    a clock says so; False if unknown. `end_cost` is that of the process, None if unknown, and
    `short_end_cost` that of another process of the same side which ran few steps; None if none did.
    `outline` describes the first step's result roughly: the number of its numbers, their bounds and
    types, by name. `start_cpu_s` is the CPU time of the first set-up and step, None if unknown.
    `has_unseen_programs` says that programs ran which may have imported installed copies of the
    repository's packages: the system does not show it.
    """

    result: ResultState = ResultState.UNKNOWN
    answer: Answer = field(default_factory=dict[str, str | int | float | bool])
    tolerance: float = 0.0
    steps_per_reading: int = 1
    empty_step_s: float | None = None
    paused_cores: float | None = None
    leftover_s: float | None = None
    ends_by_clock: bool = False
    end_cost: EndCost | None = None
    short_end_cost: EndCost | None = None
    has_unseen_programs: bool = False
    outline: Answer = field(default_factory=dict[str, str | int | float | bool])
    start_cpu_s: float | None = None

    def seconds_of(self, step_times_s: Iterable[float]) -> float:
        """Return the total seconds of all steps whose readings are these times per step."""
        return self.steps_per_reading * sum(step_times_s)
