import csv
from datetime import date
from io import StringIO

import pytest

from perfledger_cost_models.csv_table import PriceSheetError
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.tco.hardware_inputs import (
    COLUMNS,
    packaged_hardware_inputs,
    read_hardware_inputs,
)

ROW = {
    "parameter": "wacc",
    "unit": "per year",
    "low": "0.06",
    "mode": "0.085",
    "high": "0.11",
    "dist": "PERT",
    "as_of": "2026-01",
    "retrieved_at": "2026-11-20",
    "confidence": "low",
    "source": "an industry table",
    "note": "",
}


def sheet_of(*changes):
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    writer.writerows(ROW | change for change in changes)
    return read_hardware_inputs(out.getvalue(), "made-up")


def test_every_packaged_input_is_ordered_sourced_and_dated():
    sheet = packaged_hardware_inputs()

    assert len(sheet.parameters) == 43
    for parameter in sheet.parameters:
        assert 0 <= parameter.low <= parameter.mode <= parameter.high
        assert parameter.source
        assert parameter.as_of <= date(2026, 11, 22)


def test_a_vague_period_is_dated_by_the_day_it_was_read_and_a_day_by_itself():
    vague = sheet_of(ROW).find("wacc")
    exact = sheet_of({"as_of": "2026-01-05"}).find("wacc")

    assert (vague.as_of, vague.is_read_date, vague.period) == (date(2026, 11, 20), True, "2026-01")
    assert (exact.as_of, exact.is_read_date) == (date(2026, 1, 5), False)


def test_a_low_confidence_input_is_assumed_and_says_its_value_in_words():
    assumed = sheet_of(ROW).find("wacc")

    assert assumed.is_assumed
    assert assumed.label == "cost of capital (WACC): 8.5 % a year"
    assert not sheet_of({"confidence": "medium"}).find("wacc").is_assumed


def test_a_missing_input_is_an_error_not_zero():
    with pytest.raises(PriceMissingError, match="no price for 'colo_price' on sheet 'made-up'"):
        sheet_of(ROW).find("colo_price")


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("mode", "0.2", "is not between 0.06 and 0.11"),
        ("mode", "0.01", "is not between"),
        ("high", "0.01", "is not a plain|is not between"),
        ("low", "-1", "is not a plain decimal"),
        ("dist", "normal", "is not PERT"),
        ("unit", "", "is empty"),
        ("as_of", "", "is empty"),
        ("retrieved_at", "", "is empty"),
        ("confidence", "reject", "is not one of"),
        ("source", "", "is empty"),
    ],
)
def test_a_bad_input_is_refused_with_its_row(column, cell, problem):
    with pytest.raises(PriceSheetError, match=rf"sheet 'made-up', line 2.*({problem})"):
        sheet_of({column: cell})


def test_an_input_that_appears_twice_is_refused():
    with pytest.raises(PriceSheetError, match="line 3, column 'parameter': 'wacc' appears twice"):
        sheet_of(ROW, ROW)
