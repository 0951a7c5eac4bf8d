from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.bundle import Commitment, CostPolicy, FleetUse, PricingConfig
from perfledger_cost_models.change_price.fleet_entry import MeasuredChange
from perfledger_cost_models.change_price.memory_upgrade import MemoryGrowth
from perfledger_cost_models.change_price.price import MAX_PARTS, price_changes
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.tco.hourly_rates import rate_of

SHEET = packaged_sheet()


P5 = "p5.48xlarge/on_demand"


OWNED = "onprem-8xH100"


FLEET = (
    FleetUse(workload="gpt", where=P5, device_hours_per_year=20_000.0, low=15_000.0, high=30_000.0),
    FleetUse(workload="vit", where="p4d.24xlarge/on_demand", device_hours_per_year=10_000.0),
    FleetUse(workload="rnn", where=OWNED, device_hours_per_year=10_000.0),
)


# 64 devices of one's own, of which ten thousand hours a year stand idle.
IDLE = Commitment(where=OWNED, devices=64, busy_hours_per_year=64 * 8760.0 - 10_000, overflow=P5)


def measured(workload="gpt", change=(0.10, 0.12, 0.14), **values):
    return MeasuredChange(workload=workload, change=change, **values)


def priced(*changes, sheet=SHEET, **pricing):
    return price_changes(changes, pricing=PricingConfig(**{"fleet": FLEET} | pricing), sheet=sheet)


def test_a_workload_on_two_entries_changes_alike_on_both():
    twice = (FLEET[1], replace(FLEET[1], where=P5))

    priced_changes = priced(measured("vit"), fleet=twice)

    ends = tuple(
        float(sum(getattr(each, end) for each in priced_changes.prices)) for end in ("low", "high")
    )
    assert (float(priced_changes.total.low), float(priced_changes.total.high)) == pytest.approx(
        ends, rel=0.01
    )


def test_each_policy_has_the_sum_of_its_own_workloads():
    policies = (
        CostPolicy(team="nlp", workloads=("gpt",)),
        CostPolicy(team="idle", workloads=("x",)),
    )

    priced_changes = priced(measured(), measured("vit"), policies=policies)

    assert priced_changes.by_policy[0].usd == priced_changes.prices[0].usd
    assert priced_changes.by_policy[1] is None


@pytest.mark.slow(ci_only=True)
def test_more_parts_than_can_be_priced_are_missing():
    names = [f"w{place}" for place in range(MAX_PARTS + 1)]
    wrong = FleetUse(  # is quickly refused
        workload="*", where=P5, device_hours_per_year=-1.0, weights=dict.fromkeys(names, 1.0)
    )

    priced_changes = priced(*map(measured, names), fleet=(wrong,))

    assert "correct the fleet entry" in priced_changes.prices[-2].note
    assert "check fewer" in priced_changes.prices[-1].note
    assert len(priced_changes.total.missing) == MAX_PARTS + 1


def test_idle_devices_that_are_paid_for_take_a_slowdown_without_cash():
    (price,) = priced(measured("rnn"), commitments=(IDLE,)).prices

    assert (price.usd, price.low, price.high) == (0, 0, 0)
    assert price.absorbed_hours == pytest.approx((1000, 1200, 1400), rel=0.01)
    assert price.rate == rate_of(SHEET, P5)
    assert price.is_detectable


def test_what_no_longer_fits_is_bought_on_the_overflow():
    (price,) = priced(measured("rnn", (1.1, 1.2, 1.3)), commitments=(IDLE,)).prices

    assert float(price.usd) == pytest.approx(2_000 * 6.88)
    assert float(price.low) == pytest.approx(1_000 * 6.88, rel=0.02)
    assert price.absorbed_hours == pytest.approx((10_000, 10_000, 10_000))


def test_without_an_overflow_more_is_bought_where_it_runs():
    (price,) = priced(
        measured("rnn", (1.2, 1.2, 1.2)), commitments=(replace(IDLE, overflow=""),)
    ).prices

    assert float(price.usd) == pytest.approx(
        2_000 * float(rate_of(SHEET, OWNED).usd_per_device_hour)
    )


def test_hours_that_a_speed_up_frees_on_paid_devices_save_no_cash():
    (price,) = priced(measured("rnn", (-0.3, -0.2, -0.1)), commitments=(IDLE,)).prices

    assert (price.usd, price.low, price.high) == (0, 0, 0)
    assert price.absorbed_hours[1] == pytest.approx(-2_000)


