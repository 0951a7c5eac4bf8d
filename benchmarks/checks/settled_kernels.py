"""Ends a check where the product needs no more profiled windows."""

from dataclasses import replace

from scipy.stats import binomtest

from perfledger.bundle import Bundle
from perfledger.rounding import decimals
from perfledger_baselines.estimation.pairing import match_runs
from perfledger_baselines.planning.stopping import GroupSequentialStopping


def settled_bundle(bundle: Bundle) -> Bundle:
    """Return a check of one workload that ends where `GroupSequentialStopping` needs no windows."""
    (windows,) = bundle.kernels
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
    for base, head in match_runs(bundle.runs)[windows.workload]:
        rule.add(base, head)
        if rule.due_kernels() and rule.look_at_kernels([windows]):
            return replace(bundle, runs=tuple(run for run in bundle.runs if run.pair <= base.pair))
    return bundle


def with_interval(count: int, checks: int) -> str:
    """Return how many of some checks, with the exact 95 % interval of their share."""
    interval = binomtest(count, checks).proportion_ci()
    low, high = (decimals(100 * end, 2) for end in interval)
    return f"{count} of {checks} checks, {low} to {high} %"
