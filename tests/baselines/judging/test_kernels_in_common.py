"""What all kernels have in common: a state of the machine, or a change of most of them."""

from dataclasses import replace

import numpy as np
import pytest

from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.example_kernels import (
    PAIRS,
    SHARES,
    judge,
    on_head,
    slower,
    workload,
)


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
