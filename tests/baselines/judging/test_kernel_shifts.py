"""Which changed kernels added work, and of which the cost moved or may have moved."""

from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.example_kernels import judge, slower, workload


def test_a_shift_between_two_kernels_that_are_still_there_is_moved():
    windows = slower(workload(8), "gelu", 1.1)
    (judgement,) = judge(slower(windows, "layer_norm", 0.8))

    assert judgement.outcome is Outcome.UNCHANGED
    assert all(one.is_moved for one in judgement.findings)


def test_a_kernel_that_lost_more_than_another_gained_is_an_alarm():
    windows = slower(workload(9), "gelu", 1.3)
    (judgement,) = judge(slower(windows, "layer_norm", 0.9))

    assert judgement.outcome is Outcome.REGRESSED
    assert [one.family for one in judgement.findings if one.is_alarm] == ["gelu"]
    assert {one.family for one in judgement.findings} == {"gelu", "layer_norm"}


def test_a_kernel_that_gained_more_than_another_lost_is_an_improvement():
    windows = slower(workload(9), "gelu", 0.6)
    (judgement,) = judge(slower(windows, "layer_norm", 1.1))

    assert judgement.outcome is Outcome.IMPROVED
    assert [one.family for one in judgement.findings if one.is_outweighed] == ["layer_norm"]
    assert judgement.is_warning


def test_a_loss_is_named_however_many_others_gained():
    windows = workload(9, shares={f"kernel {number}": 0.06 for number in range(12)})
    for number in range(4):
        windows = slower(windows, f"kernel {number}", 0.8)
    (judgement,) = judge(slower(windows, "kernel 4", 1.1))

    assert judgement.outcome is Outcome.IMPROVED
    assert judgement.is_warning
    assert judgement.reason.startswith("kernel 4 ")
    assert "slower, beside a larger gain of others" in judgement.reason.partition(";")[0]


def test_a_gain_alone_is_no_warning():
    (judgement,) = judge(slower(workload(9), "gelu", 0.6))

    assert (judgement.outcome, judgement.is_warning) == (Outcome.IMPROVED, False)


def test_a_loss_beside_a_larger_gain_is_not_called_moved():
    windows = slower(workload(9, noise=0.003), "mm", 0.95)
    (judgement,) = judge(slower(windows, "layer_norm", 1.2))

    lost = [one for one in judgement.findings if one.family == "layer_norm"]
    assert judgement.outcome is Outcome.IMPROVED
    assert [(one.is_outweighed, one.is_moved, one.is_alarm) for one in lost] == [
        (True, False, False)
    ]
    assert "layer_norm 2" in judgement.reason
    assert "slower, beside a larger gain of others: 0.6" in judgement.reason
    assert "moved" not in judgement.reason


def cancelled(seed):
    """Return a check whose longest kernel gains as much as another one loses, in much noise."""
    windows = slower(workload(seed, noise=0.012), "mm", 0.98)
    (judgement,) = judge(slower(windows, "attention", 1.05))
    return judgement


def test_a_loss_that_a_gain_too_small_for_a_finding_cancels_is_seldom_an_alarm():
    """Without a look at such gains 15 of these 20 were."""
    outcomes = [cancelled(seed).outcome for seed in range(20)]

    assert outcomes.count(Outcome.REGRESSED) <= 6


def test_what_may_have_moved_is_undecided_and_says_so():
    judgement = cancelled(3)

    (finding,) = judgement.findings
    assert judgement.outcome is Outcome.UNDECIDED
    assert (finding.is_moved, finding.is_proven, finding.is_alarm) == (True, False, False)
    assert "cost may have moved between kernels: attention +0.66 %" in judgement.reason
    assert judgement.reason.endswith("too noisy to tell whether none was added, after 12 pairs")
