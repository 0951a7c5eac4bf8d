from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.allocation import (
    UNALLOCATED,
    AllocationError,
    Claim,
    allocate,
    share_out,
)

cents = st.integers(-(10**9), 10**9).map(lambda count: count * Decimal("0.01"))
hours = st.decimals(0, 10**6, places=4)
claims = st.lists(st.tuples(hours, hours), max_size=8).map(
    lambda found: [
        Claim(team=f"team {place}", used_hours=used, entitled_hours=entitled)
        for place, (used, entitled) in enumerate(found)
    ]
)


def test_idle_is_shared_by_entitlement_and_overhead_by_use():
    rows = allocate(
        [
            Claim(team="vision", used_hours=Decimal(60), entitled_hours=Decimal(50)),
            Claim(team="speech", used_hours=Decimal(20), entitled_hours=Decimal(50)),
        ],
        devices_usd=Decimal("1000.00"),
        capacity_hours=Decimal(100),
        overhead_usd=Decimal("80.00"),
    )

    assert [(row.team, row.direct_usd, row.idle_usd, row.overhead_usd) for row in rows] == [
        ("vision", Decimal(600), Decimal(100), Decimal(60)),
        ("speech", Decimal(200), Decimal(100), Decimal(20)),
    ]


@given(claims, cents, cents, hours)
def test_the_rows_sum_to_the_bill_to_the_cent_whatever_it_is(found, devices, overhead, spare):
    capacity = sum((claim.used_hours for claim in found), Decimal(0)) + spare
    rows = allocate(found, devices_usd=devices, capacity_hours=capacity, overhead_usd=overhead)

    assert sum((row.total_usd for row in rows), Decimal(0)) == devices + overhead
    assert all(row.total_usd % Decimal("0.01") == 0 for row in rows)


@given(cents, st.dictionaries(st.text(max_size=5), hours, max_size=8))
def test_nobody_gets_more_than_a_cent_more_than_the_share(usd, weights):
    shares = share_out(usd, weights)
    total = sum(weights.values(), Decimal(0))

    assert sum(shares.values(), Decimal(0)) == usd
    for name, weight in weights.items():
        if total:
            assert abs(shares[name] - usd * weight / total) < Decimal("0.010001")


def test_what_nobody_may_use_is_a_row_of_its_own():
    rows = allocate(
        [Claim(team="vision", used_hours=Decimal(60))],
        devices_usd=Decimal("1000.00"),
        capacity_hours=Decimal(100),
    )

    assert [(row.team, row.total_usd) for row in rows] == [
        ("vision", Decimal(600)),
        (UNALLOCATED, Decimal(400)),
    ]


def test_a_bill_without_any_use_is_not_lost():
    (row,) = allocate(
        [], devices_usd=Decimal("10.01"), capacity_hours=Decimal(0), overhead_usd=Decimal("5.00")
    )

    assert (row.team, row.total_usd) == (UNALLOCATED, Decimal("15.01"))


def test_a_credit_is_shared_out_too():
    assert share_out(Decimal("-0.05"), {"a": Decimal(1), "b": Decimal(1)}) == {
        "a": Decimal("-0.03"),
        "b": Decimal("-0.02"),
    }


@pytest.mark.parametrize("usd", ["0.001", "NaN", "Infinity"])
def test_a_bill_is_in_whole_cents(usd):
    with pytest.raises(AllocationError, match="cents"):
        allocate([], devices_usd=Decimal(usd), capacity_hours=Decimal(1))


def test_more_hours_than_there_were_are_an_error():
    with pytest.raises(AllocationError, match="one of the two is wrong"):
        allocate(
            [Claim(team="a", used_hours=Decimal(2))],
            devices_usd=Decimal(1),
            capacity_hours=Decimal(1),
        )


@pytest.mark.parametrize("hours", ["-1", "NaN"])
def test_hours_are_not_negative(hours):
    with pytest.raises(AllocationError, match="not negative"):
        allocate(
            [Claim(team="a", used_hours=Decimal(hours))],
            devices_usd=Decimal(1),
            capacity_hours=Decimal(1),
        )


@pytest.mark.parametrize("teams", [("a", "a"), (UNALLOCATED,)])
def test_a_team_is_named_once(teams):
    with pytest.raises(AllocationError, match="once"):
        allocate(
            [Claim(team=team, used_hours=Decimal(0)) for team in teams],
            devices_usd=Decimal(1),
            capacity_hours=Decimal(1),
        )


def test_a_negative_weight_is_an_error():
    with pytest.raises(AllocationError, match="negative"):
        share_out(Decimal(1), {"a": Decimal(-1)})


def test_a_share_of_less_than_a_cent_is_an_error():
    with pytest.raises(AllocationError, match="round the bill"):
        share_out(Decimal("0.001"), {"a": Decimal(1)})
