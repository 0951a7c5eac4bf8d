import math

import pytest

from perfledger_baselines.rule import PlanError, Rule


def rule(**values):
    return Rule(**{"looks": (4, 8), "alpha": 0.05, "margin": 0.01, "floor": 0.003, **values})


def test_a_rule_is_the_judges_part_of_the_plan(build):
    plan = build.plan(looks=(4, 9), alpha=0.1, margin=0.02, floor=0.01)

    assert Rule.from_plan(plan) == rule(looks=(4, 9), alpha=0.1, margin=0.02, floor=0.01)


@pytest.mark.parametrize("alpha", [0.0, -0.05, 0.5, 1.0, math.nan])
def test_alpha_must_be_an_error_rate(alpha):
    with pytest.raises(PlanError, match="no error rate"):
        rule(alpha=alpha)


@pytest.mark.parametrize("name", ["margin", "floor"])
@pytest.mark.parametrize("value", [-0.01, math.nan, math.inf])
def test_margin_and_floor_must_be_relative_changes(name, value):
    with pytest.raises(PlanError, match=name):
        rule(**{name: value})


@pytest.mark.parametrize("looks", [(4, 4), (8, 4), (0, 4), (-4,)])
def test_looks_must_increase(looks):
    with pytest.raises(PlanError, match="increase"):
        rule(looks=looks)


def test_no_looks_are_a_plan_too():
    assert rule(looks=()).looks == ()


def test_a_margin_below_the_floor_acts_as_the_floor():
    assert rule(margin=0.001, floor=0.005).log_margin == math.log1p(0.005)
    assert rule(margin=0.01, floor=0.005).log_margin == math.log1p(0.01)
