from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger.bundle import CostPolicy
from perfledger_cost_models.change_price.cost_policy import PolicyOutcome, evaluate_policy
from perfledger_cost_models.quote import SummedPrice


def price(low, high):
    return SummedPrice(
        usd=Decimal(low + high) / 2,
        low=Decimal(low),
        high=Decimal(high),
        is_detectable=low > 0 or high < 0,
        workloads=("gpt:a",),
    )


def policy(fail=None, ask=None, workloads=("gpt:*",)):
    return CostPolicy(
        team="nlp",
        workloads=workloads,
        fail_above_usd_per_year=fail,
        ask_above_usd_per_year=ask,
    )


@pytest.mark.parametrize(
    ("low", "high", "limits", "ruling", "limit"),
    [
        pytest.param(101, 150, {"fail": 100}, PolicyOutcome.FAILS, 100, id="all above: fails"),
        pytest.param(
            100,
            150,
            {"fail": 100},
            PolicyOutcome.NEEDS_APPROVAL,
            100,
            id="the low end at the limit",
        ),
        pytest.param(
            50, 150, {"fail": 100}, PolicyOutcome.NEEDS_APPROVAL, 100, id="the limit is inside"
        ),
        pytest.param(
            50, 100, {"fail": 100}, PolicyOutcome.PASSES, None, id="the high end at the limit"
        ),
        pytest.param(-90, -50, {"fail": 0}, PolicyOutcome.PASSES, None, id="a saving"),
        pytest.param(20, 30, {"ask": 10}, PolicyOutcome.NEEDS_APPROVAL, 10, id="all above: asks"),
        pytest.param(5, 30, {"ask": 10}, PolicyOutcome.NEEDS_APPROVAL, 10, id="a part above: asks"),
        pytest.param(5, 10, {"ask": 10}, PolicyOutcome.PASSES, None, id="below"),
        pytest.param(
            20, 90, {"ask": 10, "fail": 100}, PolicyOutcome.NEEDS_APPROVAL, 10, id="between the two"
        ),
        pytest.param(
            20, 110, {"ask": 10, "fail": 100}, PolicyOutcome.NEEDS_APPROVAL, 100, id="up to both"
        ),
        pytest.param(120, 190, {"ask": 10, "fail": 100}, PolicyOutcome.FAILS, 100, id="above both"),
    ],
)
def test_a_ruling_is_on_the_interval(low, high, limits, ruling, limit):
    policy_evaluation = evaluate_policy(policy(**limits), price(low, high))

    assert (policy_evaluation.outcome, policy_evaluation.limit_usd) == (ruling, limit)


def test_a_change_without_a_price_asks():
    unpriced = replace(price(1, 2), usd=None, low=None, high=None, missing=("gpt:new",))

    policy_evaluation = evaluate_policy(policy(fail=100), unpriced)

    assert (policy_evaluation.outcome, policy_evaluation.unpriced) == (
        PolicyOutcome.NEEDS_APPROVAL,
        ("gpt:new",),
    )


def test_what_was_not_measured_asks_its_own_team_only():
    unmeasured = ("gpt:broken",)

    assert (
        evaluate_policy(policy(fail=100), None, unmeasured=unmeasured).outcome
        is PolicyOutcome.NEEDS_APPROVAL
    )
    assert (
        evaluate_policy(policy(fail=100, workloads=("vit",)), None, unmeasured=unmeasured).outcome
        is PolicyOutcome.PASSES
    )


def test_a_failure_stays_one_beside_what_was_not_measured():
    policy_evaluation = evaluate_policy(
        policy(fail=100), price(200, 300), unmeasured=("gpt:broken",)
    )

    assert (policy_evaluation.outcome, policy_evaluation.unpriced) == (
        PolicyOutcome.FAILS,
        ("gpt:broken",),
    )


def test_nothing_of_the_team_s_passes():
    assert evaluate_policy(policy(fail=100), None).outcome is PolicyOutcome.PASSES


amounts = st.integers(-1000, 1000)


@given(amounts, amounts, st.integers(0, 1000), st.integers(0, 500))
def test_a_dearer_change_is_never_ruled_on_more_mildly(low, high, limit, more):
    low, high = sorted((low, high))
    order = [PolicyOutcome.PASSES, PolicyOutcome.NEEDS_APPROVAL, PolicyOutcome.FAILS]

    one = evaluate_policy(policy(fail=limit), price(low, high)).outcome
    two = evaluate_policy(policy(fail=limit), price(low + more, high + more)).outcome

    assert order.index(one) <= order.index(two)