def test_two_workloads_share_one_commitment_s_idle_devices():
    fleet = (FLEET[2], replace(FLEET[2], workload="mlp"))
    changes = (measured("rnn", (0.8, 0.8, 0.8)), measured("mlp", (0.8, 0.8, 0.8)))

    alone = priced(changes[0], fleet=fleet, commitments=(IDLE,))
    both = priced(*changes, fleet=fleet, commitments=(IDLE,))

    assert alone.total.usd == 0
    assert float(both.total.usd) == pytest.approx(6_000 * 6.88)
    assert [float(each.usd) for each in both.prices] == pytest.approx([3_000 * 6.88] * 2)
    assert len(both.queues) == 1


def test_memory_beyond_the_device_moves_the_hours_to_the_next_one_up():
    grown = MemoryGrowth(36e9, (41e9, 43e9, 45e9))

    (price,) = priced(measured("vit", (0.0, 0.0, 0.0), memory=grown)).prices

    assert price.moves_to is not None
    assert price.moves_to.label == "AWS p4de.24xlarge, on demand (us-east-1)"
    dearer = Decimal("27.44705") / 8 - Decimal("21.957642") / 8
    assert float(price.usd) == pytest.approx(10_000 * float(dearer))
    assert price.is_detectable
    assert price.note == (
        "needs 43 GB of device memory, 36 before, and no longer fits in 40 GB; its "
        "hours then move to AWS p4de.24xlarge, on demand (us-east-1) at the same speed"
    )


def test_memory_that_may_still_fit_is_in_the_interval():
    grown = MemoryGrowth(36e9, (38e9, 39.5e9, 42e9))

    (price,) = priced(measured("vit", (0.0, 0.0, 0.0), memory=grown)).prices

    assert price.low == price.usd == 0 < price.high
    assert "may no longer fit" in price.note
    assert not price.is_detectable


def test_memory_that_fits_costs_nothing():
    grown = MemoryGrowth(30e9, (36e9, 37e9, 38e9))

    assert priced(measured("vit", memory=grown)).prices == priced(measured("vit")).prices


def test_no_larger_device_on_the_sheet_is_no_price():
    grown = MemoryGrowth(60e9, (90e9, 95e9, 99e9))

    priced_changes = priced(measured("rnn", (0.0, 0.0, 0.0), memory=grown), commitments=(IDLE,))

    (price,) = priced_changes.prices
    assert price.usd is None
    assert f"no longer fits in 80 GB: no price for {OWNED!r}" in price.note
    assert priced_changes.total.missing == ("rnn",)


def test_hours_that_leave_paid_devices_are_paid_whole_where_they_go():
    p4d = "p4d.24xlarge/on_demand"
    paid = Commitment(where=p4d, devices=8, busy_hours_per_year=60_000.0)
    grown = MemoryGrowth(36e9, (41e9, 43e9, 45e9))

    (price,) = priced(measured("vit", (0, 0, 0), memory=grown), commitments=(paid,)).prices

    assert float(price.usd) == pytest.approx(10_000 * 27.44705 / 8)
    assert price.absorbed_hours[1] == pytest.approx(-10_000)


shares = st.floats(0.0, 3.0).map(lambda share: round(share, 4))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(shares, min_size=3, max_size=3).map(sorted), st.floats(0.1, 10))
def test_money_is_linear_in_the_rate(change, factor):
    dearer = replace(
        SHEET,
        prices=tuple(
            replace(price, usd_per_hour=price.usd_per_hour * Decimal(str(factor)))
            for price in SHEET.prices
        ),
    )

    once = priced(measured("gpt", tuple(change))).total
    more = priced(measured("gpt", tuple(change)), sheet=dearer).total

    assert [float(more.low), float(more.usd), float(more.high)] == pytest.approx(
        [factor * float(each) for each in (once.low, once.usd, once.high)]
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(shares, min_size=3, max_size=3).map(sorted), st.floats(0.0, 1.0))
def test_money_on_a_commitment_never_falls_with_the_change_and_never_exceeds_the_cash_price(
    change, extra
):
    low, middle, high = change
    pricing = {"commitments": (IDLE,)}

    less = priced(measured("rnn", (low, middle, high)), **pricing).total
    more = priced(measured("rnn", (low + extra, middle + extra, high + extra)), **pricing).total
    bare = float(middle + extra) * 10_000 * 6.88

    assert less.usd <= more.usd
    assert float(more.usd) <= bare + 1e-6


def test_memory_of_just_the_device_still_fits_with_its_highest_estimate_above():
    grown = MemoryGrowth(36e9, (40e9, 40e9, 42e9))

    (price,) = priced(measured("vit", (0.0, 0.0, 0.0), memory=grown)).prices

    assert price.usd == 0
    assert "may no longer fit" in price.note
    assert not price.is_detectable
