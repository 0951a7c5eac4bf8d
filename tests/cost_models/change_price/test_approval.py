from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger.bundle import CostPolicy
from perfledger_cost_models.change_price.approval import apply_approvals, is_entitled
from perfledger_cost_models.change_price.cost_policy import (
    Approval,
    PolicyEvaluation,
    PolicyOutcome,
)
from perfledger_cost_models.quote import SummedPrice

POLICY = CostPolicy(team="nlp", ask_above_usd_per_year=10, approvers=("Alice", "bob"))
NOBODY = replace(POLICY, approvers=())


def ruling(verdict=PolicyOutcome.NEEDS_APPROVAL, high="20", unpriced=()):
    price = SummedPrice(
        usd=Decimal(15),
        low=Decimal(5),
        high=Decimal(high),
        is_detectable=True,
        workloads=("gpt:a",),
    )
    return PolicyEvaluation(team="nlp", outcome=verdict, price=price, unpriced=unpriced)


def approval(login="alice", usd="20", **values):
    usual = Approval(
        login=login,
        is_author=False,
        usd_per_year=Decimal(usd),
        covers_unpriced=False,
        reason="worth it",
        approved_at=datetime(2026, 11, 20, tzinfo=UTC),
        until=date(2026, 12, 20),
    )
    return replace(usual, **values)


def test_logins_are_the_same_whatever_their_case():
    assert is_entitled(POLICY, "ALICE")
    assert not is_entitled(POLICY, "alic")


def test_an_approval_of_as_much_as_the_change_may_cost_counts():
    policy_evaluation = apply_approvals(ruling(), POLICY, (approval(),))

    assert (policy_evaluation.outcome, policy_evaluation.objection) == (PolicyOutcome.APPROVED, "")
    assert policy_evaluation.approval == approval()


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        (approval(usd="19.99"), "may cost up to 20 USD"),
        (approval(is_author=True), "authors approve"),
        (approval(is_over=True), "it expired on 2026-12-20"),
    ],
)
def test_an_approval_that_does_not_count_says_why(text, objection):
    policy_evaluation = apply_approvals(ruling(), POLICY, (text,))

    assert policy_evaluation.outcome is PolicyOutcome.NEEDS_APPROVAL
    assert objection in policy_evaluation.objection


def test_what_has_no_price_has_to_be_spoken_of():
    policy_evaluation = ruling(unpriced=("gpt:new",))

    assert "without a price" in apply_approvals(policy_evaluation, POLICY, (approval(),)).objection
    spoken = apply_approvals(policy_evaluation, POLICY, (approval(covers_unpriced=True),))
    assert spoken.outcome is PolicyOutcome.APPROVED


def test_without_any_price_only_what_has_none_is_approved():
    policy_evaluation = replace(ruling(unpriced=("gpt:new",)), price=None)

    found_policy_evaluation = apply_approvals(
        policy_evaluation, POLICY, (approval(usd="0", covers_unpriced=True),)
    )
    assert found_policy_evaluation.outcome is PolicyOutcome.APPROVED


def test_the_author_counts_where_the_policy_says_so():
    policy = replace(POLICY, may_author_approve=True)

    assert (
        apply_approvals(ruling(), policy, (approval(is_author=True),)).outcome
        is PolicyOutcome.APPROVED
    )


@pytest.mark.parametrize("verdict", [PolicyOutcome.FAILS, PolicyOutcome.PASSES])
def test_only_what_asks_can_be_approved(verdict):
    assert apply_approvals(ruling(verdict), POLICY, (approval(),)) == ruling(verdict)


@pytest.mark.parametrize("policy", [POLICY, NOBODY])
def test_who_is_not_named_is_not_heard(policy):
    assert apply_approvals(ruling(), policy, (approval("mallory"),)) == ruling()


def test_an_older_approval_that_counts_stands_after_a_newer_one_that_does_not():
    policy_evaluation = apply_approvals(ruling(), POLICY, (approval("bob"), approval(usd="1")))

    assert policy_evaluation.outcome is PolicyOutcome.APPROVED
    assert policy_evaluation.approval is not None
    assert policy_evaluation.approval.login == "bob"


def test_of_two_that_do_not_count_the_newer_is_named():
    policy_evaluation = apply_approvals(
        ruling(), POLICY, (approval(usd="1"), approval("bob", is_over=True))
    )

    assert policy_evaluation.approval is not None
    assert (policy_evaluation.approval.login, policy_evaluation.outcome) == (
        "bob",
        PolicyOutcome.NEEDS_APPROVAL,
    )


@given(usd=st.decimals(0, 100, places=2), high=st.decimals(0, 100, places=2))
def test_more_money_approved_never_makes_an_approval_count_less(usd, high):
    policy_evaluation = ruling(high=str(high))
    less, more = (
        apply_approvals(policy_evaluation, POLICY, (approval(usd=str(each)),)).outcome
        for each in (usd, usd + 1)
    )

    assert (less is PolicyOutcome.APPROVED) <= (more is PolicyOutcome.APPROVED)
    assert (less is PolicyOutcome.APPROVED) == (high <= usd)
