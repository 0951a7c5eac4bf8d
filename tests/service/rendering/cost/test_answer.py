"""The words of an answer, at the edges of its figures."""

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.tco.buy_vs_rent import BreakEven, OptionComparison
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_service.rendering.cost.answer import (
    answer_record,
    answer_sentences,
    switches_blocks,
)
from perfledger_service.values.cost_views import AnswerSwitch, CostAnswer, CostRow

ON_DEMAND = packaged_sheet().find("p5.48xlarge/on_demand")
PLAN = packaged_sheet().find("p5.48xlarge/savings_plan/3y_no_upfront")
UPFRONT = packaged_sheet().find("p5.48xlarge/savings_plan/1y_all_upfront")


def row(name, usd, *, price=None, break_even=None, **values):
    cost = OptionComparison(
        name=name,
        accelerator="H100-80GB",
        mode_usd=usd,
        p5_usd=usd,
        p50_usd=usd,
        p95_usd=usd,
        chance_cheapest=0.5,
    )
    return CostRow(
        cost=cost,
        work=None,
        price=price,
        break_even=break_even,
        investment=None,
        footprint=None,
        **values,
    )


def from_share(share):
    return BreakEven(p5=share, p50=share, p95=share, chance_ever=float(share is not None))


def answer(cheapest, *others, **values):
    rows = (cheapest, *others)
    usual = {
        "accelerator": "H100-80GB",
        "cheapest": cheapest,
        "likeliest": cheapest,
        "runner_up": others[0] if others else None,
        "owned": next((each for each in rows if each.price is None), None),
        "on_demand": next((each for each in rows if each.price is ON_DEMAND), None),
        "commitment": next((each for each in rows if each.is_committed), None),
        "speeds": (),
        "switches": (),
    }
    return CostAnswer(**(usual | values))


def sentence(*rows):
    (first,) = answer_sentences(answer(*rows), use=0.6, piece="")
    return first.replace("\N{NO-BREAK SPACE}", " ")


OWNED = row("onprem", 5.0)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((0.35, 0.434, 0.53), "from 43 % on (35 % to 53 %)"),
        ((0.9, 1.0, None), "from 100 % on (90 % to no share)"),
        ((0.83, None, None), "at no share (or from 83 % on, at the low end of its 90 % interval)"),
        ((None, None, None), "at no share"),
    ],
)
def test_a_break_even_with_on_demand_is_a_share_or_none_with_its_interval(shares, words):
    low, middle, high = shares
    break_even = BreakEven(p5=low, p50=middle, p95=high, chance_ever=0.5)
    hourly = row("p5", 6.88, price=ON_DEMAND, break_even=break_even)

    assert f"owning is cheaper than on demand (6.88) {words}." in sentence(OWNED, hourly)


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (0.03, "that commitment is cheaper (in 97 % of the draws)"),
        (0.47, "both cost about the same (owning is cheaper in 47 % of the draws)"),
        (0.97, "owning is cheaper (in 97 % of the draws)"),
    ],
)
def test_a_commitment_is_sized_to_hours_or_to_devices(chance, words):
    plan = row(
        "plan",
        5.0,
        price=PLAN,
        break_even=from_share(0.7),
        equal_size_chance=chance,
        is_committed=True,
    )

    assert (
        "(3.00 for every hour of the term) from 70 % on (70 % to 70 %) if that is sized to the "
        "hours used; "
        f"sized to the devices owned, {words}."
    ) in sentence(OWNED, plan)


def test_the_price_of_an_owned_server_has_its_day():
    server_price = packaged_hardware_inputs().find("server_price_8xH100_SXM")
    owned = row("onprem", 5.0, server_price=server_price)

    assert f"owned (onprem, server price {server_price.dated}): 5.00 USD" in sentence(owned)


def test_the_rate_of_what_is_paid_before_has_its_interest():
    plan = row("plan", 7.5, price=UPFRONT, break_even=from_share(0.7), is_committed=True)

    words = "(4.50 for every hour of the term with interest on what is paid upfront)"
    assert words in sentence(OWNED, plan)


def test_an_old_price_of_the_cheapest_is_said_to_be():
    first = "costs least on AWS p5.48xlarge on demand (us-east-1, as of"

    assert "; older than list prices stay valid): 2.00 USD" in sentence(
        row("p5", 2.0, price=ON_DEMAND, is_outdated=True)
    )
    assert "older" not in sentence(row("p5", 2.0, price=ON_DEMAND))
    assert first in sentence(row("p5", 2.0, price=ON_DEMAND))


def test_the_lowest_median_is_about_as_much_as_what_is_cheapest_in_more_draws():
    often = row("p5", 5.1, price=ON_DEMAND)
    words = " ".join(answer_sentences(answer(OWNED, often, likeliest=often), use=0.6, piece=""))

    assert "about as much as on AWS p5.48xlarge on demand, 5.10" in words
    assert "next is" not in words


def test_without_anything_to_rent_nothing_is_said_about_owning():
    assert sentence(OWNED).endswith(
        "costs least owned (onprem): 5.00 USD, the only option of H100-80GB here that can be "
        "ranked."
    )


def test_without_an_answer_there_are_no_sentences():
    assert answer_record(None, use=0.6, piece="") == {"sentences": (), "accelerator": None}


def test_a_switch_is_an_upper_or_a_lower_limit():
    switches = tuple(
        AnswerSwitch(figure="allocated share", unit="share", now=0.6, value=value, alternative="x")
        for value in (0.43, 0.8)
    )
    _, table = switches_blocks(answer(OWNED, row("p5", 6.88), switches=switches))

    texts = [each.texts[2].replace("\N{NO-BREAK SPACE}", " ") for each in table.rows]
    assert texts == ["at most 43 %", "at least 80 %"]


def test_a_large_figure_is_written_out():
    switch = AnswerSwitch(
        figure="cost of one employee",
        unit="USD/FTE-year",
        now=200_000.0,
        value=199_190.08,
        alternative="x",
    )
    _, table = switches_blocks(answer(OWNED, row("p5", 6.88), switches=(switch,)))

    texts = table.rows[0].texts
    assert switch.is_input
    assert (texts[1], texts[2]) == ("200,000 USD/FTE-year", "at most 199,200 USD/FTE-year")
