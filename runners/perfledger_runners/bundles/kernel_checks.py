"""Checks what a decoded bundle says about single kernels."""

from collections.abc import Collection, Sequence

from perfledger.bundle import Bundle
from perfledger.kernel_times import StepSeconds, WorkloadKernels
from perfledger.metrics import FAMILY_PREFIX, KERNELS
from perfledger.rounding import typed
from perfledger_runners.bundles.value_checks import MAX_SECONDS, require

MAX_KERNELS = 2000  # per workload: two sides keep 400 and their sums
MAX_KERNEL_PAIRS = 100  # a check plans twelve
MAX_KERNEL_STEPS = 2000  # on one side of a pair


def check_kernel_plan(bundle: Bundle) -> None:
    """Raise BundleError unless judged kernels have pairs and a share of alpha."""
    plan = bundle.plan
    is_short = 0 <= plan.kernel_pairs <= MAX_KERNEL_PAIRS
    require(is_short, f"plan.kernel_pairs: not between 0 and {MAX_KERNEL_PAIRS}")
    require(0 <= plan.kernel_share < 1, "plan.kernel_share: not a share below 1")
    is_judged = any(metric.name == KERNELS.name for metric in bundle.metrics)
    is_planned = plan.kernel_pairs > 0 and plan.kernel_share > 0
    require(
        is_judged == is_planned, "plan.kernel_pairs, plan.kernel_share: inconsistent with metrics"
    )


def check_kernels(bundle: Bundle, ids: Collection[str]) -> None:
    """Raise BundleError unless the kernel times are possible and complete.

    No metric of a check has the name of a kernel family's series.
    """
    is_metric = not any(metric.name.startswith(FAMILY_PREFIX) for metric in bundle.metrics)
    require(is_metric or bundle.is_imported, f"metrics: a name that begins with {FAMILY_PREFIX!r}")
    names = {each.workload for each in bundle.kernels}
    require(len(names) == len(bundle.kernels), "kernels: a duplicate workload")
    for index, each in enumerate(bundle.kernels):
        where = f"kernels[{index}]"
        require(each.workload in ids, f"{where}.workload: not one of the bundle's workloads")
        _check_workload(where, each)


def _check_workload(where: str, kernels: WorkloadKernels) -> None:
    pairs = (-1, *kernels.pairs)
    is_rising = all(one < two for one, two in zip(pairs, kernels.pairs, strict=False))
    require(is_rising, f"{where}.pairs: not rising from 0")
    require(len(kernels.pairs) <= MAX_KERNEL_PAIRS, f"{where}.pairs: more than {MAX_KERNEL_PAIRS}")
    require(len(kernels.kernels) <= MAX_KERNELS, f"{where}.kernels: more than {MAX_KERNELS}")
    for side, steps in (("base", kernels.base_steps), ("head", kernels.head_steps)):
        shape = tuple(map(len, steps))
        is_whole = len(steps) == len(kernels.pairs) and min(shape, default=1) >= 1
        require(is_whole, f"{where}.{side}_steps: not steps of each pair")
        is_short = max(shape, default=0) <= MAX_KERNEL_STEPS
        require(is_short, f"{where}.{side}_steps: more than {MAX_KERNEL_STEPS}")
        is_possible = all(seconds > 0 for windows in steps for seconds in windows)
        require(is_possible, f"{where}.{side}_steps: not above 0")
        for kernel in kernels.kernels:
            times: Sequence[StepSeconds] = getattr(kernel, side)
            is_alike = tuple(map(len, times)) == shape
            require(is_alike, f"{where}.kernels: not one time of {side} for each of its steps")
            undisturbed: Sequence[float] = getattr(kernel, f"{side}_undisturbed")
            is_whole = len(undisturbed) == len(kernels.pairs)
            require(is_whole, f"{where}.kernels: not one undisturbed time of {side} for each pair")
            all_seconds = (*undisturbed, *(one for pair in times for one in pair))
            require(min(all_seconds, default=0) >= 0, f"{where}.kernels: a negative time on {side}")
            is_short = max(all_seconds, default=0) <= MAX_SECONDS
            require(is_short, f"{where}.kernels: a time above {typed(MAX_SECONDS)} s on {side}")
    is_count = all(min(one.base_count, one.head_count) >= 0 for one in kernels.kernels)
    require(is_count, f"{where}.kernels: a negative count")
