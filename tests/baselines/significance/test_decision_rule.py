import math

import pytest

from perfledger_baselines.significance.decision_rule import CheckPlanError, DecisionRule
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior


def rule(**values):
    return DecisionRule(
        **{"looks": (4, 8), "alpha": 0.05, "margin": 0.01, "floor": 0.003, **values}
    )


def test_a_rule_is_the_judges_part_of_the_plan(build):
    plan = build.plan(looks=(4, 9), alpha=0.1, margin=0.02, floor=0.01)

    assert DecisionRule.from_plan(plan) == rule(looks=(4, 9), alpha=0.1, margin=0.02, floor=0.01)


@pytest.mark.parametrize("alpha", [0.0, -0.05, 0.5, 1.0, math.nan])
def test_alpha_must_be_an_error_rate(alpha):
    with pytest.raises(CheckPlanError, match="not an error rate"):
        rule(alpha=alpha)


@pytest.mark.parametrize("name", ["margin", "floor"])
@pytest.mark.parametrize("value", [-0.01, math.nan, math.inf])
def test_margin_and_floor_must_be_relative_changes(name, value):
    with pytest.raises(CheckPlanError, match=name):
        rule(**{name: value})


@pytest.mark.parametrize("looks", [(4, 4), (8, 4), (0, 4), (-4,)])
def test_looks_must_increase(looks):
    with pytest.raises(CheckPlanError, match="increasing"):
        rule(looks=looks)


def test_no_looks_are_a_plan_too():
    assert rule(looks=()).looks == ()


def test_a_margin_below_the_floor_acts_as_the_floor():
    assert rule(margin=0.001, floor=0.005).log_margin == math.log1p(0.005)
    assert rule(margin=0.01, floor=0.005).log_margin == math.log1p(0.01)


def spread_prior(run_sd, source=PriorSource.PAIRS):
    return SpreadPrior(variance=2 * run_sd**2, degrees=25, source=source, values=100)


@pytest.mark.parametrize(
    ("run_sd", "floor"),
    [
        pytest.param(0.002, 0.003, id="a quiet series has the floor of all"),
        pytest.param(0.01, math.expm1(0.005), id="half of what runs differ by"),
        pytest.param(0.5, 0.01, id="never beyond the margin"),
    ],
)
def test_a_series_has_a_floor_of_its_own(run_sd, floor):
    assert rule().floor_of(spread_prior(run_sd)) == pytest.approx(floor)


def test_what_sessions_differ_by_is_no_floor():
    assert rule().floor_of(spread_prior(0.01, PriorSource.RUNS)) == 0.003
    assert rule().floor_of(None) == 0.003


def test_a_floor_above_the_margin_stays():
    assert rule(floor=0.05).floor_of(spread_prior(0.5)) == pytest.approx(0.05)
