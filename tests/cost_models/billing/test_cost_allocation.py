from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing import cost_allocation
from perfledger_cost_models.billing.cost_allocation import (
    MAX_USD,
    UNALLOCATED,
    AllocationError,
    BillPart,
    CostOwner,
    CostPool,
    PoolUsage,
    allocate,
    exact_usd,
    share_out,
    split_costs,
    whole_cents,
)

CENT = Decimal("0.01")
VISION, SPEECH = CostOwner("vision"), CostOwner("speech")
HALVES = {VISION: Decimal(50), SPEECH: Decimal(50)}

cents = st.integers(-(10**9), 10**9).map(lambda count: count * CENT)
usd = st.decimals(-(10**9), 10**9, places=7)
hours = st.decimals(0, 10**6, places=4)
holders = st.builds(
    CostOwner, st.sampled_from(["", "a", "b", "ü"]), st.sampled_from(["", "x", "y"])
)
claims = st.lists(
    st.builds(PoolUsage, holders, st.sampled_from(["H100", "A100"]), hours), max_size=9
)
weights = st.dictionaries(holders, hours, max_size=6)


def pools(devices="1000", paid=100):
    return [CostPool(name="H100", usd=Decimal(devices), hours=Decimal(paid))]


def claim(holder, used):
    return PoolUsage(holder, "H100", Decimal(used))


def test_idle_is_shared_by_entitlement_and_overhead_by_use():
    rows = allocate(
        [claim(VISION, 60), claim(SPEECH, 20)],
        pools(),
        quotas=HALVES,
        overhead_usd=Decimal(80),
    )

    assert [(row.team, row.direct_usd, row.idle_usd, row.overhead_usd) for row in rows] == [
        ("speech", Decimal(200), Decimal(100), Decimal(20)),
        ("vision", Decimal(600), Decimal(100), Decimal(60)),
    ]
    assert [row.hours for row in rows] == [20, 60]


@pytest.mark.slow
@given(result=claims, large=usd, small=usd, unused=usd, overhead=usd, spare=hours, entitled=weights)
def test_the_rows_sum_to_the_bill_to_the_cent_whatever_it_is(
    *, result, large, small, unused, overhead, spare, entitled
):
    paid = {
        name: sum((each.used_hours for each in result if each.pool == name), Decimal(0))
        for name in ("H100", "A100")
    }
    bought = [
        CostPool(name="H100", usd=large, hours=paid["H100"] + spare),
        CostPool(name="A100", usd=small, hours=paid["A100"]),
    ]

    rows = allocate(result, bought, quotas=entitled, unused_usd=unused, overhead_usd=overhead)
    whole_bill = whole_cents(large + small + unused + overhead)
    assert sum((row.total_usd for row in rows), Decimal(0)) == whole_bill
    assert all(row.usd_of(part) % CENT == 0 for row in rows for part in BillPart)
    assert sum((row.hours for row in rows), Decimal(0)) == sum(paid.values(), Decimal(0))


@pytest.mark.slow
@given(st.dictionaries(holders, usd, max_size=8), usd, usd, weights)
def test_what_each_spent_is_rounded_by_less_than_a_cent(spent, idle, overhead, entitled):
    exact = {who: Fraction(each) for who, each in spent.items()}

    rows = split_costs(
        exact,
        used={},
        quotas=entitled,
        idle_usd=Fraction(idle),
        overhead_usd=Fraction(overhead),
    )
    paid = {CostOwner(row.team, row.project): row.direct_usd for row in rows}
    assert all(abs(paid.get(who, Decimal(0)) - each) < CENT for who, each in spent.items())


@pytest.mark.slow
@given(claims, weights)
def test_a_part_without_cost_is_in_no_row(result, entitled):
    used = sum((each.used_hours for each in result), Decimal(0))
    one = [PoolUsage(each.owner, "H100", each.used_hours) for each in result]

    rows = allocate(one, pools("12.34", used), quotas=entitled)
    assert all(row.overhead_usd == 0 for row in rows)
    assert all(row.idle_usd == 0 for row in rows) or not used


