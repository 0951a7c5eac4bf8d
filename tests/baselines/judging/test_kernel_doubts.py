"""What the gate of kernels calls neither unchanged nor moved: some steps, or noise, may hide it."""

from dataclasses import replace

import numpy as np
import pytest

from perfledger.kernel_times import WorkloadKernels
from perfledger_baselines.judging.kernel_gate import MIN_FAMILY_SHARE
from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.example_kernels import (
    PAIRS,
    SHARES,
    STEP_S,
    STEPS,
    gone,
    judge,
    kernel,
    on_base,
    on_head,
    rows,
    scaled,
    slower,
    times,
    with_kernels,
    workload,
)


def in_some_steps(windows, family, *, seconds, base, head, counts=(1.0, 1.0)):
    """Add a family with so many seconds in each step: `base` and `head` scale the steps in turn."""
    draw = np.random.default_rng(50)
    sides = [
        rows(np.exp(draw.normal(0, 0.005, (PAIRS, len(steps)))) * seconds * np.array(steps))
        for steps in (base, head)
    ]
    return with_kernels(windows, **{family: times(family, *sides, counts=counts)})


@pytest.mark.parametrize(
    ("base", "head", "counts", "outcome"),
    [
        ((0, 1, 0, 0, 0, 0), (1,) * 6, (1 / 6, 1.0), Outcome.UNDECIDED),  # in every step
        ((0, 1, 0, 0, 0, 0), (1,) * 6, (1.0, 1.0), Outcome.UNDECIDED),
        ((1,) * 6, (1, 10, 10) * 2, (1.0, 1.0), Outcome.UNDECIDED),  # most steps are longer
        ((1,) * 6, (0, 1, 0, 1, 0, 1), (1.0, 1.0), Outcome.UNDECIDED),
        ((1,) * 6, (0.9, 9, 9) * 2, (1.0, 1.0), Outcome.UNDECIDED),  # the shortest are shorter
        ((1,) * 6, (1.2, 9, 9) * 2, (1.0, 1.0), Outcome.REGRESSED),
        ((1,) * 6, (0.9,) * 6, (1.0, 1.0), Outcome.IMPROVED),
        ((0, 1, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0), (1 / 6, 1 / 6), Outcome.UNCHANGED),
    ],
)
def test_what_the_shortest_steps_do_not_show_is_never_called_unchanged(base, head, counts, outcome):
    windows = workload(40)

    (judgement,) = judge(
        in_some_steps(windows, "topk", seconds=3e-4, base=base, head=head, counts=counts)
    )

    assert judgement.outcome is outcome
    if outcome is Outcome.UNDECIDED:
        assert "undecided: " in judgement.reason
        assert "of the step on average, which its shortest steps do not show" in judgement.reason
        assert "none" not in judgement.reason


def test_a_renamed_kernel_of_which_only_some_steps_became_longer_is_undecided():
    windows = workload(41)
    old = kernel(windows, "gelu")
    uneven = rows(np.array(old.head) * np.array((1, 10, 10) * 2))
    renamed = on_base(on_head(old, uneven), scaled(old.base, 0.0), family="my_gelu", base_count=0.0)
    (judgement,) = judge(with_kernels(windows, gelu=gone(old), my_gelu=renamed))

    assert judgement.outcome is Outcome.UNDECIDED
    assert "none was added" not in judgement.reason


