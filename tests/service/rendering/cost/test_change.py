"""What is said of several changes at once."""

from dataclasses import replace

import pytest

from perfledger_cost_models.quote import PricedChanges
from perfledger_service.rendering.cost.change import change_document
from perfledger_service.rendering.layout.writers import plain_lines, to_terminal
from perfledger_service.values.change_price import ChangePriceView


@pytest.mark.parametrize(
    ("workloads", "subject"), [("abc", "a, b, c: "), ("abcd", "4 workloads: ")]
)
def test_more_than_three_workloads_with_one_note_are_counted(reports, workloads, subject):
    price = reports["regressed"].change_prices[0]
    unpriced = replace(price, rate=None, usd=None, low=None, high=None, note="no entry")
    prices = tuple(replace(unpriced, workload=each) for each in workloads)
    view = ChangePriceView(PricedChanges(prices=prices, total=None), ())

    assert f"{subject}no entry" in plain_lines(to_terminal(change_document(view))).lower()


@pytest.mark.parametrize(("sign", "text"), [(1, "+"), (-1, "-")])
@pytest.mark.parametrize("projected_from", [None, "V100-16GB"])
def test_a_saving_is_negative_also_where_it_is_projected(reports, sign, text, projected_from):
    price = reports["regressed"].change_prices[0]
    ends = sorted((sign * price.low, sign * price.high))
    changed = replace(
        price, usd=sign * price.usd, low=ends[0], high=ends[1], projected_from=projected_from
    )
    view = ChangePriceView(PricedChanges(prices=(changed,), total=None), ())

    lines = plain_lines(to_terminal(change_document(view))).splitlines()

    (row,) = [line for line in lines if line.startswith(price.workload)]
    assert row.removeprefix(price.workload).lstrip().startswith(text)
