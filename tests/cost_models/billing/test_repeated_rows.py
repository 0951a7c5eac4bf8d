"""Bills of which a part is there twice."""

import pytest

from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL, BillError
from perfledger_cost_models.billing.focus_rows import BillRow, bill_rows
from perfledger_cost_models.billing.repeated_rows import without_repeats

USUAL = dict.fromkeys((*COLUMNS, *OPTIONAL), "") | {
    "PricingUnit": "Hours",
    "ChargePeriodStart": "2026-07-01T00:00:00Z",
    "BilledCost": "1",
    "EffectiveCost": "1",
}
P5 = {
    "ProviderName": "AWS",
    "ChargeCategory": "Usage",
    "x_InstanceType": "p5.48xlarge",
    "ResourceId": "i-0123456789abcdef0",
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
        BillError, match=f"of 2026-08-01 that are charged by the hour is there {times} times"
    ):
        list(without_repeats(bill(*sizes(4), *(sizes(count, **august) * times))))


def test_equal_rows_without_a_resource_may_be_different_machines():
    for rows in (sizes(1) * 2, [*sizes(3) * 2, *sizes(1)], [*sizes(5), sizes(1)[0]]):
        assert list(without_repeats(bill(*rows))) == bill(*rows)


def test_a_small_bill_of_which_every_row_is_there_twice_is_refused():
    tax = {"PricingUnit": "", "ChargeCategory": "Tax"}

    for rows in (sizes(2) * 2, [*sizes(1), tax] * 2):
        with pytest.raises(BillError, match=r"of 2026-07-01 .* is there 2 times, costs apart"):
            list(without_repeats(bill(*rows)))


def test_the_first_days_of_a_month_that_an_earlier_export_has_too_are_refused():
    month = [
        {"PricingQuantity": "24", "ChargePeriodStart": f"2026-08-{day:02}T00:00:00Z"}
        for day in range(1, 32)
    ]
    later = [{**row, "EffectiveCost": "2"} for row in month[:20]]  # charged once more since

    for earlier in (month[:20], later):
        with pytest.raises(
            BillError, match=r"rows of 2026-08-01 to 2026-08-20 that .* is there 2 times"
        ):
            list(without_repeats(bill(*earlier, *month)))


@pytest.mark.parametrize(
    "changes",
    [
        {"PricingQuantity": "1.00"},
        {"ChargePeriodStart": "2026-07-01 00:00:00 UTC"},
        {"ChargePeriodStart": "2026-07-01T02:00:00+02:00"},
        {"Tags": '{"team": "nlp", "app": "b"}'},
        {"BilledCost": "7", "EffectiveCost": "7"},
    ],
)
def test_a_copy_written_in_another_way_or_at_another_cost_is_a_repeat(changes):
    usual = {"ResourceId": "i-1", "PricingQuantity": "1", "Tags": '{"app":"b","team":"nlp"}'}

    with pytest.raises(BillError, match=r"1 of the bill's 2 rows .* first in line 3"):
        list(without_repeats(bill(usual, usual | changes)))
    assert list(without_repeats(bill(usual, usual | changes | {"SkuPriceId": "other"})))


def days(hours, count=31, **cells):
    return [
        {
            **P5,
            "PricingQuantity": str(hours),
            "ChargePeriodStart": f"2026-07-{day:02}T00:00:00Z",
            "ChargePeriodEnd": f"2026-07-{day:02}T23:59:59Z",
            **cells,
        }
        for day in range(1, count + 1)
    ]


def of_the_month(hours):
    return {
        **P5,
        "PricingQuantity": str(hours),
        "ChargePeriodStart": "2026-07-01T00:00:00Z",
        "ChargePeriodEnd": "2026-08-01T00:00:00Z",
    }


def test_a_machine_with_more_hours_than_there_are_is_there_twice():
    """By the day and by the month, or by the month twice, the second time to its end."""
    assert list(without_repeats(bill(*days(24))))
    for rows in ([*days(24), of_the_month(744)], [of_the_month(480), of_the_month(744)]):
        with pytest.raises(BillError, match=r"i-0123456789abcdef0 .* from 2026-07-01 to 2026-08-0"):
            list(without_repeats(bill(*rows)))


def test_a_machine_with_more_than_a_days_hours_on_a_day_is_there_twice():
    part = days(12, 2, SkuPriceId="other")  # such as the rest of the day at another price

    assert list(without_repeats(bill(*days(12, 3), *part)))
    with pytest.raises(BillError, match="gives i-0123456789abcdef0 36 hours on 2026-07-01"):
        list(without_repeats(bill(*days(24, 3), *part)))


def test_machines_of_a_group_may_have_more_hours_together():
    scale_set = "/subscriptions/1/providers/microsoft.compute/virtualmachinescalesets/a"
    rows = bill(*days(240, 3, ResourceId=scale_set))

    assert list(without_repeats(rows)) == rows


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