@pytest.mark.parametrize("seed", range(5))
def test_a_slower_kernel_is_not_called_moved_where_the_others_are_too_noisy_to_tell(seed):
    draw = np.random.default_rng(60 + seed)

    def noisy(family, base, head, *, noise, counts):
        sides = (
            rows(seconds * np.exp(draw.normal(0, noise, (PAIRS, 1)) + np.zeros(STEPS)))
            for seconds in (base, head)
        )
        return times(family, *sides, counts=counts)

    steps = ((0.05,) * STEPS,) * PAIRS
    windows = WorkloadKernels(
        workload="w",
        pairs=tuple(range(PAIRS)),
        base_steps=steps,
        head_steps=steps,
        kernels=(
            noisy("mul", 1e-4, 2.5e-4, noise=0.005, counts=(1.0, 2.0)),
            noisy("copy", 9e-3, 9e-3, noise=0.06, counts=(3.0, 4.0)),
        ),
    )
    (judgement,) = judge(windows)

    (finding,) = judgement.findings
    assert judgement.outcome is Outcome.REGRESSED
    assert (finding.family, finding.is_alarm) == ("mul", True)


def test_kernels_too_short_for_a_test_are_not_measured():
    shares = {f"small_{n}": 0.5 * MIN_FAMILY_SHARE for n in range(3)}
    (judgement,) = judge(workload(42, shares=shares))

    assert judgement.outcome is Outcome.NOT_MEASURED
    assert judgement.reason.startswith("no kernel takes long enough for a test")


def all_alike(windows, ratios):
    """Return the workload with all kernels of each pair so many times as long on head."""
    return replace(
        windows,
        kernels=tuple(
            on_head(
                one,
                tuple(
                    tuple(ratio * seconds for seconds in steps)
                    for ratio, steps in zip(ratios, one.head, strict=True)
                ),
            )
            for one in windows.kernels
        ),
    )


def test_a_machine_that_slows_all_kernels_of_some_pairs_hides_no_change_of_one():
    ratios = np.exp(np.random.default_rng(1).normal(0, 0.15, PAIRS))
    windows = slower(workload(2), "layer_norm", 1.06)
    (judgement,) = judge(all_alike(windows, ratios))

    (finding,) = judgement.findings
    assert (finding.family, judgement.common_change) == ("layer_norm", None)
    assert finding.relative_change == pytest.approx(0.06, abs=0.02)


def test_a_change_of_all_kernels_but_one_is_no_change_of_that_one():
    windows = all_alike(workload(30), [1.1] * PAIRS)
    (judgement,) = judge(slower(windows, "layer_norm", 1 / 1.1))

    assert "layer_norm" not in {one.family for one in judgement.findings}
    assert judgement.common_change == pytest.approx(0.1, abs=0.01)
    assert "the typical kernel took 9.7 % longer on head" in judgement.reason
    assert judgement.outcome is Outcome.UNDECIDED
    assert "too noisy to tell: mm may add or save" in judgement.reason


# Of the step: 5 % of each is within the margin of 1 %, and 5 % of all is not.
MANY = {f"operator {number}": 0.07 for number in range(12)}


@pytest.mark.parametrize(("factor", "how"), [(1.05, "add"), (0.95, "save")])
def test_a_change_of_all_kernels_is_not_unchanged_though_each_alone_is_within_the_margin(
    factor, how
):
    (judgement,) = judge(all_alike(workload(3, shares=MANY), [factor] * PAIRS))

    assert judgement.outcome is Outcome.UNDECIDED
    assert not judgement.is_settled
    assert f"undecided: all kernels together seem to {how} 4." in judgement.reason
    assert judgement.estimate.change == pytest.approx(factor - 1, abs=0.005)


def test_a_gain_of_one_kernel_is_no_improvement_if_all_together_seem_slower():
    windows = all_alike(workload(3, shares=MANY), [1.05] * PAIRS)

    (judgement,) = judge(slower(windows, "operator 3", 0.8))

    (finding,) = judgement.findings
    assert (finding.family, finding.is_proven) == ("operator 3", True)
    assert judgement.outcome is Outcome.UNDECIDED
    assert "undecided: all kernels together seem to add 2." in judgement.reason


def test_a_change_of_all_kernels_that_is_surely_within_the_margin_is_unchanged():
    (judgement,) = judge(all_alike(workload(3, shares=MANY, noise=0.0003), [1.005] * PAIRS))

    assert judgement.common_change == pytest.approx(0.005, abs=0.001)
    assert judgement.outcome is Outcome.UNCHANGED


