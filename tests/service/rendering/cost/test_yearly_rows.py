"""What changes cost together, what queues become and what policies say, in words."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from perfledger_cost_models.change_price.cost_policy import Approval, PolicyOutcome
from perfledger_cost_models.quote import ChangePrice
from perfledger_service.rendering.cost.yearly_rows import (
    absorbed_hours_sentence,
    capacity_sentence,
    policy_evaluation_rows,
    queue_sentences,
    yearly_total,
)
from tests.service.rendering.example_prices import QUEUE, policy_evaluation, summed_price

HEAD = "d41e7b9a0c2f4e6d8b1a3c5e7f9012345678abcd"


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (summed_price(20, 25, 30), "+25.0 USD a year (20.0 to 30.0), 2 workloads"),
        (summed_price(-30, -25, -20), "-25.0 USD a year (20.0 to 30.0), 2 workloads"),
        (
            summed_price(-30, 5, 20),
            "no detectable change in cost (-30.0 to +20.0 USD a year), 2 workloads",
        ),
        (summed_price(0, 0, 20), "from 0.0 to 20.0 USD a year, 2 workloads"),
        (summed_price(0, 0, 0), "no cash a year, 2 workloads"),
        (
            summed_price(20, 25, 30, left_out=("x",), workloads=("a",)),
            "+25.0 USD a year (20.0 to 30.0), 1 workload, 1 more without a price",
        ),
        (replace(summed_price(1, 2, 3), usd=None, missing=("x",)), "no sum, 2 workloads"),
    ],
)
def test_the_sum_in_words(price, text):
    total = yearly_total(price, 2)

    assert total is not None
    assert total.text.replace("\N{NO-BREAK SPACE}", " ") == text


def test_the_sum_of_one_price_or_of_none_is_not_repeated():
    assert yearly_total(summed_price(1, 2, 3), 1) is None
    assert yearly_total(None, 0) is None


def test_a_shorter_queue_says_so():
    shorter = replace(
        QUEUE,
        absorbed_hours=(-7659.0, -5982.0, -4448.0),
        extra_wait_s=(-2080.0, -1590.0, -1160.0),
        extra_wait_hours=(-2705.0, -2072.0, -1514.0),
    )

    (sentence,) = queue_sentences((shorter,))

    text = sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert "5,982 device-hours a year (4,448 to 7,659) are freed" in text
    assert "about 0.442 h (0.322 to 0.578 h) shorter than the 3.53 h before" in text


def test_the_middle_of_a_doubtful_interval_decides_what_becomes_longer():
    doubtful = replace(
        QUEUE,
        extra_wait_s=(-2080.0, -1590.0, 60.0),
    )

    (sentence,) = queue_sentences((doubtful,))

    assert "shorter than the" in sentence
    freed = absorbed_hours_sentence((-7659.0, -5982.0, 100.0))
    assert freed.endswith("are freed on devices that are paid for anyway")


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        ((0.1, 0.2, 0.5), "it takes 0.2000 more device-hours a year (0.1000 to 0.5000)"),
        ((-0.5, -0.2, 0.0), "0.2000 device-hours a year (0 to 0.5000) are freed"),
        ((-0.5, 0.2, 0.5), "it takes 0.2000 more device-hours a year (-0.5000 to 0.5000)"),
        ((0.0, 0.0, 0.0), ""),
    ],
)
def test_parts_of_an_hour_on_paid_devices_are_told(hours, text):
    price = ChangePrice(
        workload="gpt",
        rate=None,
        device_hours_per_year=hours,
        hours_source="made up",
        usd=None,
        low=None,
        high=None,
        is_detectable=True,
        extra_hours=hours,
    )

    sentence = capacity_sentence(price).replace("\N{NO-BREAK SPACE}", " ")
    assert sentence == (f"{text} on devices that are paid for anyway" if text else "")


def test_a_wait_that_is_not_known_says_why():
    unknown = replace(QUEUE, wait_s=None, note="declare job_hours")

    assert queue_sentences((unknown,))[0].endswith("; declare job_hours")


def test_an_untouched_queue_is_not_worth_a_line():
    assert queue_sentences((replace(QUEUE, absorbed_hours=(0.0, 0.0, 0.0)),)) == ()


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (policy_evaluation(PolicyOutcome.PASSES), "none of its workloads changed"),
        (policy_evaluation(PolicyOutcome.PASSES, summed_price(0, 0, 0)), "no cash a year"),
        (policy_evaluation(PolicyOutcome.NEEDS_APPROVAL, unpriced=("x",)), ""),
        (
            policy_evaluation(PolicyOutcome.NEEDS_APPROVAL, summed_price(20, 25, 30), 10),
            "+25.0 USD a year (20.0 to 30.0); the whole interval is above the limit of 10 USD",
        ),
    ],
)
def test_why_a_policy_rules_so(rule, why):
    (row,) = policy_evaluation_rows((rule,))

    assert row.why.replace("\N{NO-BREAK SPACE}", " ") == why


def test_a_sum_names_what_it_lacks():
    price = summed_price(20, 25, 30, missing=("benchmarks.new:step",))

    total = yearly_total(price, 3)

    assert total is not None
    assert total.missing == ("benchmarks.new:step",)


@pytest.mark.parametrize(
    ("hours", "sentence"),
    [
        (
            (4448.0, 5982.0, 7659.0),
            "idle devices that are paid for absorb 5,982 device-hours a year (4,448 to 7,659)",
        ),
        (
            (-7659.0, -5982.0, -4448.0),
            "5,982 device-hours a year (4,448 to 7,659) are freed on devices that are paid",
        ),
        (
            (-10.0, 5.0, 20.0),
            "idle devices that are paid for absorb 5 device-hours a year (-10 to 20)",
        ),
    ],
)
def test_hours_are_taken_or_freed(hours, sentence):
    text = absorbed_hours_sentence(hours).replace("\N{NO-BREAK SPACE}", " ")

    assert text.removesuffix(" for anyway") == sentence


def test_the_strictest_policy_comes_first():
    evaluations = [policy_evaluation(outcome, team=str(outcome)) for outcome in PolicyOutcome]

    rows = policy_evaluation_rows(sorted(evaluations, key=lambda each: each.team))

    assert [(row.verb, row.tone) for row in rows] == [
        ("fails", "regressed"),
        ("asks for approval", "undecided"),
        ("has its approval", "warning"),
        ("passes", "unchanged"),
    ]


@pytest.mark.parametrize(
    ("limit", "text"), [("1000", "1,000 USD"), ("10.50", "10.5 USD"), ("0.00012", "0.00012 USD")]
)
def test_a_limit_is_shown_as_it_was_set(limit, text):
    (row,) = policy_evaluation_rows(
        [policy_evaluation(PolicyOutcome.FAILS, summed_price(2000, 2500, 3000), limit)]
    )

    assert row.why.replace("\N{NO-BREAK SPACE}", " ").endswith(f"above the limit of {text}")


@pytest.mark.parametrize(
    ("price", "unpriced", "command"),
    [
        (summed_price(50, 900, "2000.2"), (), "/perfledger approve d41e7b9a0c2f 2001: …"),
        (
            summed_price(50, 900, 2000),
            ("gpt:new",),
            "/perfledger approve d41e7b9a0c2f 2000 unpriced: …",
        ),
        (None, ("gpt:new",), "/perfledger approve d41e7b9a0c2f 0 unpriced: …"),
    ],
)
def test_who_may_approve_is_given_the_comment_that_does(price, unpriced, command):
    asks = replace(
        policy_evaluation(PolicyOutcome.NEEDS_APPROVAL, price, 1000, unpriced), approvers=("ann",)
    )

    (row,) = policy_evaluation_rows([asks], head=HEAD)
    (nameless,) = policy_evaluation_rows([replace(asks, approvers=())], head=HEAD)
    (without_head,) = policy_evaluation_rows([asks])

    assert (row.command, row.approvers) == (command, ("ann",))
    assert nameless.command == without_head.command == ""


def test_an_approval_is_shown_with_its_terms_and_with_what_speaks_against_it():
    approval = Approval(
        login="ann",
        is_author=False,
        usd_per_year=Decimal(12000),
        covers_unpriced=True,
        reason="the deadline",
        approved_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
        until=date(2026, 12, 20),
    )
    approved = replace(
        policy_evaluation(PolicyOutcome.APPROVED, summed_price(50, 900, 2000), 1000),
        approval=approval,
        approvers=("ann",),
        objection="it is over",
    )

    (row,) = policy_evaluation_rows([approved], head=HEAD)

    assert row.approval is not None
    assert row.approval.terms.replace("\N{NO-BREAK SPACE}", " ") == (
        "up to 12,000 USD a year and for workloads without a price, on 2026-11-20, until 2026-12-20"
    )
    assert (row.approval.login, row.approval.objection) == ("ann", "it is over")
    assert (row.command, row.approvers) == ("", ())
