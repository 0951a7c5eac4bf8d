"""A sum, a queue and policies, as the comment, the terminal and JSON show them."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_cost_models.change_price.cost_policy import PolicyOutcome
from perfledger_service.rendering.check.comment import comment
from perfledger_service.rendering.check.report_json import report_json
from perfledger_service.rendering.check.terminal import report_table
from perfledger_service.values.report import Conclusion
from tests.service.rendering.example_prices import QUEUE, policy_evaluation, summed_price
from tests.service.rendering.terminal_lines import lines_at

HOSTILE = "<b>`|nlp` \x1b[31m"


@pytest.fixture
def ruled(reports):
    first, *others = reports["regressed"].change_prices
    free = {"usd": Decimal(0), "low": Decimal(0), "high": Decimal(0)}
    absorbed = replace(
        first, **free, extra_hours=QUEUE.absorbed_hours, absorbed_hours=QUEUE.absorbed_hours
    )
    return replace(
        reports["regressed"],
        change_prices=(absorbed, *others),
        total_price=summed_price(1_000, 23_900, 28_000),
        queues=(QUEUE,),
        policy_evaluations=(
            policy_evaluation(PolicyOutcome.PASSES, team="vision"),
            policy_evaluation(PolicyOutcome.FAILS, summed_price(1_200, 1_500, 1_900), 1_000),
            policy_evaluation(
                PolicyOutcome.NEEDS_APPROVAL,
                summed_price(50, 900, 2_000),
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
    matches_golden("terminal_policy.txt", lines_at(report_table(ruled), width=80))


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
        policy_evaluations=(policy_evaluation(PolicyOutcome.FAILS, summed_price(5, 6, 7), 1),),
    )

    assert "### \N{LARGE RED CIRCLE}" in comment(report)


def test_what_a_team_is_called_is_never_markup(reports):
    report = replace(
        reports["unchanged"],
        policy_evaluations=(policy_evaluation(PolicyOutcome.NEEDS_APPROVAL, team=HOSTILE),),
    )

    assert "\x1b" not in comment(report) + lines_at(report_table(report), width=80)
    assert "Policy of ``" in comment(report)
