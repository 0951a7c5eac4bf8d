"""Sums the profiled steps of kernels by family, with one value for each side and pair."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.kernel_times import KernelTimes, StepSeconds, WorkloadKernels
from perfledger_baselines.estimation.arrays import FloatArray

# Of a side's steps in a pair: the shortest ones count, with their mean. Other load only lengthens a
# step, and a profile of the host shows it as time of whatever operator was running. Beside five
# times as many tasks as cores, the ratio of an unchanged pair was off by 10 % with the median step
# and by 6 % with these (the median operator).
SHORTEST_SHARE = 0.25
# Relative. Mean counts of windows with different numbers of steps are rounded.
SAME_COUNT = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedSeconds:
    """The seconds of something in a step that runs it, on both sides, one value for each pair."""

    name: str
    base: FloatArray
    head: FloatArray

    @property
    def base_seconds(self) -> float:
        """Return base's median pair."""
        return float(np.median(self.base))

    @property
    def head_seconds(self) -> float:
        """Return head's median pair."""
        return float(np.median(self.head))

    @property
    def most_seconds(self) -> float:
        """Return the longer side's median pair."""
        return max(self.base_seconds, self.head_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFamily:
    """The kernels that one operator runs, together and one by one.

    `total` is that of the shortest steps that run it. `over_all_steps` shows what these leave out:
    the mean of all steps, and `total` times the share of steps that run it. `is_restructured` says
    that one of its kernels is called another number of times: work that was added, removed or
    moved.
    """

    total: PairedSeconds
    over_all_steps: tuple[PairedSeconds, ...]
    kernels: tuple[PairedSeconds, ...]
    is_restructured: bool


def kernel_families(
    kernels: Sequence[KernelTimes], *, places: Sequence[int]
) -> tuple[KernelFamily, ...]:
    """Return the families of kernels in the pairs at these places, the longest first."""
    groups: defaultdict[str, list[KernelTimes]] = defaultdict(list)
    for kernel in kernels:
        groups[kernel.family].append(kernel)
    families = [
        KernelFamily(
            total=_seconds_of(name, group, places, _shortest),
            over_all_steps=tuple(
                _seconds_of(name, group, places, mean) for mean in (_mean, _shortest_by_share)
            ),
            kernels=tuple(_seconds_of(one.name, [one], places, _shortest) for one in group),
            is_restructured=any(map(_has_other_count, group)),
        )
        for name, group in groups.items()
    ]
    return tuple(sorted(families, key=lambda family: -family.total.most_seconds))


def sum_of(name: str, parts: Collection[PairedSeconds]) -> PairedSeconds:
    """Return several things together; there is at least one."""
    return PairedSeconds(
        name=name,
        base=np.sum([part.base for part in parts], axis=0),
        head=np.sum([part.head for part in parts], axis=0),
    )


def whole_steps(windows: WorkloadKernels, *, places: Sequence[int]) -> PairedSeconds:
    """Return the profiled steps in the pairs at these places."""
    return PairedSeconds(
        name="step",
        base=np.array([_shortest(np.array(windows.base_steps[place])) for place in places]),
        head=np.array([_shortest(np.array(windows.head_steps[place])) for place in places]),
    )


def _seconds_of(
    name: str,
    kernels: Sequence[KernelTimes],
    places: Sequence[int],
    location: Callable[[FloatArray], float],
) -> PairedSeconds:
    """Return kernels together, with the location of their sums in the steps of each pair."""
    return PairedSeconds(
        name=name,
        base=np.array([location(_step_sums([one.base[at] for one in kernels])) for at in places]),
        head=np.array([location(_step_sums([one.head[at] for one in kernels])) for at in places]),
    )


def _step_sums(kernels: Sequence[StepSeconds]) -> FloatArray:
    sums: FloatArray = np.array(kernels, dtype=np.float64).sum(axis=0)
    return sums


def _shortest(steps: FloatArray) -> float:
    """Return the mean of the shortest steps that run it at all; 0 without any."""
    busy = np.sort(steps[steps > 0])
    count = math.ceil(SHORTEST_SHARE * len(busy))
    return float(busy[:count].mean()) if count else 0.0


def _mean(steps: FloatArray) -> float:
    return float(steps.mean())


def _shortest_by_share(steps: FloatArray) -> float:
    return _shortest(steps) * float((steps > 0).mean())


def _has_other_count(kernel: KernelTimes) -> bool:
    most = max(kernel.base_count, kernel.head_count)
    return abs(kernel.head_count - kernel.base_count) > SAME_COUNT * most
