from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.price_feeds.aws_csv import MAX_PREAMBLE, open_aws, usd_of
from perfledger_cost_models.price_feeds.rows import BulkFileError
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS

HEADER = '"SKU","Unit","PricePerUnit"\n'


def opened(*lines, columns=("SKU", "Unit")):
    return open_aws(lines, columns=columns, name="AmazonEC2")


def test_the_rows_have_the_columns_that_were_asked_for():
    file = opened('"Publication Date","2026-07-20T13:44:30Z"\n', HEADER, '"A","Hrs","55.04"\n')

    assert file.published == date(2026, 7, 20)
    assert list(file.rows) == [{"SKU": "A", "Unit": "Hrs"}]


@pytest.mark.parametrize("line", ['"Publication Date"\n', '"Publication Date","soon"\n', "\n"])
def test_a_file_may_lack_its_day(line):
    assert opened(line, HEADER).published is None


def test_a_truncated_row_is_skipped_and_one_that_is_just_long_enough_is_not():
    rows = opened(HEADER, '"A"\n', '"B","Hrs"\n').rows

    assert list(rows) == [{"SKU": "B", "Unit": "Hrs"}]


def test_the_header_may_be_the_twentieth_line_and_not_the_next_one():
    assert list(opened(*['"x"\n'] * (MAX_PREAMBLE - 1), HEADER).rows) == []
    with pytest.raises(BulkFileError, match="no column SKU in the first 20 lines"):
        opened(*['"x"\n'] * MAX_PREAMBLE, HEADER)


def test_missing_columns_are_named():
    with pytest.raises(BulkFileError, match=r"lacks the columns \['Tenancy'\]. Fetch AmazonEC2's"):
        opened(HEADER, columns=("SKU", "Tenancy"))


def test_a_line_without_an_end_is_refused():
    with pytest.raises(BulkFileError, match="AWS's price list, line 2, has more than 1,048,576"):
        list(opened(HEADER, "x" * (MAX_LINE_CHARACTERS + 1)).rows)


def test_a_quote_without_its_end_is_refused():
    with pytest.raises(BulkFileError, match="list, line 2, is not CSV: unexpected end of data"):
        list(opened(HEADER, '"A').rows)


@pytest.mark.parametrize(
    ("text", "usd"),
    [("0", Decimal(0)), ("55.04", Decimal("55.04")), ("-0.01", None), ("NaN", None), ("x", None)],
)
def test_an_amount_is_zero_or_more(text, usd):
    assert usd_of(text) == usd


def test_an_amount_with_a_comma_is_refused():
    with pytest.raises(BulkFileError, match="the price '55,04' has a comma: write decimals with"):
        usd_of("55,04")
