"""Holds how long each kernel of a step took, in the profiled steps of a check's pairs."""

from dataclasses import dataclass

# Separates the operators that run a kernel on base and on head, if they differ.
OPERATOR_ARROW = " \N{RIGHTWARDS ARROW} "

StepSeconds = tuple[float, ...]  # of one side of a pair: one value for each profiled step


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTimes:
    """The exclusive seconds of one kernel, or of kernels that do the same work.

    On the host a kernel is an operator. `base[i]` and `head[i]` are the profiled steps of the
    workload's pair i; a side that does not run the kernel took 0. `family` is the operator that
    runs it; if that differs between the sides, both, with OPERATOR_ARROW between them.
    `base_undisturbed[i]` are the seconds of a step in which each call of the kernel takes its
    shortest time, or of the shortest steps if calls cannot be matched.
    """

    family: str
    name: str  # its path and name
    base_count: float  # calls per step
    head_count: float
    base: tuple[StepSeconds, ...]
    head: tuple[StepSeconds, ...]
    base_undisturbed: tuple[float, ...]  # one for each pair
    head_undisturbed: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKernels:
    """The kernels of a workload in its profiled pairs, and the whole profiled steps.

    `pairs` are the numbers of the pairs with profiled windows on both sides. Each kernel is listed
    once. `failure` says why a pair has none; "" if all pairs have them.
    """

    workload: str
    pairs: tuple[int, ...] = ()
    base_steps: tuple[StepSeconds, ...] = ()
    head_steps: tuple[StepSeconds, ...] = ()
    kernels: tuple[KernelTimes, ...] = ()
    failure: str = ""
