"""The words of an answer, at the edges of its figures."""

import pytest

from perfledger_cost_models.prices.packaged_prices import packaged_sheet
from perfledger_cost_models.tco.buy_vs_rent import BreakEven, OptionComparison
from perfledger_service.rendering.cost.cost_answer import (
    answer_record,
    answer_sentences,
    switches_blocks,
)
from perfledger_service.values.cost_views import AnswerSwitch, CostAnswer, CostRow

ON_DEMAND = packaged_sheet().find("p5.48xlarge/on_demand")
PLAN = packaged_sheet().find("p5.48xlarge/savings_plan/3y_no_upfront")


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
    ("share", "words"), [(0.434, "from 43 % on"), (None, "at no share"), (1.0, "from 100 % on")]
)
def test_a_break_even_with_on_demand_is_a_share_or_none(share, words):
    hourly = row("p5", 6.88, price=ON_DEMAND, break_even=from_share(share))

    assert f"owning is cheaper than on demand (6.88) {words}." in sentence(OWNED, hourly)


@pytest.mark.parametrize(
    ("share", "words"), [(None, "at no share"), (0.39, "up to 39 %"), (1.0, "at any share")]
)
def test_a_commitment_is_sized_to_hours_or_to_devices(share, words):
    plan = row(
        "plan",
        5.1,
        price=PLAN,
        break_even=from_share(0.7),
        equal_size_share=share,
        is_committed=True,
    )

    assert (
        "(2.97 for every hour of the term) from 70 % on if that is sized to the hours used, "
        f"{words} if it is sized to the devices owned."
    ) in sentence(OWNED, plan)


def test_without_anything_to_rent_nothing_is_said_about_owning():
    assert sentence(OWNED).endswith(
        "costs least owned (onprem): 5.00 USD, the only option here that may rank."
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
