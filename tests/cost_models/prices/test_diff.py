from dataclasses import replace
from datetime import timedelta

from hypothesis import given, strategies as st

from perfledger_cost_models.prices.diff import newest_prices, sheet_diff
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet, RejectedPrice

PRICES = packaged_sheet().prices
parts = st.sets(st.sampled_from(range(len(PRICES))))


def sheet(places, *, factor=1):
    found_prices = (PRICES[place] for place in sorted(places))
    prices = tuple(
        replace(price, usd_per_hour=price.usd_per_hour * factor) for price in found_prices
    )
    return PriceSheet(name="some", prices=prices)


@given(parts, parts)
def test_what_is_added_one_way_is_removed_the_other(one, other):
    there, back = sheet_diff(sheet(one), sheet(other)), sheet_diff(sheet(other), sheet(one))

    assert (there.added, there.removed, there.same) == (back.removed, back.added, back.same)


@given(parts)
def test_a_sheet_does_not_differ_from_itself(places):
    found_sheet_diff = sheet_diff(sheet(places), sheet(places))

    assert (found_sheet_diff.added, found_sheet_diff.removed, found_sheet_diff.changed) == (
        (),
        (),
        (),
    )


@given(parts)
def test_a_sheet_at_twice_the_price_changed_wholly(places):
    found_sheet_diff = sheet_diff(sheet(places), sheet(places, factor=2))

    assert {float(one.change) for one in found_sheet_diff.changed} <= {1.0}
    assert len(found_sheet_diff.changed) == len(newest_prices(sheet(places)))


def test_a_newer_day_of_the_same_price_is_no_change():
    price = PRICES[0]
    newer = replace(price, as_of=price.as_of + timedelta(days=9))

    found_sheet_diff = sheet_diff(
        PriceSheet(name="a", prices=(price,)), PriceSheet(name="b", prices=(price, newer))
    )

    assert (
        found_sheet_diff.added,
        found_sheet_diff.removed,
        found_sheet_diff.changed,
        found_sheet_diff.same,
    ) == ((), (), (), 1)


def test_the_largest_change_is_first():
    before = PriceSheet(name="a", prices=PRICES[:3])
    factors = (2, 3, 1)
    after = tuple(
        replace(price, usd_per_hour=price.usd_per_hour * factor)
        for price, factor in zip(PRICES, factors, strict=False)
    )

    found_sheet_diff = sheet_diff(before, PriceSheet(name="b", prices=after))

    assert [float(one.change) for one in found_sheet_diff.changed] == [2.0, 1.0]


def test_an_option_whose_row_must_not_be_used_is_neither_added_nor_removed():
    price, other = PRICES[0], next(each for each in PRICES if each.key != PRICES[0].key)
    rejected = RejectedPrice(
        sheet="new.csv",
        row=2,
        provider=price.provider,
        option=price.option,
        region=price.region,
        accelerator=price.accelerator,
        as_of=None,
        reason="a date that is none",
    )
    before = PriceSheet(name="old.csv", prices=(price, other))
    after = PriceSheet(name="new.csv", prices=(other,), rejected=(rejected,))

    there, back = sheet_diff(before, after), sheet_diff(after, before)

    assert (there.removed, there.same, back.added) == ((), 1, ())
    assert there.rejected == back.rejected == (rejected,)
