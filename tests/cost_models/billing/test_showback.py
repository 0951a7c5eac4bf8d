"""Who pays what of a bill, by its own teams and by usage files; all of it is made here."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from perfledger_cost_models.billing.allocated_hours import DayRange, LabelNames
from perfledger_cost_models.billing.cost_allocation import AllocationError, BillPart, CostOwner
from perfledger_cost_models.billing.showback import (
    LabelledUsage,
    allocation_by_bill,
    allocation_by_use,
    bill_days,
    bill_to_allocate,
)
from perfledger_cost_models.usage.device_spans import DeviceSpan, usage_of

CENT = Decimal("0.01")
UNUSED = {"PricingCategory": "Committed", "CommitmentDiscountStatus": "Unused"}
STORAGE = {"ResourceType": "", "PricingUnit": "GB-Months"}
A100 = {"ResourceType": "p4d.24xlarge"}
START = datetime(2026, 7, 1, tzinfo=UTC).timestamp()
END = datetime(2026, 10, 1, tzinfo=UTC).timestamp()
HOURS = 92 * 24


def labelled_usage(*hours, **labels):
    """Return usage of a whole quarter: (team, device-hours), or with an accelerator."""
    spans = [
        DeviceSpan(
            {"team": team, **({"accelerator": rest[0]} if rest else {})} | labels,
            START,
            END,
            amount / HOURS,
        )
        for team, amount, *rest in hours
    ]
    usage = usage_of("made.csv", "Kubernetes", spans, idle_moments=(START, END))
    return LabelledUsage(usages=(usage,), labels=LabelNames("team", "project" if labels else ""))


def shared(bill, use, **entitled):
    entitlements = {CostOwner(team): Decimal(hours) for team, hours in entitled.items()}
    return allocation_by_use(bill_to_allocate(bill), use, bill_days(bill), quotas=entitlements)


def paid(cost_allocation):
    return {
        row.team: (row.direct_usd, row.idle_usd, row.overhead_usd) for row in cost_allocation.rows
    }


def test_a_bill_without_usage_files_is_shared_by_its_own_teams(make_bill, a_bill_row):
    bill = make_bill(
        ("a", "10", "550.40"),
        ("", "10", "449.60"),
        a_bill_row("x", "1", "57.53", **UNUSED),
        a_bill_row("x", "1", "10", **STORAGE),
    )

    cost_allocation = allocation_by_bill(
        bill, quotas={CostOwner("b"): Decimal(1)}, overhead_usd=Decimal(90)
    )
    assert paid(cost_allocation) == {
        "a": (Decimal("550.40"), 0, Decimal("55.04")),
        "b": (0, Decimal("57.53"), 0),
        "": (Decimal("449.60"), 0, Decimal("44.96")),
    }
    assert (cost_allocation.used_hours, cost_allocation.paid_hours) == (Decimal(160), Decimal(160))
    assert "80.0 device-hours" in cost_allocation.notes[0]


def test_the_holder_of_the_devices_pays_and_not_the_account(make_bill, a_bill_row):
    bill = make_bill(("platform", "100", "8000"), a_bill_row("x", "1", "50", **UNUSED))

    cost_allocation = shared(
        bill, labelled_usage(("vision", 200), ("speech", 400)), vision=1, speech=1
    )
    assert paid(cost_allocation) == {
        "speech": (Decimal(4000), Decimal(1025), 0),
        "vision": (Decimal(2000), Decimal(1025), 0),
    }
    assert cost_allocation.notes == ()
    assert cost_allocation.source == "Kubernetes: team by team"
    assert (cost_allocation.start, cost_allocation.end) == (date(2026, 7, 1), date(2026, 10, 1))


def test_each_accelerators_hours_cost_their_own_price(make_bill, a_bill_row):
    bill = make_bill(("x", "100", "8000"), a_bill_row("x", "100", "800", **A100))

    cost_allocation = shared(bill, labelled_usage(("a", 800, "H100-80GB"), ("b", 800, "A100-40GB")))
    assert paid(cost_allocation) == {"a": (Decimal(8000), 0, 0), "b": (Decimal(800), 0, 0)}


def test_hours_of_an_unknown_accelerator_cost_the_mean_with_a_note(make_bill, a_bill_row):
    bill = make_bill(("x", "100", "8000"), a_bill_row("x", "100", "800", **A100))

    cost_allocation = shared(bill, labelled_usage(("a", 800), ("b", 800, "A100-40GB")))
    assert paid(cost_allocation) == {"a": (Decimal(4400), 0, 0), "b": (Decimal(4400), 0, 0)}
    assert "mean price" in cost_allocation.notes[0]


def test_an_accelerator_missing_on_the_bill_is_an_error(make_bill):
    with pytest.raises(AllocationError, match="not on the bill"):
        shared(make_bill(("x", "100", "8000")), labelled_usage(("a", 8, "A100-40GB")))


def test_devices_without_an_hour_are_overhead(make_bill, a_bill_row):
    bill = make_bill(("x", "100", "8000"), a_bill_row("x", "0", "80", **A100))

    assert paid(shared(bill, labelled_usage(("a", 800)))) == {"a": (Decimal(8000), 0, Decimal(80))}


def test_a_bill_without_accelerators_is_all_overhead(make_bill, a_bill_row):
    bill = make_bill(a_bill_row("x", "1", "10", **STORAGE))

    with pytest.raises(AllocationError, match="paid for"):
        shared(bill, labelled_usage(("a", 800)))
    assert paid(allocation_by_bill(bill, quotas={})) == {"(unallocated)": (0, 0, Decimal(10))}


def test_usage_of_a_part_of_the_period_gets_a_note(make_bill):
    usage = usage_of(
        "made.csv", "Kubernetes", [DeviceSpan({"team": "a"}, START, START + 86400, 1.0)]
    )
    use = LabelledUsage(usages=(usage,), labels=LabelNames("team"))

    cost_allocation = shared(make_bill(("x", "100", "8000")), use)
    assert (
        "2026-07-01 00:00 to 2026-07-02 00:00 of the paid period 2026-07-01"
        in cost_allocation.notes[0]
    )


def test_equal_entries_of_two_files_get_a_note(make_bill):
    span, other = (
        DeviceSpan({"team": "a"}, START, END, 1.0),
        DeviceSpan({"team": "b"}, START, END, 1.0),
    )
    files = [usage_of(name, "Kubernetes", [span, other]) for name in ("x.csv", "y.csv")]
    labels, bill = LabelNames("team"), make_bill(("x", "2000", "80000"))

    twice = shared(bill, LabelledUsage(usages=tuple(files), labels=labels))
    once = shared(bill, LabelledUsage(usages=tuple(files[:1]), labels=labels))

    assert twice.notes[0].startswith("2 entries appear in two usage files")
    assert once.notes == ()


def test_projects_of_a_team_come_together(make_bill):
    use = labelled_usage(("a", 100), project="p")
    more = labelled_usage(("a", 300), ("b", 300), project="q")
    both = LabelledUsage(usages=(*use.usages, *more.usages), labels=more.labels)

    cost_allocation = shared(make_bill(("x", "100", "8000")), both, a=1)
    first, second = cost_allocation.by_team()
    assert [row.project for row in cost_allocation.rows] == ["", "p", "q", "q"]
    assert (first.team, first.hours, first.direct_usd) == ("a", 400, Decimal(4000))
    assert (second.team, second.project) == ("b", "")
    assert sum(row.total_usd for row in cost_allocation.by_team()) == cost_allocation.effective_usd


def test_a_period_of_a_bill_is_of_whole_days(make_bill, a_bill_row):
    bill = make_bill(a_bill_row("a", "1", "1", ChargePeriodEnd="2026-09-30T13:00:00Z"))

    assert bill_days(bill) == DayRange(date(2026, 7, 1), date(2026, 10, 1))


@pytest.mark.parametrize("end", ["9999-12-31T23:00:00Z", "0001-01-01T00:00:00Z"])
def test_a_bill_with_an_impossible_period_is_refused(make_bill, a_bill_row, end):
    with pytest.raises(AllocationError, match="is impossible"):
        bill_days(make_bill(a_bill_row("a", "1", "1", ChargePeriodEnd=end)))


AMOUNTS = st.decimals(-(10**6), 10**6, places=6)


@pytest.mark.slow
@given(
    usage=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", ""]),
            st.decimals("0.1", 10**4, places=2),
            st.decimals("0.01", 10**6, places=6),
        ),
        unique=True,
        min_size=1,
        max_size=6,
    ),
    unused=AMOUNTS,
    other=AMOUNTS,
    entitled=st.dictionaries(st.sampled_from("abc"), st.decimals(0, 10**6, places=1)),
    shares=st.lists(st.floats(0, 0.3), max_size=3),
)
# The fixtures keep nothing; each example reads a bill.
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_either_way_rows_sum_to_the_bill_to_the_cent(
    make_bill, a_bill_row, *, usage, unused, other, entitled, shares
):
    bill = make_bill(
        *[(team, str(hours), str(usd)) for team, hours, usd in usage],
        a_bill_row("x", "1", str(unused), **UNUSED),
        a_bill_row("x", "1", str(other), **STORAGE),
    )
    weights = {CostOwner(team): hours for team, hours in entitled.items()}
    shared, whole_bill = bill_to_allocate(bill), bill.effective_usd.quantize(CENT)
    there = float(sum(pool.hours for pool in shared.pools))

    own = allocation_by_bill(bill, quotas=weights)
    by_use = allocation_by_use(
        shared,
        labelled_usage(*[(f"team {place}", there * share) for place, share in enumerate(shares)]),
        bill_days(bill),
        quotas=weights,
    )
    for allocation in (own, by_use):
        assert sum((row.total_usd for row in allocation.rows), Decimal(0)) == whole_bill
        assert sum((allocation.sum_of(part) for part in BillPart), Decimal(0)) == whole_bill
        assert allocation.effective_usd == whole_bill
        assert allocation.billed_usd == bill.billed_usd.quantize(CENT)


@pytest.mark.parametrize(("hours", "is_pool"), [("0.5", True), ("0", False)])
def test_a_device_with_any_hours_is_a_pool(make_bill, a_bill_row, hours, is_pool):
    parts = bill_to_allocate(make_bill(a_bill_row("a", hours, "4")))

    assert bool(parts.pools) is is_pool
    assert parts.overhead_usd == (0 if is_pool else 4)


@pytest.mark.parametrize(("days", "has_note"), [(82.8, False), (82.7, True)])
def test_nine_tenths_of_the_period_are_enough(make_bill, days, has_note):
    ends = START, START + days * 86400
    usage = usage_of("made.csv", "Kubernetes", [DeviceSpan({"team": "a"}, *ends, 1.0)])
    use = LabelledUsage(usages=(usage,), labels=LabelNames("team"))

    notes = shared(make_bill(("x", "1000", "8000")), use).notes

    assert any("of the paid period" in note for note in notes) is has_note
