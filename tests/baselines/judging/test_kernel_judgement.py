import pytest

from perfledger_baselines.judging.kernel_judgement import KernelChange, KernelFinding


@pytest.mark.parametrize("is_moved", [False, True])
@pytest.mark.parametrize("change", list(KernelChange))
def test_only_slower_and_new_kernels_that_did_not_move_are_alarms(change, is_moved):
    finding = KernelFinding(
        family="aten::mm",
        change=change,
        base_seconds=1e-4,
        head_seconds=1.06e-4,
        relative_change=0.06,
        step_share=0.002,
        adjusted_p=0.001,
        is_moved=is_moved,
    )

    is_more = change in {KernelChange.SLOWER, KernelChange.NEW}
    assert finding.is_alarm is (is_more and not is_moved)