@pytest.mark.parametrize(
    ("factor", "why"),
    [(1.05, "became faster or the others slower"), (0.95, "became slower or the others faster")],
)
def test_where_most_changed_on_a_noisy_machine_the_others_did_not_for_sure(factor, why):
    judgements = []
    for seed in range(10):
        ratios = np.exp(np.random.default_rng(seed).normal(0, 0.15, PAIRS))
        windows = all_alike(workload(seed), ratios)
        for family in ("mm", "attention", "gelu"):
            windows = slower(windows, family, factor)
        judgements += judge(windows)

    undecided = [one.reason for one in judgements if one.outcome is Outcome.UNDECIDED]
    assert len(undecided) >= 9
    assert any(why in reason for reason in undecided)


@pytest.mark.parametrize("stays", [("mm", "attention"), ("mm",), ("gelu",), ("add", "dropout")])
def test_kernels_that_stayed_while_the_others_became_faster_are_not_accused(stays):
    """The state of a process lengthens all of its kernels by some percent."""
    checks = 25
    regressed = 0
    for seed in range(checks):
        draw = np.random.default_rng(1000 + seed)
        windows = all_alike(workload(seed), np.exp(draw.normal(0, 0.045, PAIRS)))
        for family in SHARES.keys() - set(stays):
            windows = slower(windows, family, 0.96)
        (judgement,) = judge(windows)
        regressed += judgement.outcome is Outcome.REGRESSED

    assert regressed <= 1


def test_a_slower_kernel_is_proven_though_the_processes_differ():
    draw = np.random.default_rng(5)
    windows = all_alike(workload(2), np.exp(draw.normal(0, 0.02, PAIRS)))
    (judgement,) = judge(slower(windows, "layer_norm", 1.06))

    (finding,) = judgement.findings
    assert judgement.outcome is Outcome.REGRESSED
    assert (finding.is_alarm, finding.spread, finding.spread_needed) == (True, None, None)


def test_a_change_below_what_the_processes_differ_by_says_what_would_tell():
    draw = np.random.default_rng(5)
    windows = all_alike(workload(2), np.exp(draw.normal(0, 0.15, PAIRS)))
    (judgement,) = judge(slower(windows, "layer_norm", 1.06))

    (finding,) = judgement.findings
    assert judgement.outcome is Outcome.UNDECIDED
    assert not finding.is_alarm
    assert 0.02 < finding.spread_needed < 0.08 < finding.spread < 0.25
    assert "became slower or the others faster (pairs differ by 1" in judgement.reason


def test_a_loss_beside_a_larger_gain_is_no_finding_where_it_may_be_the_machines():
    draw = np.random.default_rng(3)
    windows = all_alike(workload(2), np.exp(draw.normal(0, 0.15, PAIRS)))
    (judgement,) = judge(slower(slower(windows, "mm", 0.85), "layer_norm", 1.08))

    (lost,) = (one for one in judgement.findings if one.family == "layer_norm")
    assert (lost.is_proven, lost.is_moved, lost.is_alarm) == (False, False, False)
    assert "became slower or the others faster" in judgement.reason
    assert "beside a larger gain" not in judgement.reason


def beside_other_load(windows, *, factor, pairs):
    """Lengthen all steps of some pairs, and the kernels in them; no call at its shortest."""

    def lengthened(sides):
        return (*scaled(sides[:pairs], factor), *sides[pairs:])

    return replace(
        windows,
        base_steps=lengthened(windows.base_steps),
        head_steps=lengthened(windows.head_steps),
        kernels=tuple(
            replace(one, base=lengthened(one.base), head=lengthened(one.head))
            for one in windows.kernels
        ),
    )


