from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from perfledger_cost_models.review.document import BilledDemand, UnknownFigure
from perfledger_service.rendering.review.first_page import (
    first_page,
    outlook_sentence,
    unknown_line,
)
from perfledger_service.rendering.review.rows import UNKNOWN_VALUE, chance

AVERAGE = "regret on average of the futures in which another option is best"


def plain_text(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def staying(review):
    """Return the review as if today's option were recommended."""
    decision = replace(review.decision, recommendation=review.model.keep.key)
    return replace(review, decision=decision)


def test_a_change_is_recommended_with_what_it_saves(small):
    page = first_page(small)

    assert small.is_change
    assert page.take.startswith(f"Recommended: {small.choice.option.name}")
    assert page.take.endswith(f", {small.choice.option.devices:,} accelerators")
    saving = f"{small.decision.saving[1]:,.0f}"[:3].replace(",", "")
    assert saving in page.why.replace(",", "")
    assert len(page.facts) == 6
    assert page.facts[0].value == chance(small.choice.chance_best)


def test_going_on_as_today_says_why_the_cheapest_is_not_taken(small):
    page = first_page(staying(small))

    best = small.decision.of(small.decision.best_mean).option.name
    assert page.take.endswith(f": {small.status_quo.option.name}")
    assert "Recommended" not in page.take
    assert page.why.startswith(best)
    assert "90\xa0%" in page.why
    assert len(page.facts) == 4


def test_todays_option_may_be_the_cheapest_itself(small):
    keep = small.model.keep.key
    decision = replace(small.decision, recommendation=keep, best_mean=keep)

    page = first_page(replace(small, decision=decision))

    assert page.why == "No option has a lower mean cost."


@pytest.mark.parametrize("is_clear", [True, False])
def test_a_choice_that_another_may_beat_says_in_how_many_futures_it_is_best(small, is_clear):
    page = first_page(replace(small, decision=replace(small.decision, is_clear=is_clear)))

    assert ("where another option is best, that one costs" in page.why) is not is_clear
    assert f"best of {len(small.options)} options in 87 % of" in plain_text(page.why)


@pytest.mark.parametrize(
    ("regrets", "value", "words"),
    [
        ((0, 0, 0), "0 USD", "regret: no other option is best in any simulated future"),
        ((11.18, 0, 13_975.4), "14,000 USD", AVERAGE),
        ((31.4, 99.6, 628.25), "628 USD", f"{AVERAGE}; 100 USD or more in 5 % of all futures"),
    ],
)
def test_the_regret_is_that_of_the_futures_in_which_another_option_is_best(
    small, regrets, value, words
):
    names = ("regret_mean", "regret_p95", "regret_if_not_best")
    usd = {name: Decimal(str(regret)) for name, regret in zip(names, regrets, strict=True)}
    decision = replace(small.decision, **usd)
    (fact,) = (
        one for one in first_page(replace(small, decision=decision)).facts if "regret" in one.words
    )

    assert plain_text(fact.value) == value
    assert plain_text(fact.words) == words


def test_a_name_of_others_is_only_text(small):
    evil = "\x1b[31mred\u202e\nline"
    model = replace(
        small.model,
        options=tuple(replace(option, name=evil) for option in small.model.options),
        keep=replace(small.model.keep, name=evil),
    )
    outcomes = tuple(
        replace(one, option=replace(one.option, name=evil)) for one in small.decision.outcomes
    )
    page = first_page(
        replace(small, model=model, decision=replace(small.decision, outcomes=outcomes))
    )

    assert not {"\x1b", "\u202e", "\n"} & set(page.take + page.why)


def test_prices_are_valid_until_their_last_day_and_said_to_have_expired_after_it(small):
    def expiry(day):
        facts = first_page(replace(small, expires=day)).facts
        return facts[-2]

    made_on = small.made_on
    valid, expired = expiry(made_on), expiry(made_on - timedelta(days=1))

    assert (valid.value, expired.value) == ("2026-11-22", "2026-11-21")
    assert valid.words.startswith("is the last day")
    assert expired.words.startswith("was the last day")
    assert expiry(None).value == UNKNOWN_VALUE


def test_the_next_quarters_budget_is_a_sentence(small):
    sentence = outlook_sentence(small)
    unknown = replace(small.expected_quarter, usd=None, reason="no price of the supply")

    assert sentence.startswith(f"{small.expected_quarter.usd:,.0f} USD for 75,616 paid hours")
    assert (
        f"USD for {small.choice.option.name} from the first day on which it can be signed"
        in sentence
    )
    assert "at today's 6.88 USD an hour; " in sentence
    assert "--previous" in sentence
    assert outlook_sentence(replace(small, expected_quarter=unknown)).endswith(
        ": no price of the supply."
    )


def test_what_is_not_known_has_its_reason_and_its_remedy_in_one_line():
    part = UnknownFigure(name="queue waits", reason="no log\nwas given", remedy="add\u202e jobs")

    line = unknown_line(part)

    assert len(line.splitlines()) == 1
    for words in ("queue waits", "no log was given", "add jobs"):
        assert words in line


def test_the_first_page_says_why_another_number_of_devices_is_not_recommended(example, small):
    sweep = next(
        each for each in example.sweeps if each.option.key == example.decision.recommendation
    )
    chosen = next(one for one in sweep.sizes if one.devices == sweep.option.devices)
    assert sweep.best == chosen
    assert "cost least" not in first_page(example).why

    best = replace(chosen, devices=999, npv_mean=chosen.npv_mean - 1000)
    with_better = replace(sweep, sizes=(*sweep.sizes, best))
    why = first_page(replace(example, sweeps=(with_better,))).why

    assert f"On average 999 devices of {sweep.option.name} cost least" in why
    assert "cost 1,000 USD more on average" in why
    assert "devices = 999 in the plan" in why
    only = replace(sweep, sizes=(chosen,))
    assert "cost least" not in first_page(replace(example, sweeps=(only,))).why
    assert "cost least" not in first_page(replace(small, sweeps=())).why


def test_options_without_a_known_cost_are_named_beside_the_recommendation(small, make_review):
    tpus = make_review('[[option]]\nname = "TPUs, as needed"\nwhere = "tpu-v5p/on_demand"\n')

    assert first_page(tpus).why.endswith("(section 4 says why): TPUs, as needed.")
    assert "Not compared" not in first_page(small).why


BILLED = BilledDemand(
    days=Decimal(61),
    quarter_days=92,
    gap=None,
    are_hours_billed=True,
    accelerators_usd={},
    rest_usd=Decimal(0),
)


def with_bill(review, **values):
    """Return the review with a bill of a quarter's first 61 days, changed."""
    demand = replace(review.demand, bill_part=replace(BILLED, **values))
    return replace(review, demand=demand)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "The hours needed are those of 61 of the 92 days of 2026Q3, which the bill covers."),
        ({"days": Decimal(83)}, ""),
        ({"are_hours_billed": False}, ""),
        (
            {"days": Decimal(92), "gap": (date(2026, 8, 1), date(2026, 8, 7))},
            (
                "The bill has no usage from 2026-08-01 to 2026-08-07: if a part of the export is "
                "missing, more hours are needed."
            ),
        ),
        ({"days": Decimal(92), "gap": (date(2026, 8, 1), date(2026, 8, 6))}, ""),
    ],
)
def test_a_bill_that_lacks_a_part_of_the_quarter_is_named_on_the_first_page(
    small, values, sentence
):
    reason = first_page(with_bill(small, days=Decimal(92))).why

    assert plain_text(first_page(with_bill(small, **values)).why) == plain_text(
        f"{reason} {sentence}".strip()
    )


def test_the_budget_names_what_else_the_bill_has(small):
    usd = {"A100-40GB": Decimal(0), "TPU-v4": Decimal("28284.48")}
    review = with_bill(small, accelerators_usd=usd, rest_usd=Decimal(1625))

    assert (
        "The budget has H100-80GB only: the bill has 29,909 USD besides in 61 days (TPU-v4: "
        "28,284; everything else: 1,625). "
    ) in plain_text(outlook_sentence(review))
    assert "besides" not in outlook_sentence(with_bill(small))
