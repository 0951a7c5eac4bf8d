"""What is said of a number of devices and of commitments is what their figures say."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.procurement.commitment_sweep import SizedCost
from perfledger_cost_models.review.document import (
    CommitmentMetrics,
    MarketRemark,
    UnknownFigure,
)
from perfledger_service.rendering.review.commitment_rows import (
    dear_commitment_sentence,
    market_sentence,
    metrics_rows,
    other_size_sentence,
    sweep_text,
    swept,
)


def plain_text(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


METRICS = CommitmentMetrics(
    accelerator="H100-80GB",
    hours=Decimal(1400),
    committed_hours=Decimal(600),
    committed_usd=Decimal(3000),
    unused_usd=Decimal(1000),
    effective_usd=Decimal(9504),
    on_demand_usd=Decimal(9632),
    prices=(),
)


def test_each_rate_stands_beside_its_arithmetic():
    rows = {row["name"]: row for row in metrics_rows(METRICS)}

    assert plain_text(rows["coverage"]["value"]) == "42.9 %"
    assert plain_text(rows["commitment utilization"]["value"]) == "75.0 %"
    assert plain_text(rows["effective savings rate"]["value"]) == "1.3 %"
    assert "9,504.00 / 9,632.00" in rows["effective savings rate"]["basis"]


def test_a_commitment_dearer_than_on_demand_is_said_to_be():
    """600 hours for 4,314 USD are 7.19 an hour; 1,400 for 9,632 on demand are 6.88."""
    dear = replace(METRICS, committed_usd=Decimal(4314))

    assert "under a commitment cost 7.19 USD, more than 6.88," in dear_commitment_sentence(dear)
    assert dear_commitment_sentence(METRICS) == ""
    assert dear_commitment_sentence(replace(dear, committed_hours=Decimal(0))) == ""


def test_the_prices_of_the_savings_rate_have_their_origin():
    price = packaged_sheet().find("p5.48xlarge/on_demand")
    rows = metrics_rows(replace(METRICS, prices=(price,)))

    assert rows is not None
    rate = rows[2]
    assert f"55.04 an hour of p5.48xlarge, us-east-1, as of {price.as_of}, " in rate["basis"]
    assert price.source in rate["basis"]


def test_without_usage_rates_are_unknown_with_their_reason():
    zero = Decimal(0)
    idle = replace(
        METRICS,
        hours=zero,
        committed_hours=zero,
        committed_usd=zero,
        effective_usd=Decimal(1000),
        on_demand_usd=zero,
    )
    rows = metrics_rows(idle)

    assert rows is not None
    coverage, utilization, rate = rows
    for row in (coverage, rate):
        assert row["value"] == "unknown"
        assert row["basis"] == "the bill has no usage of H100-80GB"
    assert plain_text(utilization["value"]) == "0.00 %"


def test_without_commitments_there_is_no_utilization():
    nothing = replace(METRICS, committed_usd=Decimal(0), unused_usd=Decimal(0))
    rows = {row["name"]: row for row in metrics_rows(nothing)}

    assert rows["commitment utilization"]["value"] == "unknown"
    assert rows["commitment utilization"]["basis"] == "the bill has no commitments of H100-80GB"
    assert metrics_rows(UnknownFigure(name="x", reason="y", remedy="z")) is None


def test_the_sweep_is_that_of_the_recommended_option_and_marks_its_best(make_review):
    review = make_review()
    text, sweep = sweep_text(review), swept(review)

    assert sweep.option.key == review.decision.recommendation
    (best,) = [row for row in text.rows if row.tone == "best"]
    assert best.beyond_best == "0"
    assert best.devices == f"{sweep.best.devices:,}"
    assert f"On average {sweep.best.devices:,} devices" in text.sentences[0]


def test_options_without_devices_have_no_sweep(make_review):
    assert sweep_text(replace(make_review(), sweeps=(), ladder=None)) is None


@pytest.mark.parametrize(
    ("market_usd", "expected"),
    [(Decimal("2.59"), "and even on demand (6.88)"), (Decimal("6.88"), "today (6.88). Until")],
)
def test_a_remark_names_the_market_that_is_cheaper(market_usd, expected):
    remark = MarketRemark(
        name="plan",
        usd_per_hour=Decimal("7.19"),
        market="three years",
        market_usd=market_usd,
        on_demand_usd=Decimal("6.88"),
        until=date(2027, 5, 31),
        usd_above=Decimal("337741.8"),
    )

    assert expected in market_sentence(remark)
    assert "the difference from three years adds up to 337,742 USD" in market_sentence(remark)


@pytest.mark.parametrize(
    ("planned", "origin"),
    [
        ("", " cost least over 3 years, which is the number in the options."),
        ("devices = 16\n", " cost least; the options have 16, as the plan says. Over 3 years 16"),
    ],
)
def test_a_number_of_devices_says_where_it_comes_from(make_review, small_plan, planned, origin):
    option = 'name = "three years"\n'
    review = make_review(plan=small_plan.replace(option, option + planned))
    swept_option = next(each for each in review.sweeps if each.option.name == "three years")

    text = sweep_text(replace(review, sweeps=(swept_option,)))

    assert text is not None
    assert origin in text.sentences[0]


def test_another_size_is_held_against_the_cheapest_in_both_ways(make_review):
    """At the most likely inputs another size may be the cheapest, or not: both figures show."""
    review = make_review()
    (sweep,) = (each for each in review.sweeps if each.option.key == "w2")
    chosen = next(one for one in sweep.sizes if one.devices == sweep.option.devices)

    def sentence(npv):
        best = SizedCost(devices=999, npv=chosen.npv + npv, npv_mean=chosen.npv_mean - 1000)
        same_review = replace(review, sweeps=(replace(sweep, sizes=(chosen, best)),))
        return plain_text(other_size_sentence(same_review))

    costs = f"Over 3 years {chosen.devices} cost 1,000 USD more on average, and"
    assert f"{costs} 500 USD more at the most likely inputs." in sentence(-500)
    assert f"{costs} 500 USD less at the most likely inputs." in sentence(500)


def test_laddered_terms_are_held_against_the_recommended_option_too(make_review):
    one_year = '[[option]]\nname = "one year"\nwhere = "p5.48xlarge/savings_plan/1y_all_upfront"\n'
    review = make_review(one_year)
    ladder = replace(review.ladder, short_devices=(0, 8, 8), npv_mean=Decimal(1000))  # below all
    outcomes = tuple(
        replace(one, npv_mean=Decimal(400)) if one is review.choice else one
        for one in review.decision.outcomes
    )
    cheaper = replace(review, ladder=ladder, decision=replace(review.decision, outcomes=outcomes))

    assert sweep_text(replace(review, ladder=ladder)).sentences[-1].endswith("of any one option.")
    assert (
        sweep_text(cheaper)
        .sentences[-1]
        .endswith(f"of any one option. {review.choice.option.name} costs 600 USD less still.")
    )


def test_a_ladder_of_one_term_alone_is_said_to_gain_nothing(make_review):
    one_year = '[[option]]\nname = "one year"\nwhere = "p5.48xlarge/savings_plan/1y_all_upfront"\n'
    review = make_review(one_year)
    ladder = replace(review.ladder, long_devices=41, short_devices=(0, 0, 0))

    assert sweep_text(replace(review, ladder=ladder)).sentences[-1] == (
        f"Laddered terms gain nothing: beside 41 devices of {ladder.long.name} for all 3 years, no "
        "number of one year in any year costs less."
    )
