"""Rows that are left out, as people read of them."""

from perfledger_cost_models.prices.price_sheet import RejectedPrice
from perfledger_service.rendering.prices.rejected import MAX_LINE, MAX_LINES, rejected_lines


def row(number, reason="tenfold"):
    return RejectedPrice(
        sheet="typo.csv",
        row=number,
        provider="aws",
        option="p5.48xlarge/on_demand",
        region="us-east-1",
        accelerator="H100-80GB",
        as_of=None,
        reason=reason,
    )


def test_each_row_is_named_with_its_place_and_its_reason():
    assert list(rejected_lines([row(2)])) == [
        "typo.csv, line 2 (aws:p5.48xlarge/on_demand@us-east-1) is left out: tenfold"
    ]


def test_many_rows_are_counted():
    *lines, last = rejected_lines([row(number) for number in range(40)])

    assert len(lines) == MAX_LINES
    assert last == "35 more rows are left out: see perfledger prices check"


def test_a_row_of_a_foreign_file_prints_no_control_characters_and_no_pages():
    (line,) = rejected_lines([row(2, reason="\x1b[31m" + "x" * 5000)])

    assert line.isprintable()
    assert len(line) <= MAX_LINE
