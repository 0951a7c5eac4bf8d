"""The price part of a report with a sum, a queue and policies, as each page shows it."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_cost_models.change.cost_policy import PolicyEvaluation, PolicyOutcome
from perfledger_cost_models.quote import QueueEffect, SummedPrice
from perfledger_service.rendering.check.check_json import report_json
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.terminal import plain_text
from perfledger_service.rendering.cost.yearly_cost_rows import (
    policy_evaluation_rows,
    queue_sentences,
    yearly_total,
)
from perfledger_service.values.report import Conclusion

HOSTILE = "<b>`|nlp` \x1b[31m"


def summed(low, usd, high, **values):
    usual = SummedPrice(
        usd=Decimal(usd),
        low=Decimal(low),
        high=Decimal(high),
        is_detectable=low > 0 or high < 0,
        workloads=("gpt:a", "vit:b"),
    )
    return replace(usual, **values)


def ruling(verdict, price=None, limit=None, unpriced=(), team="nlp"):
    return PolicyEvaluation(
        team=team,
        outcome=verdict,
        price=price,
        limit_usd=None if limit is None else Decimal(limit),
        unpriced=unpriced,
    )


QUEUE = QueueEffect(
    where="onprem-8xH100",
    absorbed_hours=(4448.0, 5982.0, 7659.0),
    busy_share=0.803,
    busy_share_after=(0.81, 0.813, 0.816),
    wait_s=12_700.0,
    extra_wait_s=(1160.0, 1590.0, 2080.0),
    extra_wait_hours=(1514.0, 2072.0, 2705.0),
)


@pytest.fixture
def ruled(reports):
    first, *others = reports["regressed"].change_prices
    free = {"usd": Decimal(0), "low": Decimal(0), "high": Decimal(0)}
    absorbed = replace(first, **free, absorbed_hours=QUEUE.absorbed_hours)
    return replace(
        reports["regressed"],
        change_prices=(absorbed, *others),
        total_price=summed(1_000, 23_900, 28_000),
        queues=(QUEUE,),
        policy_evaluations=(
            ruling(PolicyOutcome.PASSES, team="vision"),
            ruling(PolicyOutcome.FAILS, summed(1_200, 1_500, 1_900), 1_000),
            ruling(
                PolicyOutcome.NEEDS_APPROVAL,
                summed(50, 900, 2_000),
                1_000,
                ("gpt:new",),
                team="search",
            ),
        ),
        conclusion=Conclusion.FAILURE,
    )


def test_the_comment_says_policies_prices_their_sum_and_the_queue(ruled, matches_golden):
    matches_golden("comment_policy.md", comment(ruled))


def test_the_terminal_says_the_same(ruled, matches_golden):
    matches_golden("terminal_policy.txt", plain_text(ruled))


def test_json_has_the_figures_of_all_of_it(ruled):
    document = json.loads(report_json(ruled))

    assert document["change_prices"][0]["absorbed_hours"] == [4448.0, 5982.0, 7659.0]
    assert document["total_price"]["usd_per_year"] == "23900"
    assert document["queues"][0]["extra_wait_seconds"] == [1160.0, 1590.0, 2080.0]
    assert [each["outcome"] for each in document["policies"]] == [
        "passes",
        "fails",
        "asks for approval",
    ]


def test_a_failed_policy_alone_makes_the_headline_red(reports):
    report = replace(
        reports["unchanged"],
        conclusion=Conclusion.FAILURE,
        policy_evaluations=(ruling(PolicyOutcome.FAILS, summed(5, 6, 7), 1),),
    )

    assert "### \N{LARGE RED CIRCLE}" in comment(report)


def test_what_a_team_is_called_is_never_markup(reports):
    report = replace(
        reports["unchanged"],
        policy_evaluations=(ruling(PolicyOutcome.NEEDS_APPROVAL, team=HOSTILE),),
    )

    assert "\x1b" not in comment(report) + plain_text(report)
    assert "Policy of ``" in comment(report)


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (summed(20, 25, 30), "+25.0 USD a year (20.0 to 30.0), 2 workloads"),
        (summed(-30, -25, -20), "-25.0 USD a year (20.0 to 30.0), 2 workloads"),
        (
            summed(-30, 5, 20),
            "no detectable change in cost, somewhere from -30.0 to +20.0 USD a year, 2 workloads",
        ),
        (summed(0, 0, 20), "from 0.0 to 20.0 USD a year, 2 workloads"),
        (summed(0, 0, 0), "no cash a year, 2 workloads"),
        (
            summed(20, 25, 30, left_out=("x",), workloads=("a",)),
            "+25.0 USD a year (20.0 to 30.0), 1 workload, 1 without a price left out",
        ),
        (replace(summed(1, 2, 3), usd=None, missing=("x",)), "no sum, 2 workloads"),
    ],
)
def test_the_sum_in_words(price, text):
    total = yearly_total(price, 2)

    assert total is not None
    assert total.text.replace("\N{NO-BREAK SPACE}", " ") == text


def test_the_sum_of_one_price_or_of_none_is_not_repeated():
    assert yearly_total(summed(1, 2, 3), 1) is None
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
    assert "about 0.442 h (0.322 h to 0.578 h) shorter than the 3.53 h before" in text


def test_a_wait_that_is_not_known_says_why():
    unknown = replace(QUEUE, wait_s=None, note="declare job_hours")

    assert queue_sentences((unknown,))[0].endswith("; declare job_hours")


def test_an_untouched_queue_is_not_worth_a_line():
    assert queue_sentences((replace(QUEUE, absorbed_hours=(0.0, 0.0, 0.0)),)) == ()


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (ruling(PolicyOutcome.PASSES), "nothing of its workloads changed"),
        (ruling(PolicyOutcome.PASSES, summed(0, 0, 0)), "no cash a year"),
        (ruling(PolicyOutcome.NEEDS_APPROVAL, unpriced=("x",)), ""),
        (
            ruling(PolicyOutcome.NEEDS_APPROVAL, summed(20, 25, 30), 10),
            "+25.0 USD a year (20.0 to 30.0); all of the interval is above the limit of 10 USD",
        ),
    ],
)
def test_why_a_policy_rules_so(found, why):
    (row,) = policy_evaluation_rows((found,))

    assert row.why.replace("\N{NO-BREAK SPACE}", " ") == why