@pytest.mark.slow
@given(cents, st.dictionaries(st.text(max_size=5), hours, max_size=8))
def test_nobody_gets_more_than_a_cent_more_than_the_share(amount, parts):
    shares = share_out(amount, parts, rest="rest")
    total = sum(parts.values(), Decimal(0))

    assert sum(shares.values(), Decimal(0)) == amount
    for name, weight in parts.items():
        if total:
            assert abs(shares[name] - amount * weight / total) < Decimal("0.010001")


def test_what_nobody_may_use_is_a_row_of_its_own():
    rows = allocate([claim(VISION, 60)], pools(), quotas={})

    assert [(row.team, row.total_usd) for row in rows] == [
        ("vision", Decimal(600)),
        (UNALLOCATED, Decimal(400)),
    ]


def test_use_that_nothing_says_the_owner_of_is_a_row_of_its_own_and_last_of_those_who_pay():
    rows = allocate([claim(CostOwner(""), 10), claim(VISION, 60)], pools(), quotas={})

    assert [(row.team, row.hours) for row in rows] == [
        ("vision", Decimal(60)),
        ("", 10),
        (UNALLOCATED, 0),
    ]


def test_projects_of_a_team_pay_apart_and_its_idle_share_is_the_teams():
    rows = allocate(
        [claim(CostOwner("vision", "a"), 30), claim(CostOwner("vision", "b"), 20)],
        pools(),
        quotas={VISION: Decimal(1)},
    )

    assert [(row.project, row.direct_usd, row.idle_usd) for row in rows] == [
        ("", 0, Decimal(500)),
        ("a", Decimal(300), 0),
        ("b", Decimal(200), 0),
    ]


def test_hours_of_different_devices_cost_differently():
    bought = [*pools(), CostPool(name="A100", usd=Decimal(100), hours=Decimal(100))]

    (row,) = allocate(
        [claim(VISION, 100), PoolUsage(VISION, "A100", Decimal(100))], bought, quotas={}
    )
    assert (row.hours, row.direct_usd) == (Decimal(200), Decimal(1100))


def test_a_bill_without_any_use_is_not_lost():
    (row,) = allocate([], pools("10.01", 0), quotas={}, overhead_usd=Decimal(5))

    assert (row.team, row.total_usd) == (UNALLOCATED, Decimal("15.01"))


def test_overhead_of_devices_that_cost_nothing_goes_by_hours():
    rows = allocate(
        [claim(VISION, 30), claim(SPEECH, 10)],
        pools("0", 40),
        quotas={},
        overhead_usd=Decimal(4),
    )

    assert [(row.team, row.overhead_usd) for row in rows] == [
        ("speech", Decimal(1)),
        ("vision", Decimal(3)),
    ]


def test_a_credit_is_shared_out_too():
    assert share_out(Decimal("-0.05"), {"a": Decimal(1), "b": Decimal(1)}, rest="") == {
        "a": Decimal("-0.02"),
        "b": Decimal("-0.03"),
    }


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e16", "-1e999999"])
def test_what_is_no_amount_is_an_error(amount):
    with pytest.raises(AllocationError, match="not an amount"):
        allocate([], pools(amount), quotas={})
    with pytest.raises(AllocationError, match="round the bill"):
        share_out(Decimal(amount), {"a": Decimal(1)}, rest="")


def test_the_largest_amount_is_still_exact():
    rows = allocate([claim(VISION, 1), claim(SPEECH, 2)], pools(str(MAX_USD), 3), quotas={})

    assert sum(row.total_usd for row in rows) == MAX_USD


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("amount", ["-0.01", "0", "1234567.89"])
def test_thousands_of_teams_share_any_amount_to_the_cent(amount):
    holders = [CostOwner(f"team {place}") for place in range(3000)]
    pool_usages = [claim(holder, place % 7) for place, holder in enumerate(holders)]
    entitled = {holder: Decimal(place % 5) for place, holder in enumerate(holders)}

    rows = allocate(
        pool_usages, pools(amount, 20_000), quotas=entitled, overhead_usd=Decimal("0.015")
    )

    assert sum(row.total_usd for row in rows) == whole_cents(Decimal(amount) + Decimal("0.015"))


