"""Deciding from corrected results: the rule by itself."""

import math

import pytest

from perfledger.metrics import SM_ACTIVE, STEP_TIME
from perfledger_baselines.judging.decision import decide_unpaired
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import ROUNDING, DecisionRule
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult, exact_result
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest

RULE = DecisionRule(looks=(), alpha=0.05, margin=0.01, floor=0.003)


def decide(mean, *, half=0.002, narrow=0.0015, holm=0.001, mild=0.001, metric=STEP_TIME, rule=RULE):
    """Decide a test whose mean difference of logs and widths are these."""
    result = TTestResult(
        pairs=8,
        mean=mean,
        sd=0.002,
        degrees=7.0,
        share=1.0,
        half_width=half,
        narrow_half_width=narrow,
        p_value=0.001,
    )
    adjusted = AdjustedResult(result=result, holm=holm, benjamini_hochberg=mild, sharing=1)
    test = UnpairedTest(workload="m:f", metric=metric, base=(1.0, 4.0), head=(2.0, 2.0))
    (decision,) = decide_unpaired([test], [adjusted], rule=rule)
    return decision


@pytest.mark.parametrize(
    ("metric", "mean", "outcome"),
    [
        (STEP_TIME, 0.05, Outcome.REGRESSED),
        (STEP_TIME, -0.05, Outcome.IMPROVED),
        (SM_ACTIVE, 0.05, Outcome.IMPROVED),
        (SM_ACTIVE, -0.05, Outcome.REGRESSED),
    ],
)
def test_the_metric_says_which_direction_is_worse(metric, mean, outcome):
    assert decide(mean, metric=metric).outcome is outcome


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ({"holm": 0.05}, Outcome.UNDECIDED),
        ({"half": 0.05}, Outcome.UNDECIDED),
        ({"half": 0.051}, Outcome.UNDECIDED),
        ({"rule": DecisionRule(looks=(), alpha=0.05, margin=0.0, floor=0.06)}, Outcome.UNCHANGED),
    ],
    ids=[
        "not below alpha",
        "zero at the end of the interval",
        "zero in the interval",
        "below the floor",
    ],
)
def test_a_change_needs_all_three(values, outcome):
    assert decide(0.05, **values).outcome is outcome


@pytest.mark.parametrize(
    ("mean", "outcome"), [(0.0, Outcome.UNCHANGED), (0.0085, Outcome.UNDECIDED)]
)
def test_equivalence_needs_the_narrow_interval_inside_the_margin(mean, outcome):
    assert decide(mean, half=0.02, narrow=0.0015, holm=1.0).outcome is outcome


def test_rounding_decides_neither_floor_nor_margin():
    floor, margin = math.log1p(0.003), math.log1p(0.01)

    assert decide(floor * (1 - 1e-15), half=0.001).outcome is Outcome.REGRESSED
    narrow = margin * (1 + 1e-15)
    assert decide(0.0, half=0.02, narrow=narrow, holm=1.0).outcome is Outcome.UNCHANGED


@pytest.mark.parametrize(("mean", "is_warning"), [(0.05, True), (-0.05, False), (0.0029, False)])
def test_a_warning_is_a_worsening_that_only_the_milder_correction_calls(mean, is_warning):
    decision = decide(mean, holm=0.2, mild=0.02)

    assert decision.is_warning is is_warning
    assert decision.outcome in {Outcome.UNDECIDED, Outcome.UNCHANGED}


def test_at_alpha_itself_neither_correction_calls():
    assert not decide(0.05, holm=0.2, mild=0.05).is_warning


def test_a_called_change_is_no_warning():
    assert not decide(0.05).is_warning


def test_an_estimate_is_relative_with_geometric_means():
    estimate = decide(0.05).estimate

    assert estimate is not None
    assert (estimate.base, estimate.head) == pytest.approx((2.0, 2.0))
    assert estimate.change == pytest.approx(math.expm1(0.05))
    assert (estimate.low, estimate.high) == pytest.approx((math.expm1(0.048), math.expm1(0.052)))
    assert estimate.narrow_low == pytest.approx(math.expm1(0.0485))
    assert estimate.narrow_high == pytest.approx(math.expm1(0.0515))


def test_a_test_with_a_flaw_is_not_measured_and_one_with_too_few_runs_is_undecided():
    test = UnpairedTest(workload="m:f", metric=STEP_TIME, base=(1.0,), head=(2.0,))
    few = exact_result(1.0, 2.0, pairs=1, is_enough=False)
    adjusted = AdjustedResult(result=few, holm=1.0, benjamini_hochberg=1.0, sharing=1)

    flawed, short = decide_unpaired([test, test], [None, adjusted], rule=RULE)

    assert (flawed.outcome, flawed.adjusted) == (Outcome.NOT_MEASURED, None)
    assert (short.outcome, short.estimate) == (Outcome.UNDECIDED, None)


@pytest.mark.parametrize("metric", [STEP_TIME, SM_ACTIVE])
def test_a_floor_and_a_margin_count_themselves(metric):
    floor = math.log1p(0.003) - ROUNDING
    assert decide(floor, half=0.001, metric=metric).outcome in {Outcome.REGRESSED, Outcome.IMPROVED}

    margin = RULE.log_margin + ROUNDING
    assert decide(0.0, half=0.5, narrow=margin, holm=1.0).outcome is Outcome.UNCHANGED
    above = math.nextafter(margin, 1)
    assert decide(0.0, half=0.5, narrow=above, holm=1.0).outcome is Outcome.UNDECIDED
