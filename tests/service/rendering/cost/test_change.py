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