def test_amounts_that_are_too_much_together_are_an_error():
    with pytest.raises(AllocationError, match="more than"):
        allocate([], pools(str(MAX_USD)), quotas={}, unused_usd=Decimal(1))


def test_an_amount_of_endless_digits_is_rounded_at_once():
    assert whole_cents(Decimal("1e-999999") + Decimal("0.005")) == 0
    assert whole_cents(Decimal("0.015")) == Decimal("0.02")


def test_more_hours_than_there_were_are_an_error():
    with pytest.raises(AllocationError, match="counts twice"):
        allocate([claim(VISION, "100.11")], pools(), quotas={})


def test_clocks_that_differ_by_a_thousandth_are_none():
    (row,) = allocate([claim(VISION, "100.1")], pools(), quotas={})

    assert (row.team, row.total_usd) == ("vision", Decimal(1000))


@pytest.mark.parametrize("used", ["-1", "NaN", "1e13"])
def test_hours_are_numbers_that_are_not_negative(used):
    with pytest.raises(AllocationError, match="0 to"):
        allocate([claim(VISION, used)], pools(), quotas={})
    with pytest.raises(AllocationError, match="0 to"):
        allocate([claim(VISION, 1)], pools(), quotas={SPEECH: Decimal(used)})


def test_nobody_is_called_as_what_nobody_pays():
    with pytest.raises(AllocationError, match="rename"):
        allocate([claim(CostOwner(UNALLOCATED), 1)], pools(), quotas={})


def test_a_pool_is_there_once():
    with pytest.raises(AllocationError, match="once"):
        allocate([], [*pools(), *pools()], quotas={})
    with pytest.raises(AllocationError, match="not on the bill"):
        allocate([PoolUsage(VISION, "A100", Decimal(1))], pools(), quotas={})


def test_a_negative_weight_is_an_error():
    with pytest.raises(AllocationError, match="0 to"):
        share_out(Decimal(1), {"a": Decimal(-1)}, rest="")


def test_a_share_of_less_than_a_cent_is_an_error():
    with pytest.raises(AllocationError, match="round the bill"):
        share_out(Decimal("0.001"), {"a": Decimal(1)}, rest="")


def test_cents_go_to_the_largest_remainders():
    """1.00 by thirds: 33.3 cents each, and the cent that is left to the first by name."""
    third = {name: Decimal(1) for name in "cab"}
    halves = {"a": Decimal(1), "b": Decimal(3)}

    assert share_out(Decimal("1.00"), third, rest="r") == {
        "a": Decimal("0.34"),
        "b": Decimal("0.33"),
        "c": Decimal("0.33"),
    }
    assert share_out(Decimal("1.03"), halves, rest="r") == {
        "a": Decimal("0.26"),
        "b": Decimal("0.77"),
    }


def test_the_smallest_part_that_counts_is_a_trillionth():
    assert exact_usd(Decimal("1e-12")) == Fraction(1, 10**12)
    assert exact_usd(Decimal("4e-13")) == 0


def test_the_most_hours_count_and_none_are_less_than_nothing():
    hours = {"a": cost_allocation.MAX_HOURS, "b": Decimal(0)}

    assert share_out(Decimal(7), hours, rest="c")["a"] == Decimal(7)
    for wrong in (cost_allocation.MAX_HOURS + 1, Decimal(-1)):
        with pytest.raises(AllocationError, match="give used, quota and paid hours"):
            share_out(Decimal(7), {"a": wrong}, rest="c")


def test_the_largest_amount_may_be_shared_out_and_a_cent_more_may_not():
    most = cost_allocation.MAX_USD

    assert share_out(most, {}, rest="c") == {"c": most}
    with pytest.raises(AllocationError, match="cannot be split into cents"):
        share_out(most + Decimal("0.01"), {}, rest="c")
