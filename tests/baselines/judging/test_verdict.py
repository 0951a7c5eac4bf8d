from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger_baselines.judging.verdict import Outcome, Verdict

VERDICT = Verdict(
    workload="m:f",
    metric=STEP_TIME,
    outcome=Outcome.REGRESSED,
    estimate=None,
    adjusted_p=0.01,
    is_warning=False,
    reason="",
)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_what_regressed_is_a_regression(outcome):
    verdict = replace(VERDICT, outcome=outcome, is_warning=True)

    assert verdict.is_regression is (outcome is Outcome.REGRESSED)


def test_there_are_five_outcomes():
    assert [str(outcome) for outcome in Outcome] == [
        "regressed",
        "improved",
        "unchanged",
        "undecided",
        "not measured",
    ]
