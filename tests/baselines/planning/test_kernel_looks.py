"""Looks at kernels while a check is measured: which workloads need more windows."""

from dataclasses import replace

import pytest

from perfledger.kernel_times import WorkloadKernels
from perfledger.metrics import KERNELS, STEP_TIME
from perfledger.records import CoreTimes, Device
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.example_kernels import SHARES, slower, workload
from tests.baselines.planning.test_stopping import EQUAL, feed, started

KERNELS_RULE = {"kernel_pairs": 12, "kernel_alpha": 0.01, "looks": range(4, 13)}


def windows_of(*, noise=0.002, seed=3, **changes):
    """Return the windows of a step whose kernels are so noisy, and changed on head."""
    windows = workload(seed, noise=noise, name="m:f")
    for family, factor in changes.items():
        windows = slower(windows, family, factor)
    return windows


def looks_at(build, rule, pairs, **values):
    """Add the first pairs of an unchanged step, and look at their kernels wherever due."""
    settled_at = None
    for number, (base, head) in enumerate(build.pairs("m:f", step_time_p50=EQUAL * 2)[:pairs], 1):
        rule.add(base, head)
        if rule.due_kernels() and rule.look_at_kernels([windows_of(**values)]):
            settled_at = settled_at or number
    return settled_at


@pytest.mark.parametrize(
    ("values", "settled_at"),
    [
        pytest.param({"noise": 0.002}, 5, id="quiet"),
        pytest.param({"noise": 0.01, "mm": 1.2}, 6, id="a regression that is clear"),
        pytest.param({"noise": 0.03}, None, id="noisy"),
    ],
)
def test_kernels_that_are_told_apart_need_no_more_pairs(build, values, settled_at):
    rule = started("m:f", **KERNELS_RULE)

    assert looks_at(build, rule, 8, **values) == settled_at
    assert ("m:f" in rule.unfinished()) is (settled_at is None)
    assert rule.next_pair({"m:f": 1.0}) == ("m:f" if settled_at is None else None)


def test_windows_that_were_lost_are_not_waited_for(build):
    rule = started("m:f", **KERNELS_RULE)
    feed(build, rule, "m:f", 6, step_time_p50=EQUAL)

    assert rule.look_at_kernels([WorkloadKernels(workload="m:f", failure="no disk")]) == {"m:f"}
    assert rule.unfinished() == frozenset()


def test_kernels_are_looked_at_once_at_each_planned_number_of_pairs(build):
    rule = started("m:f", "m:g", **KERNELS_RULE)
    noisy = {"noise": 0.03}
    due = []
    for number, (base, head) in enumerate(build.pairs("m:f", step_time_p50=EQUAL * 2)[:12], 1):
        rule.add(base, head)
        if rule.due_kernels():
            due.append((number, rule.due_kernels()))
            rule.look_at_kernels([windows_of(**noisy)])
        assert rule.due_kernels() == frozenset()

    assert due == [(5, {"m:f"}), (6, {"m:f"}), (8, {"m:f"})]


def test_the_rule_settles_what_the_bundle_will_say(build):
    rule = started("m:f", **KERNELS_RULE)
    looks_at(build, rule, 6, noise=0.002, seed=5)
    bundle = build.bundle(
        {"m:f": {"step_time_p50": EQUAL[:6]}},
        plan=build.plan(alpha=0.05, looks=tuple(range(4, 13)), kernel_pairs=12, kernel_share=0.2),
        metrics=(STEP_TIME, KERNELS),
        kernels=(windows_of(noise=0.002, seed=5),),
    )

    (judgement,) = judgement_of(bundle).kernels

    assert (judgement.outcome, judgement.pairs) == (Outcome.UNCHANGED, 6)
    assert judgement.is_settled


@pytest.mark.parametrize("device", [Device.CPU, Device.CUDA])
def test_time_outside_kernels_settles_nothing_on_a_device_that_others_may_use(build, device):
    """Kernels are a hundredth of the step: what is small beside it is large beside them."""
    small = {name: share / 100 for name, share in SHARES.items()}
    windows = workload(3, noise=0.01, name="m:f", shares=small)
    rule = started("m:f", **KERNELS_RULE, device=device)
    for base, head in build.pairs("m:f", step_time_p50=EQUAL)[:6]:
        waits = CoreTimes(elapsed_s=(1.0,), queued_s=(0.0,), helpers_s=(0.0,))
        rule.add(replace(base, core_times=waits), replace(head, core_times=waits))

    workloads = rule.look_at_kernels([windows])

    assert workloads == (frozenset() if device is Device.CUDA else {"m:f"})
