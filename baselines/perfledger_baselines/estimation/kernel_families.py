"""Sums the profiled steps of kernels by family, with one value for each side and pair."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.kernel_times import (
    OPERATOR_ARROW,
    KernelTimes,
    StepSeconds,
    WorkloadKernels,
)
from perfledger_baselines.estimation.arrays import FloatArray

# Relative. Mean counts of windows with different numbers of steps are rounded.
SAME_COUNT = 0.01
# With fewer families, the median may be that of the only one that changed.
MIN_FAMILIES = 5
# Most weight of one family, relative to the weight of all others: no single family may decide what
# all have in common.
MAX_WEIGHT = 0.5
# A workload's history stores the longest families: those that take at least this share of a step,
# and at most this many of them.
HISTORY_SHARE = 0.01
MAX_IN_HISTORY = 20
# With its prefix a family's name is no longer than a metric's may be. Longer names belong to
# template kernels; those with the same beginning are one family.
MAX_FAMILY_NAME = 290


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedSeconds:
    """Seconds that something takes in a step that runs it: one value for each side and pair."""

    name: str
    base: FloatArray
    head: FloatArray

    @property
    def base_seconds(self) -> float:
        """Return base's seconds in the median pair."""
        return float(np.median(self.base))

    @property
    def head_seconds(self) -> float:
        """Return head's seconds in the median pair."""
        return float(np.median(self.head))

    @property
    def most_seconds(self) -> float:
        """Return the seconds of the longer side in the median pair."""
        return max(self.base_seconds, self.head_seconds)

    def relative_to(self, ratios: FloatArray) -> "PairedSeconds":
        """Return the seconds with head's divided by each pair's ratio."""
        return PairedSeconds(name=self.name, base=self.base, head=self.head / ratios)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFamily:
    """The kernels that one operator runs, together and one by one.

    `total` is its time in a step with each call at its shortest, since other load only lengthens
    calls. `over_all_steps` shows what this leaves out: the mean of all steps, and `total` times the
    share of steps that run it. `is_restructured` says that the number of calls of one of its
    kernels changed: work was added, removed or moved. `median_seconds` is its time in the median
    step, on the longer side.
    """

    total: PairedSeconds
    over_all_steps: tuple[PairedSeconds, ...]
    kernels: tuple[PairedSeconds, ...]
    is_restructured: bool
    median_seconds: float

    def is_long(self, step: float, median_step: float, *, share: float) -> bool:
        """Return whether it takes this share of a step that runs it, or of the median step.

        If most pairs lack the family, its average share counts.
        """
        by_share = self.over_all_steps[-1]
        averages = (float(by_share.base.mean()), float(by_share.head.mean()))
        seconds = max(self.total.most_seconds, *averages)
        is_long = seconds >= share * step
        return is_long or self.median_seconds >= share * median_step


def kernel_families(
    kernels: Sequence[KernelTimes], *, places: Sequence[int]
) -> tuple[KernelFamily, ...]:
    """Return the kernel families in the pairs at these places, the longest first."""
    groups: defaultdict[str, list[KernelTimes]] = defaultdict(list)
    for kernel in kernels:
        groups[kernel.family].append(kernel)
    families = [_family(name, group, places) for name, group in groups.items()]
    return tuple(sorted(families, key=lambda family: -family.total.most_seconds))


def history_families(windows: WorkloadKernels) -> tuple[PairedSeconds, ...]:
    """Return the longest families of a workload for its history, each under one operator's name.

    The seconds are those of a step that runs it, with each call at its shortest. A kernel whose
    operator differs between base and head counts on each side under that side's operator. Long
    names are cut.
    """
    places = range(len(windows.pairs))
    base: defaultdict[str, FloatArray] = defaultdict(lambda: np.zeros(len(places)))
    head: defaultdict[str, FloatArray] = defaultdict(lambda: np.zeros(len(places)))
    for kernel in windows.kernels:
        before, _, after = kernel.family.partition(OPERATOR_ARROW)
        base[before[:MAX_FAMILY_NAME]] += kernel.base_undisturbed
        head[(after or before)[:MAX_FAMILY_NAME]] += kernel.head_undisturbed
    if not places:
        return ()
    steps = whole_steps(windows, places=places)
    families = [
        PairedSeconds(name=name, base=base[name], head=head[name])
        for name in dict.fromkeys((*base, *head))
    ]
    long = [
        one
        for one in families
        if one.base_seconds >= HISTORY_SHARE * steps.base_seconds
        or one.head_seconds >= HISTORY_SHARE * steps.head_seconds
    ]
    return tuple(sorted(long, key=lambda one: (-one.most_seconds, one.name))[:MAX_IN_HISTORY])


