import pytest

from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_profiles.diff.cause import Cause, ChangeKind, StepTimeExplanation
from perfledger_profiles.diff.suggestions import PYTHON
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_service.usecases.trace.waits import WAITS, with_waits


def estimate(base, head):
    change = head / base - 1
    return EffectEstimate(
        base=base,
        head=head,
        change=change,
        low=change,
        high=change,
        narrow_low=change,
        narrow_high=change,
        pairs=12,
        p_value=0.001,
        smallest_detectable=0.01,
    )


def cause(name, seconds, *, suggestion=""):
    before_s, after_s = seconds
    return Cause(
        name=name,
        base_name=name,
        kind=ChangeKind.RATE,
        base_seconds=before_s,
        head_seconds=after_s,
        base_count=1.0,
        head_count=1.0,
        suggestion=suggestion,
    )


def advice_of(operations, outside, processors, *, cores=8):
    """Return the advice on the time outside of operations; all are base's and head's seconds."""
    step = tuple(map(sum, zip(operations, outside, strict=True)))
    explanation = StepTimeExplanation(
        workload="gpt:step",
        base_step_seconds=step[0],
        head_step_seconds=step[1],
        causes=(
            cause(OUTSIDE_OPERATIONS, outside, suggestion=PYTHON),
            cause("aten::mm", operations),
        ),
        rest_seconds=0.0,
        is_attributable=True,
    )
    first, second = with_waits(
        explanation, estimate(*step), estimate(*processors), cores=cores
    ).causes
    assert second.suggestion == ""
    return first.suggestion


@pytest.mark.parametrize(
    ("operations", "outside", "processors", "expected"),
    [
        pytest.param((0.01, 0.01), (0.01, 0.03), (0.02, 0.0202), WAITS, id="a sleep"),
        pytest.param((0.01, 0.01), (0.01, 0.03), (0.02, 0.04), PYTHON, id="Python code"),
        pytest.param((0.02, 0.02), (0.0, 0.002), (0.08, 0.0801), WAITS, id="beside four cores"),
        pytest.param((0.01, 0.0), (0.01, 0.06), (0.05, 0.06), PYTHON, id="in place of four cores"),
        pytest.param((0.01, 0.0), (0.01, 0.06), (0.05, 0.01), WAITS, id="sleeps in their place"),
        pytest.param((0.01, 0.01), (0.03, 0.01), (0.04, 0.02), PYTHON, id="no longer"),
    ],
)
def test_a_longer_step_waits_if_no_processor_can_have_worked_for_it(
    operations, outside, processors, expected
):
    assert advice_of(operations, outside, processors) == expected


def test_parts_that_became_shorter_may_have_had_all_cores():
    shorter = {"operations": (0.02, 0.019), "outside": (0.0, 0.006), "processors": (0.05, 0.05)}

    assert advice_of(**shorter, cores=2) == WAITS
    assert advice_of(**shorter, cores=64) == PYTHON


def test_without_times_of_processors_the_advice_stays():
    explanation = StepTimeExplanation(
        workload="gpt:step",
        base_step_seconds=0.01,
        head_step_seconds=0.02,
        causes=(cause(OUTSIDE_OPERATIONS, (0.01, 0.02), suggestion=PYTHON),),
        rest_seconds=0.0,
        is_attributable=True,
    )

    assert with_waits(explanation, estimate(0.01, 0.02), None, cores=1) == explanation
    assert with_waits(explanation, None, estimate(0.01, 0.02), cores=1) == explanation