@pytest.mark.parametrize("pairs", [PAIRS - 1, PAIRS])
@pytest.mark.parametrize("seed", range(10))
def test_steps_that_other_load_lengthened_hide_no_noisy_kernel_that_became_slower(seed, pairs):
    windows = slower(workload(seed, noise=0.02), "attention", 1.06)  # 1.2 % of the step

    (judgement,) = judge(beside_other_load(windows, factor=3.0, pairs=pairs))

    assert judgement.outcome is not Outcome.UNCHANGED


def beside_other_load_between_kernels(windows, *, factor):
    """Lengthen all steps, and no kernel in them."""

    def lengthened(sides):
        return tuple(tuple(one + (factor - 1) * STEP_S for one in pair) for pair in sides)

    return replace(
        windows,
        base_steps=lengthened(windows.base_steps),
        head_steps=lengthened(windows.head_steps),
    )


@pytest.mark.parametrize("seed", range(10))
def test_waits_between_all_kernels_hide_no_noisy_kernel_that_became_slower(seed):
    windows = slower(workload(seed, noise=0.02), "attention", 1.06)  # 1.2 % of the step

    (judgement,) = judge(beside_other_load_between_kernels(windows, factor=3.0), wait_share=2 / 3)

    assert judgement.outcome is not Outcome.UNCHANGED


@pytest.mark.parametrize(
    ("wait_share", "outcome"), [(0.66, Outcome.UNCHANGED), (1.0, Outcome.UNDECIDED)]
)
def test_kernels_are_proven_unchanged_beside_waits_that_are_known(wait_share, outcome):
    shares = {name: 0.5 * share for name, share in SHARES.items()}
    small = workload(3, noise=0.013, shares=shares)
    windows = beside_other_load_between_kernels(small, factor=3.0)

    (judgement,) = judge(windows, wait_share=wait_share)

    assert judgement.outcome is outcome


def test_families_are_long_enough_for_a_test_in_the_step_without_other_load():
    shares = {**SHARES, "topk": 1.5 * MIN_FAMILY_SHARE}
    windows = beside_other_load_between_kernels(workload(3, shares=shares), factor=3.0)

    (shorter,), (longer,) = judge(windows, wait_share=2 / 3), judge(windows)

    assert (shorter.families, longer.families) == (len(shares), len(SHARES) - 1)


def test_kernels_that_most_pairs_lack_beside_nothing_else_are_undecided():
    draw = np.random.default_rng(60)
    runs = (np.arange(PAIRS) % 3 == 0, np.arange(PAIRS) % 3 != 1)
    sides = [rows(one[:, None] * draw.uniform(0.5, 1.5, (PAIRS, STEPS)) * STEP_S) for one in runs]
    steps = [tuple(tuple(one or STEP_S for one in pair) for pair in side) for side in sides]
    windows = WorkloadKernels(
        workload="w",
        pairs=tuple(range(PAIRS)),
        base_steps=steps[0],
        head_steps=steps[1],
        kernels=(times("mm", *sides),),
    )

    (judgement,) = judge(windows)

    assert judgement.outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("runs", "factor", "outcome"),
    [
        (5, 1.0, Outcome.UNCHANGED),
        (5, 3.0, Outcome.UNDECIDED),
        (1, 1.0, Outcome.UNCHANGED),
        (1, 3.0, Outcome.UNDECIDED),
        (1, 0.1, Outcome.UNDECIDED),
    ],
)
def test_a_kernel_that_few_pairs_run_is_unchanged_only_if_it_is(runs, factor, outcome):
    draw = np.random.default_rng(70)
    noise = np.exp(draw.normal(0, 0.005, (2, PAIRS, STEPS)))
    base, head = (np.arange(PAIRS) < runs)[:, None] * noise * 0.2 * STEP_S
    windows = with_kernels(workload(70), rare=times("rare", rows(base), rows(factor * head)))

    (judgement,) = judge(windows)

    assert judgement.outcome is outcome
    assert (" rare may add or save " in judgement.reason) is (outcome is Outcome.UNDECIDED)
