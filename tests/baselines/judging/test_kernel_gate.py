"""The gate of kernels on made-up pairs: what it finds, what it calls moved, how often it errs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger.kernel_times import WorkloadKernels
from perfledger_baselines.judging.false_alarms import false_alarm_rate
from perfledger_baselines.judging.kernel_gate import MIN_FAMILY_SHARE, judge_kernels
from perfledger_baselines.judging.kernel_judgement import TOGETHER, KernelChange
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.kernel_tests import planned_kernel_looks
from tests.baselines.judging.example_kernels import (
    PAIRS,
    RULE,
    SHARES,
    gone,
    judge,
    kernel,
    on_base,
    on_head,
    rows,
    scaled,
    slower,
    with_kernels,
    workload,
)
from tests.suite.tries import tries


def final_judgement(windows):
    """Return the judgement at the look after which a check records no more windows."""
    judgements = (judge(windows, pairs=pairs)[0] for pairs in planned_kernel_looks(PAIRS))
    return next(one for one in judgements if one.is_settled or one.pairs == PAIRS)


def test_unchanged_kernels_are_unchanged_and_say_what_is_ruled_out():
    (judgement,) = judge(workload(1))

    assert judgement.outcome is Outcome.UNCHANGED
    assert judgement.findings == ()
    assert judgement.estimate is None
    assert judgement.families == len(SHARES)
    assert 0.003 < judgement.largest_change < judgement.detectable < 0.1
    assert judgement.reason.startswith("none of 6 kernel families changed, a typical one by less ")
    assert judgement.reason.endswith("after 12 pairs")


def test_a_slower_family_is_named_with_its_share_of_the_step():
    (judgement,) = judge(slower(workload(2), "layer_norm", 1.06), step_detectable={"w": 0.014})

    (finding,) = judgement.findings
    assert judgement.outcome is Outcome.REGRESSED
    assert (finding.family, finding.change) == ("layer_norm", KernelChange.SLOWER)
    assert finding.relative_change == pytest.approx(0.06, abs=0.02)
    assert finding.step_share == pytest.approx(0.0018, abs=0.0006)
    assert judgement.estimate.change == finding.relative_change
    assert judgement.reason.startswith("layer_norm ")
    assert "of the step, below what the step's own timing can see (1.4 %)" in judgement.reason


def test_a_faster_family_is_an_improvement():
    (judgement,) = judge(slower(workload(3), "layer_norm", 0.9))

    assert judgement.outcome is Outcome.IMPROVED
    assert [one.change for one in judgement.findings] == [KernelChange.FASTER]


def test_what_the_step_times_itself_is_not_called_hidden():
    (judgement,) = judge(slower(workload(4), "mm", 1.2), step_detectable={"w": 0.014})

    assert judgement.outcome is Outcome.REGRESSED
    assert "below what" not in judgement.reason


def added(windows, family, share, *, count=2.0):
    """Return a kernel that only head has."""
    source = kernel(windows, "add")
    head = scaled(source.head, share / SHARES["add"])
    return renamed(on_head(source, head, head_count=count), family)


def renamed(one, family):
    """Return a kernel that only head has, by this name."""
    return on_base(one, scaled(one.base, 0.0), base_count=0.0, family=family)


def test_new_work_is_an_alarm_without_a_relative_change():
    windows = workload(5)
    (judgement,) = judge(with_kernels(windows, clone=added(windows, "clone", 0.01)))

    (finding,) = judgement.findings
    assert judgement.outcome is Outcome.REGRESSED
    assert (finding.change, finding.relative_change) == (KernelChange.NEW, None)
    assert judgement.estimate is None
    assert "clone is new: 1 % of the step" in judgement.reason


@pytest.mark.parametrize("seed", range(5))
def test_a_renamed_kernel_is_cost_that_moved(seed):
    windows = workload(10 + seed)
    old = kernel(windows, "gelu")
    (judgement,) = judge(with_kernels(windows, gelu=gone(old), my_gelu=renamed(old, "my_gelu")))

    assert judgement.outcome is Outcome.UNCHANGED
    assert {one.family for one in judgement.findings} == {"gelu", "my_gelu"}
    assert all(one.is_moved and not one.is_alarm for one in judgement.findings)
    assert "cost moved between kernels: " in judgement.reason
    assert judgement.moved_bounds[0] < 0 < judgement.moved_bounds[1]


def test_a_renamed_kernel_that_became_slower_is_work_added():
    windows = workload(6)
    old = kernel(windows, "gelu")
    new = on_head(renamed(old, "my_gelu"), scaled(old.head, 1.2))
    (judgement,) = judge(with_kernels(windows, gelu=gone(old), my_gelu=new))

    assert judgement.outcome is Outcome.REGRESSED
    assert [one.family for one in judgement.findings if one.is_alarm] == ["my_gelu"]


def test_small_kernels_that_were_fused_into_one_are_cost_that_moved():
    shares = {f"small_{n}": 0.9 * MIN_FAMILY_SHARE for n in range(8)}
    windows = workload(7, shares=SHARES | shares)
    small = [kernel(windows, family) for family in shares]
    total = sum(np.array(one.head) for one in small)
    fused = on_head(added(windows, "fused", 0.01), rows(total))
    (judgement,) = judge(
        with_kernels(windows, fused=fused, **{one.family: gone(one) for one in small})
    )

    assert judgement.outcome is Outcome.UNCHANGED
    assert [(one.family, one.is_moved) for one in judgement.findings] == [("fused", True)]


def test_a_slower_kernel_stands_for_itself_beside_a_rename():
    windows = slower(workload(11), "layer_norm", 1.1)
    old = kernel(windows, "add")
    (judgement,) = judge(with_kernels(windows, add=gone(old), my_add=renamed(old, "my_add")))

    assert judgement.outcome is Outcome.REGRESSED
    assert [one.family for one in judgement.findings if one.is_alarm] == ["layer_norm"]


def test_many_small_additions_are_one_alarm():
    shares = {f"small_{n}": 0.9 * MIN_FAMILY_SHARE for n in range(8)}
    windows = workload(12)
    new = {family: added(windows, family, share) for family, share in shares.items()}
    (judgement,) = judge(with_kernels(windows, **new))

    assert judgement.outcome is Outcome.REGRESSED
    (finding,) = judgement.findings
    assert finding.family == TOGETHER
    assert set(finding.kernels) == shares.keys()
    assert finding.kernels[0] in judgement.reason
    assert "and 5 more" in judgement.reason


def test_a_change_below_the_floor_is_no_finding_however_clear():
    (judgement,) = judge(slower(workload(13, noise=1e-5), "mm", 1.002))

    assert judgement.findings == ()


def test_the_kernels_of_a_changed_family_are_told_apart():
    windows = workload(14)
    one = kernel(windows, "layer_norm")
    split = tuple(
        on_base(on_head(one, scaled(one.head, 0.5 * factor)), scaled(one.base, 0.5), name=name)
        for name, factor in (("block/norm", 1.15), ("head/norm", 1.0))
    )
    others = with_kernels(windows, layer_norm=None)
    (judgement,) = judge(replace(others, kernels=(*others.kernels, *split)))

    (finding,) = judgement.findings
    assert finding.kernels == ("block/norm",)


def test_noise_beyond_the_margin_is_undecided_and_names_the_family():
    (judgement,) = judge(workload(15, noise=0.2))

    assert judgement.outcome is Outcome.UNDECIDED
    assert "too noisy to tell: mm may add or save" in judgement.reason
    assert judgement.estimate.low < 0 < judgement.estimate.high


@pytest.mark.parametrize("pairs", range(5))
def test_too_few_pairs_are_undecided(pairs):
    (judgement,) = judge(workload(16, pairs=pairs), pairs=pairs)

    assert judgement.outcome is Outcome.UNDECIDED
    assert judgement.reason == f"{pairs} of the 5 profiled pairs needed"


@pytest.mark.parametrize(
    ("windows", "why"),
    [
        (WorkloadKernels(workload="w"), "no window was recorded"),
        (WorkloadKernels(workload="w", failure="the profiler ended"), "the profiler ended"),
        (replace(workload(17), kernels=()), "no kernel was recorded"),
        (replace(workload(17, pairs=4), failure="no disk"), "no disk"),
    ],
)
def test_pairs_without_windows_are_not_measured_with_the_reason(windows, why):
    (judgement,) = judge(windows)

    assert judgement.outcome is Outcome.NOT_MEASURED
    assert why in judgement.reason


def test_pairs_that_cannot_be_compared_are_left_out():
    windows = workload(18)
    one = kernel(windows, "mm")
    odd = (scaled(one.head[:1], 3.0)[0], *one.head[1:])

    (judgement,) = judge_kernels(
        [with_kernels(windows, mm=on_head(one, odd))],
        level=0.01,
        rule=RULE,
        pairs={"w": range(1, PAIRS)},
        kernel_pairs=PAIRS,
        wait_shares={"w": 0.0},
    )

    assert (judgement.outcome, judgement.pairs) == (Outcome.UNCHANGED, PAIRS - 1)


def test_all_workloads_share_the_level():
    changed = slower(workload(19), "layer_norm", 1.06)
    others = [workload(20 + n, name=f"w{n}") for n in range(5)]

    (alone,) = judge(changed)
    (among, *rest) = judge(changed, *others)

    assert alone.findings[0].adjusted_p * 6 == pytest.approx(among.findings[0].adjusted_p)
    assert all(one.outcome is Outcome.UNCHANGED for one in rest)


@settings(max_examples=tries(40), deadline=None)
@given(seed=st.integers(0, 10_000), factor=st.floats(0.5, 20.0))
def test_the_unit_of_time_changes_no_judgement(seed, factor):
    windows = slower(workload(seed, noise=0.02), "layer_norm", 1.05)
    scaled_windows = replace(
        windows,
        base_steps=scaled(windows.base_steps, factor),
        head_steps=scaled(windows.head_steps, factor),
        kernels=tuple(
            on_base(on_head(one, scaled(one.head, factor)), scaled(one.base, factor))
            for one in windows.kernels
        ),
    )

    (first,), (second,) = judge(windows), judge(scaled_windows)

    assert (first.outcome, first.reason) == (second.outcome, second.reason)


@pytest.mark.slow(ci_only=True)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_check_never_regresses_against_itself(seed):
    windows = workload(seed)
    same = replace(windows, kernels=tuple(on_head(one, one.base) for one in windows.kernels))

    (judgement,) = judge(same)

    assert (judgement.outcome, judgement.findings) == (Outcome.UNCHANGED, ())


def test_a_noisy_kernel_that_was_renamed_is_undecided_and_no_alarm():
    draw = np.random.default_rng(31)
    reasons = []
    for seed in range(31, 41):
        windows = workload(seed)
        old = kernel(windows, "gelu")
        base, head = (
            rows(np.array(side) * np.exp(draw.normal(0, 1.0, (PAIRS, 1))))
            for side in (old.base, old.head)
        )
        old = on_base(on_head(old, head), base)
        new = renamed(old, "my_gelu")
        (judgement,) = judge(with_kernels(windows, gelu=gone(old), my_gelu=new))

        assert judgement.outcome is Outcome.UNDECIDED
        assert not any(one.is_alarm for one in judgement.findings)
        reasons.append(judgement.reason)

    assert any("too noisy to tell whether none was added" in reason for reason in reasons)


@pytest.mark.slow(ci_only=True)
def test_unchanged_code_is_rarely_called_changed_and_a_change_of_five_percent_often():
    """One seed set of checks with processes, steps and heavy-tailed spikes as noise."""
    checks = tries(400)
    false = count = 0
    for seed in range(checks):
        windows = workload(100_000 + seed, noise=0.01)
        false += bool(final_judgement(windows).findings)
        changed = final_judgement(slower(windows, "layer_norm", 1.05))
        count += any(one.family == "layer_norm" and one.is_alarm for one in changed.findings)

    assert false_alarm_rate(false=false, checks=checks).low <= 0.01
    assert count / checks >= 0.8
