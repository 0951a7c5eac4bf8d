"""The price sheet that ships with perfledger."""

from functools import cache
from importlib.resources import files

from perfledger_cost_models.prices.check import check_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet

PACKAGED_SHEET = "packaged-2026-11-20"


@cache
def packaged_sheet() -> PriceSheet:
    """Return the price sheet that ships with perfledger, without the rows that are rejected."""
    return check_sheet(packaged_text(), PACKAGED_SHEET).sheet


def packaged_text() -> str:
    """Return the CSV that the packaged sheet is read from."""
    return files("perfledger_cost_models").joinpath("prices.csv").read_text(encoding="utf-8")
