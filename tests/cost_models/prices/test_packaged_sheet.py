"""The price sheet that ships with perfledger."""

from perfledger_cost_models.prices.check import check_sheet
from perfledger_cost_models.prices.packaged_sheet import (
    PACKAGED_SHEET,
    packaged_sheet,
    packaged_text,
)


def test_the_packaged_sheet_is_checked_like_any_other_and_loses_no_row():
    check = check_sheet(packaged_text(), PACKAGED_SHEET)

    assert packaged_sheet() == check.sheet
    assert packaged_sheet().rejected == ()
    assert len(packaged_sheet().prices) + len(packaged_sheet().unknown) == check.rows
