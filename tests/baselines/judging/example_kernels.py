"""Made-up kernels of a workload, judged."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from perfledger.kernel_times import KernelTimes, WorkloadKernels
from perfledger_baselines.judging.kernel_gate import judge_kernels
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_profiles.diff.kernel_times import undisturbed_seconds

RULE = DecisionRule(looks=(), alpha=0.04, margin=0.01, floor=0.003)
PAIRS, STEPS = 12, 6
# A step of 10 ms: a few long families, some short ones, and time outside kernels.
SHARES = MappingProxyType(
    {"mm": 0.5, "attention": 0.2, "gelu": 0.06, "layer_norm": 0.03, "add": 0.02, "dropout": 0.005}
)
STEP_S = 0.01


def workload(seed, *, noise=0.005, pairs=PAIRS, name="w", shares=SHARES):
    """Return kernels of unchanged code; a process, a step and a kernel each have noise."""
    draw = np.random.default_rng(seed)
    sides = {}
    for side in ("base", "head"):
        process = draw.normal(0, noise / 2, (pairs, 1))
        sides[side] = {
            family: share
            * STEP_S
            * np.exp(
                process
                + draw.normal(0, noise, (pairs, 1))
                + noise * draw.standard_t(3, (pairs, STEPS))
            )
            for family, share in shares.items()
        }
    rest = (1 - sum(shares.values())) * STEP_S
    return WorkloadKernels(
        workload=name,
        pairs=tuple(range(pairs)),
        base_steps=rows(sum(sides["base"].values()) + rest),
        head_steps=rows(sum(sides["head"].values()) + rest),
        kernels=tuple(
            times(family, rows(sides["base"][family]), rows(sides["head"][family]))
            for family in shares
        ),
    )


def times(family, base, head, *, counts=(4.0, 4.0)):
    """Return a kernel with one call in each step."""
    return KernelTimes(
        family=family,
        name=f"{family}_kernel",
        base_count=counts[0],
        head_count=counts[1],
        base=base,
        head=head,
        base_undisturbed=undisturbed(base),
        head_undisturbed=undisturbed(head),
    )


def on_base(one, base, **values):
    return replace(one, base=base, base_undisturbed=undisturbed(base), **values)


def on_head(one, head, **values):
    return replace(one, head=head, head_undisturbed=undisturbed(head), **values)


def undisturbed(pairs):
    return tuple(undisturbed_seconds([(seconds,) for seconds in steps]) for steps in pairs)


def rows(values):
    return tuple(map(tuple, values.tolist()))


def scaled(times, factor):
    return tuple(tuple(factor * one for one in pair) for pair in times)


def with_kernels(windows, **changes):
    """Return the workload with kernels replaced by family: None removes one."""
    kernels = {one.family: one for one in windows.kernels} | changes
    return replace(windows, kernels=tuple(one for one in kernels.values() if one is not None))


def slower(windows, family, factor):
    (one,) = (each for each in windows.kernels if each.family == family)
    return with_kernels(windows, **{family: on_head(one, scaled(one.head, factor))})


def kernel(windows, family):
    (one,) = (each for each in windows.kernels if each.family == family)
    return one


def judge(*workloads, level=0.01, pairs=PAIRS, wait_share=0.0, **options):
    return judge_kernels(
        workloads,
        level=level,
        rule=RULE,
        pairs={each.workload: range(pairs) for each in workloads},
        kernel_pairs=PAIRS,
        wait_shares={each.workload: wait_share for each in workloads},
        **options,
    )


def gone(one):
    return on_head(one, scaled(one.head, 0.0), head_count=0.0)
