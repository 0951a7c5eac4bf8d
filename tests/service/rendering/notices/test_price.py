"""Tests what a notice says of old prices."""

from datetime import date

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.staleness import stale_prices
from perfledger_service.rendering.layout import writers
from perfledger_service.rendering.notices.price import price_notice_document


def test_old_prices_are_counted_by_kind_with_what_to_do():
    stale = stale_prices(packaged_sheet(), today=date(2028, 1, 1))
    text = writers.to_markdown(price_notice_document(stale))

    assert f"{len(stale)} prices" in text
    assert "list prices are older than 90 days, the oldest of `20" in text
    assert "perfledger prices update" in text


def test_prices_that_were_updated_meanwhile_are_said_to_be_current():
    text = writers.to_markdown(price_notice_document(()))

    assert "Prices are current again" in text
