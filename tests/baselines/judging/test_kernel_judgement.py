from dataclasses import replace

import pytest

from perfledger_baselines.judging.kernel_judgement import (
    KernelChange,
    KernelFinding,
    KernelJudgement,
)
from perfledger_baselines.judging.verdict import Outcome

SLOWER = KernelFinding(
    family="aten::mm",
    change=KernelChange.SLOWER,
    base_seconds=1e-4,
    head_seconds=1.06e-4,
    relative_change=0.06,
    step_share=0.002,
    adjusted_p=0.001,
)


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize("change", list(KernelChange))
def test_only_slower_and_new_kernels_that_did_not_move_are_alarms(change, is_moved):
    finding = replace(SLOWER, change=change, is_moved=is_moved)

    is_more = change in {KernelChange.SLOWER, KernelChange.NEW}
    assert finding.is_alarm is (is_more and not is_moved)


@pytest.mark.parametrize(
    ("outcome", "changes", "is_warning"),
    [
        (Outcome.IMPROVED, {"is_outweighed": True}, True),
        (Outcome.IMPROVED, {"is_outweighed": True, "change": KernelChange.NEW}, True),
        (Outcome.IMPROVED, {"is_outweighed": True, "is_proven": False}, False),
        (Outcome.IMPROVED, {"is_outweighed": True, "change": KernelChange.FASTER}, False),
        (Outcome.IMPROVED, {}, False),
        (Outcome.REGRESSED, {"is_outweighed": True}, False),  # a warning would not fail the check
        (Outcome.UNDECIDED, {"is_outweighed": True}, False),
    ],
)
def test_only_an_improvement_that_hides_a_loss_is_a_warning(outcome, changes, is_warning):
    finding = replace(SLOWER, **changes)
    judgement = KernelJudgement(workload="w", outcome=outcome, reason="", findings=(finding,))

    assert judgement.is_warning is is_warning
