from dataclasses import replace

import pytest

from perfledger_baselines.judging.kernel_judgement import (
    TOGETHER,
    KernelChange,
    KernelFinding,
    KernelJudgement,
)
from perfledger_baselines.judging.kernel_wording import kernel_reason, uneven_reason, widest_reason
from perfledger_baselines.judging.verdict import Outcome

FINDING = KernelFinding(
    family="aten::native_layer_norm",
    change=KernelChange.SLOWER,
    base_seconds=1e-4,
    head_seconds=1.06e-4,
    relative_change=0.06,
    step_share=0.002,
    adjusted_p=0.001,
)


def finding(family="aten::native_layer_norm", **changes):
    return replace(FINDING, family=family, **changes)


def reason(*findings, step_detectable=0.014, doubt="", largest_change=0.021):
    judgement = KernelJudgement(
        workload="w",
        outcome=Outcome.REGRESSED,
        reason="",
        pairs=12,
        families=14,
        findings=findings,
        largest_change=largest_change,
        step_detectable=step_detectable,
        moved_bounds=(-0.001, 0.02),
    )
    return kernel_reason(judgement, doubt=doubt)


def test_a_slower_kernel_below_what_the_step_can_see_says_so():
    assert reason(finding()) == (
        "aten::native_layer_norm 6 % slower: 0.2 % of the step, below what the step's own timing "
        "can see (1.4 %), after 12 pairs"
    )


@pytest.mark.parametrize("step_detectable", [None, 0.001])
def test_the_step_is_not_named_where_it_sees_the_change_or_was_not_judged(step_detectable):
    text = reason(finding(), step_detectable=step_detectable)

    assert text == "aten::native_layer_norm 6 % slower: 0.2 % of the step, after 12 pairs"


def test_what_is_new_or_gone_has_no_percentage_of_its_own():
    new = finding("clone", change=KernelChange.NEW, relative_change=None)
    gone = finding("copy", change=KernelChange.GONE, relative_change=None, step_share=-0.02)

    assert reason(new, gone).startswith("clone is new: 0.2 % of the step, below")
    assert "; copy is gone: 2 % of the step, after 12 pairs" in reason(new, gone)


def test_cost_that_moved_is_said_after_the_alarms_with_its_signs():
    moved_findings = [
        finding(f"k{n}", is_moved=True, step_share=share) for n, share in enumerate((0.003, -0.003))
    ]

    assert reason(finding(), *moved_findings).endswith(
        "; cost moved between kernels: k0 +0.3 %, k1 -0.3 % of the step, together -0.1 % to +2 %, "
        "after 12 pairs"
    )


def test_cost_that_may_have_moved_is_not_said_to_have_beside_an_alarm():
    moved_finding = finding("k0", is_moved=True, is_proven=False, step_share=0.003)

    assert reason(finding(), moved_finding).endswith(
        "; cost may have moved between kernels: k0 +0.3 % of the step, after 12 pairs"
    )


def test_long_lists_are_counted():
    many = [finding(f"k{n}") for n in range(5)]
    moved_findings = [finding(f"m{n}", is_moved=True) for n in range(4)]

    text = reason(*many, *moved_findings)

    assert "; 2 more changed; cost moved" in text
    assert "m2 +0.2 % of the step and 1 more, together" in text


def test_nothing_found_says_what_would_be():
    assert reason() == (
        "none of 14 kernel families changed, a typical one by less than 2.1 %, after 12 pairs"
    )
    assert reason(largest_change=None).startswith("no kernel takes long enough for a test")


def test_an_undecided_judgement_names_the_widest_family():
    text = reason(doubt=widest_reason("mm", share=0.031))

    assert text == "too noisy to tell: mm may add or save 3.1 % of the step, after 12 pairs"


@pytest.mark.parametrize(("share", "change"), [(0.26, "adds 26 %"), (-0.02, "saves 2 %")])
def test_what_only_some_steps_show_is_no_proof_that_none_was_added(share, change):
    text = reason(finding(is_moved=True), doubt=uneven_reason("sync", share=share))

    assert f"undecided: sync {change} of the step on average, which its shortest" in text
    assert "cost may have moved between kernels: " in text
    assert "none of" not in text


@pytest.mark.parametrize("count", [3, 4])
def test_only_more_than_three_are_counted(count):
    changed = [finding(f"k{n}") for n in range(count)]
    moved_findings = [finding(f"m{n}", is_moved=True) for n in range(count)]

    text = reason(*changed, *moved_findings)

    assert ("; 1 more changed" in text) == (count > 3)
    assert ("of the step and 1 more" in text) == (count > 3)
    assert " 0 more" not in text


def test_a_change_as_large_as_what_the_step_can_see_is_not_below_it():
    assert "below" not in reason(finding(), step_detectable=0.002)


@pytest.mark.parametrize(
    ("change", "text"),
    [(0.0949, "9.5 %"), (0.0996, "10 %"), (0.996, "99.6 %"), (1.0, "100 %"), (12.34, "1,234 %")],
)
def test_a_change_is_in_whole_percents_from_ten_on_and_in_tenths_close_to_all(change, text):
    slower = finding(relative_change=change, step_share=change)
    moved_finding = finding("k", is_moved=True, step_share=-change)

    assert f"{text} slower: {text} of the step" in reason(slower)
    assert f"k -{text} of the step" in reason(moved_finding)


def test_what_is_not_proven_as_measured_accuses_nobody_and_says_what_would_tell():
    unsure = [
        finding("mm", step_share=0.01, is_proven=False, spread=0.08, spread_needed=0.023),
        finding("add", step_share=0.004, is_proven=False, spread=0.09, spread_needed=0.01),
    ]
    faster = finding("gelu", change=KernelChange.FASTER, step_share=-0.02, is_proven=False)

    assert reason(*unsure, faster) == (
        "too noisy to tell whether mm +1 %, add +0.4 % of the step became slower or the others "
        "faster (pairs differ by 8 %, and at most 2.3 % would tell); too noisy to tell whether "
        "gelu -2 % of the step became faster or the others slower, after 12 pairs"
    )


@pytest.mark.parametrize(
    ("share", "names", "text"),
    [
        (0.00083, ("my::norm",), "add 0.083 % of the step, most of it my::norm, after"),
        (-0.02, ("a", "b", "c", "d"), "save 2 % of the step, most of it a, b, c and 1 more, after"),
    ],
)
def test_small_kernels_together_are_named(share, names, text):
    new = finding(TOGETHER, change=KernelChange.NEW, step_share=share, kernels=names)

    assert reason(new, step_detectable=None) == f"{TOGETHER} {text} 12 pairs"


def test_a_loss_beside_a_larger_gain_says_so():
    assert reason(finding(is_outweighed=True), step_detectable=None) == (
        "aten::native_layer_norm 6 % slower, beside a larger gain of others: 0.2 % of the step, "
        "after 12 pairs"
    )
