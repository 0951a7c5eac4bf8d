from dataclasses import replace

import pytest

from perfledger_baselines.judging.kernel_judgement import (
    TARGET_CHANGE,
    TARGET_STEP_SHARE,
    KernelChange,
    KernelFigures,
    KernelFinding,
    KernelJudgement,
)
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome

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


def figures(largest_change, *, share=0.1):
    estimate = EffectEstimate(
        base=1.0,
        head=1.0,
        change=0.0,
        low=-0.01,
        high=0.01,
        narrow_low=-0.01,
        narrow_high=0.01,
        pairs=6,
        p_value=1.0,
        smallest_detectable=0.2,
    )
    return KernelFigures(
        family="aten::mm",
        base_seconds=1.0,
        head_seconds=1.0,
        base_share=share,
        estimate=estimate,
        largest_change=largest_change,
    )


ROUGH = figures(1.01 * TARGET_CHANGE)


@pytest.mark.parametrize(
    ("one", "is_known"),
    [
        (figures(TARGET_CHANGE), True),
        (ROUGH, False),
        (figures(0.2, share=TARGET_STEP_SHARE / 0.2), True),
        (figures(0.2, share=1.01 * TARGET_STEP_SHARE / 0.2), False),
        (replace(ROUGH, estimate=None, largest_change=None), True),
    ],
)
def test_a_family_is_known_well_enough_by_its_own_time_or_by_the_step(one, is_known):
    assert one.is_known is is_known


@pytest.mark.parametrize(
    ("outcome", "of_known", "of_rough"),
    [
        (Outcome.REGRESSED, True, True),
        (Outcome.NOT_MEASURED, True, True),
        (Outcome.UNDECIDED, False, False),
        (Outcome.IMPROVED, True, False),
        (Outcome.UNCHANGED, True, False),
    ],
)
def test_more_windows_are_recorded_unless_they_would_tell_nothing(outcome, of_known, of_rough):
    judgement = KernelJudgement(workload="w", outcome=outcome, reason="", tested=(figures(0.01),))
    one_rough = replace(judgement, tested=(*judgement.tested * 9, ROUGH))

    assert judgement.is_settled is of_known
    assert one_rough.is_settled is of_rough
    assert replace(one_rough, findings=(SLOWER,)).is_settled is of_known  # it was found
    assert replace(one_rough, findings=(replace(SLOWER, is_proven=False),)).is_settled is of_rough
