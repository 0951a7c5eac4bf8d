"""Ends the profiled windows of a check where the product ends them."""

from dataclasses import replace

from scipy.stats import binomtest

from perfledger.bundle import Bundle
from perfledger.kernel_times import WorkloadKernels
from perfledger.rounding import decimals
from perfledger_baselines.estimation.pairing import match_runs
from perfledger_baselines.planning.stopping import GroupSequentialStopping


def settled_windows(bundle: Bundle, windows: WorkloadKernels) -> WorkloadKernels:
    """Return the windows of all planned pairs, until `GroupSequentialStopping` needs no more."""
    plan = bundle.plan
    rule = GroupSequentialStopping(
        looks=plan.looks,
        alpha=plan.alpha * (1 - plan.kernel_share),
        margin=plan.margin,
        floor=plan.floor,
        metrics=bundle.metrics,
        margins=plan.margins,
        kernel_pairs=plan.kernel_pairs,
        kernel_alpha=plan.alpha * plan.kernel_share,
        device=bundle.machine.device,
    )
    rule.start([windows.workload])
    for count, pair in enumerate(match_runs(bundle.runs)[windows.workload], 1):
        rule.add(*pair)
        if rule.due_kernels():
            so_far = first_pairs(windows, count)
            if rule.look_at_kernels([so_far]):
                return so_far
    return windows


def first_pairs(windows: WorkloadKernels, count: int) -> WorkloadKernels:
    return replace(
        windows,
        pairs=windows.pairs[:count],
        base_steps=windows.base_steps[:count],
        head_steps=windows.head_steps[:count],
        kernels=tuple(
            replace(
                one,
                base=one.base[:count],
                head=one.head[:count],
                base_undisturbed=one.base_undisturbed[:count],
                head_undisturbed=one.head_undisturbed[:count],
            )
            for one in windows.kernels
        ),
    )


def with_interval(count: int, checks: int) -> str:
    """Return how many of some checks, with the exact 95 % interval of their share."""
    interval = binomtest(count, checks).proportion_ci()
    low, high = (decimals(100 * end, 2) for end in interval)
    return f"{count} of {checks} checks, {low} to {high} %"
