"""Bills of which a part is there twice."""

import pytest

from perfledger_cost_models.billing.focus_rows import (
    COLUMNS,
    OPTIONAL,
    BillError,
    BillRow,
    bill_rows,
)
from perfledger_cost_models.billing.repeated_rows import without_repeats

USUAL = dict.fromkeys((*COLUMNS, *OPTIONAL), "") | {
    "PricingUnit": "Hours",
    "ChargePeriodStart": "2026-07-01T00:00:00Z",
}


def bill(*rows):
    return [BillRow(USUAL | cells, line=line) for line, cells in enumerate(rows, start=2)]


def resources(count, **cells):
    return [{"ResourceId": f"i-{number}", **cells} for number in range(count)]


def sizes(count, **cells):
    return [{"PricingQuantity": f"{number}", **cells} for number in range(count)]


def test_rows_of_different_resources_pass_as_they_are():
    rows = bill(*resources(5), *sizes(5))

    assert list(without_repeats(rows)) == rows


def test_a_resources_row_that_is_there_twice_is_a_repeat():
    rows = bill(*resources(4), resources(2)[1])

    with pytest.raises(
        BillError, match=r"1 of the bill's 5 rows charged by the hour .* first in line 6"
    ):
        list(without_repeats(rows))


def test_one_repeat_in_a_hundred_rows_is_the_providers():
    rows = bill(*resources(99), resources(1)[0])

    assert list(without_repeats(rows)) == rows
    with pytest.raises(BillError, match="2 of the bill's 101"):
        list(without_repeats([*rows, rows[1]]))


@pytest.mark.parametrize(("times", "count"), [(2, 3), (3, 4)])
def test_a_month_that_is_there_several_times_is_refused(times, count):
    august = {"ChargePeriodStart": "2026-08-01T00:00:00Z"}

    with pytest.raises(
        BillError, match=f"of 2026-08 that are charged by the hour is there {times} times"
    ):
        list(without_repeats(bill(*sizes(4), *(sizes(count, **august) * times))))


def test_equal_rows_without_a_resource_may_be_different_machines():
    for rows in (sizes(2) * 2, [*sizes(3) * 2, *sizes(1)], [*sizes(5), sizes(1)[0]]):
        assert list(without_repeats(bill(*rows))) == bill(*rows)


def test_what_is_not_charged_by_the_hour_may_repeat():
    rows = bill(*resources(4, PricingUnit="GB-Mo") * 2)

    assert list(without_repeats(rows)) == rows


@pytest.mark.parametrize("column", ["CommitmentDiscountId", "SkuPriceId"])
def test_an_hour_that_two_commitments_or_prices_share_is_no_repeat(column):
    header = (*USUAL, *({column} - USUAL.keys()))
    parts = [
        USUAL | {"BillingCurrency": "USD", "ResourceId": f"i-{number}", column: part}
        for number in range(4)
        for part in ("a", "b")
    ]

    rows = bill_rows(header, enumerate(([part[name] for name in header] for part in parts), 2))

    assert len(list(without_repeats(rows))) == len(parts)
