import pytest

from perfledger_cost_models.usage.csv_with_header import CsvRow, amounts, read_rows
from perfledger_cost_models.usage.device_spans import UsageFileError


def test_cells_go_by_the_columns_name_in_lower_case():
    assert read_rows("Hour, Load \n1,2\n\n3,4\n", "x", most_rows=2) == (
        CsvRow("x, line 2", {"hour": "1", "load": "2"}),
        CsvRow("x, line 4", {"hour": "3", "load": "4"}),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x is empty"),
        ("a,b\n", "no rows below its header"),
        ("a,b\n1\n", "x, line 2: 1 cells for 2 columns"),
        ("a\n1\n2\n3\n", "more than 2 rows"),
    ],
)
def test_ragged_long_and_empty_tables_are_refused(text, message):
    with pytest.raises(UsageFileError, match=message):
        read_rows(text, "x", most_rows=2)


def test_amounts_are_from_nothing_to_the_greatest():
    rows = read_rows("a,b\n0,1\n10,1\n", "x", most_rows=9)

    assert amounts(rows, "a", maximum=10.0) == (0.0, 10.0)
    assert amounts(rows, "c", maximum=10.0) is None


@pytest.mark.parametrize("cell", ["", "10.1", "-0.1", "nan", "inf", "many"])
def test_another_cell_is_an_error_not_zero(cell):
    rows = read_rows(f"a,b\n0,1\n{cell},1\n", "x", most_rows=9)

    with pytest.raises(UsageFileError, match=r"x, line 3: a '.*' is not 0 to 10"):
        amounts(rows, "a", maximum=10.0)


def test_a_long_cell_is_shown_by_its_first_forty_letters():
    rows = read_rows(f"a\n{'x' * 100}\n", "x", most_rows=9)

    with pytest.raises(UsageFileError, match=f"a '{'x' * 40}' is not 0 to 10"):
        amounts(rows, "a", maximum=10.0)


def test_a_decimal_comma_is_an_error_that_says_so():
    rows = read_rows("a;b\n1,5;1\n", "x", most_rows=9)

    with pytest.raises(UsageFileError, match="x, line 2: a '1,5' has a comma: write decimals with"):
        amounts(rows, "a", maximum=10.0)