def common_ratios(families: Sequence[KernelFamily], *, pairs: int) -> FloatArray:
    """Return each pair's ratio of head's kernel time to base's that all kernels share.

    It is the weighted median over the families that are called equally often on both sides; longer
    families are less noisy and weigh more. It reflects the machine's state, or a change of all
    kernels, which the step's own timing shows. It is 1 with fewer than MIN_FAMILIES.
    """
    alike = [
        one.total
        for one in families
        if not one.is_restructured and min(one.total.base.min(), one.total.head.min()) > 0
    ]
    if len(alike) < MIN_FAMILIES:
        return np.ones(pairs)
    weights: FloatArray = np.sqrt([one.most_seconds for one in alike])
    weights = np.minimum(weights, MAX_WEIGHT * (weights.sum() - weights.max()))
    logs: FloatArray = np.log([one.head / one.base for one in alike])
    order = np.argsort(logs, axis=0)
    reached = np.cumsum(weights[order], axis=0)
    middle = np.argmax(reached >= weights.sum() / 2, axis=0)
    ratios: FloatArray = np.exp(np.take_along_axis(logs, order, axis=0)[middle, np.arange(pairs)])
    return ratios


def sum_of(name: str, parts: Collection[PairedSeconds]) -> PairedSeconds:
    """Return the sum of several items; at least one is needed."""
    return PairedSeconds(
        name=name,
        base=np.sum([part.base for part in parts], axis=0),
        head=np.sum([part.head for part in parts], axis=0),
    )


def whole_steps(windows: WorkloadKernels, *, places: Sequence[int]) -> PairedSeconds:
    """Return the shortest profiled step of each side in the pairs at these places."""
    return PairedSeconds(
        name="step",
        base=np.array([min(windows.base_steps[place]) for place in places]),
        head=np.array([min(windows.head_steps[place]) for place in places]),
    )


def _family(name: str, kernels: Sequence[KernelTimes], places: Sequence[int]) -> KernelFamily:
    parts = tuple(
        PairedSeconds(
            name=one.name,
            base=np.array([one.base_undisturbed[place] for place in places]),
            head=np.array([one.head_undisturbed[place] for place in places]),
        )
        for one in kernels
    )
    total = sum_of(name, parts)
    base = [_step_sums([one.base[place] for one in kernels]) for place in places]
    head = [_step_sums([one.head[place] for one in kernels]) for place in places]
    return KernelFamily(
        total=total,
        over_all_steps=(
            PairedSeconds(name=name, base=_means(base), head=_means(head)),
            PairedSeconds(
                name=name,
                base=total.base * _busy_shares(base),
                head=total.head * _busy_shares(head),
            ),
        ),
        kernels=parts,
        is_restructured=any(map(_has_other_count, kernels)),
        median_seconds=max(_median(base), _median(head)),
    )


def median_step(windows: WorkloadKernels, *, places: Sequence[int]) -> float:
    """Return the median profiled step of the longer side in the pairs at these places."""
    sides = (windows.base_steps, windows.head_steps)
    return max(_median([np.array(side[place]) for place in places]) for side in sides)


def least_step(windows: WorkloadKernels, *, places: Sequence[int], wait_share: float) -> float:
    """Return base's step in the median pair, at most as long as it is without other load.

    Other load only lengthens a step. Each call of a kernel therefore counts at its shortest, and
    the rest of a step as in the pair in which it is shortest, without the share of a step that may
    be a wait for other programs: no call of a kernel may have waited.
    """
    kernels = np.sum([one.base_undisturbed for one in windows.kernels], axis=0)
    rests = [
        (1 - wait_share) * np.array(windows.base_steps[place])
        - _step_sums([one.base[place] for one in windows.kernels])
        for place in places
    ]
    rest = max(0.0, min(float(np.median(each)) for each in rests))
    typical = whole_steps(windows, places=places).base_seconds
    return min(typical, float(np.median(kernels[list(places)])) + rest)


def _median(pairs: Sequence[FloatArray]) -> float:
    """Return the median pair's median step."""
    return float(np.median([np.median(steps) for steps in pairs]))


def _step_sums(kernels: Sequence[StepSeconds]) -> FloatArray:
    sums: FloatArray = np.array(kernels, dtype=np.float64).sum(axis=0)
    return sums


def _means(pairs: Sequence[FloatArray]) -> FloatArray:
    return np.array([steps.mean() for steps in pairs])


def _busy_shares(pairs: Sequence[FloatArray]) -> FloatArray:
    """Return the share of each pair's steps that run it."""
    return np.array([(steps > 0).mean() for steps in pairs])


def _has_other_count(kernel: KernelTimes) -> bool:
    most = max(kernel.base_count, kernel.head_count)
    return abs(kernel.head_count - kernel.base_count) > SAME_COUNT * most
