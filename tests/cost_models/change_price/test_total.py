from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.bundle import Commitment, FleetUse, PricingConfig
from perfledger_cost_models.change_price.fleet_entry import MeasuredChange
from perfledger_cost_models.change_price.price import price_changes
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet

SHEET = packaged_sheet()


P5 = "p5.48xlarge/on_demand"


OWNED = "onprem-8xH100"


FLEET = (
    FleetUse(workload="gpt", where=P5, device_hours_per_year=20_000.0, low=15_000.0, high=30_000.0),
    FleetUse(workload="vit", where="p4d.24xlarge/on_demand", device_hours_per_year=10_000.0),
    FleetUse(workload="rnn", where=OWNED, device_hours_per_year=10_000.0),
)


def measured(workload="gpt", change=(0.10, 0.12, 0.14), **values):
    return MeasuredChange(workload=workload, change=change, **values)


def priced(*changes, sheet=SHEET, **pricing):
    return price_changes(changes, pricing=PricingConfig(**{"fleet": FLEET} | pricing), sheet=sheet)


def test_several_workloads_sum_to_their_points_and_their_interval_is_narrower_than_the_ends():
    priced_changes = priced(measured(), measured("vit"))

    assert priced_changes.total.usd == sum(each.usd for each in priced_changes.prices)
    assert (
        sum(each.low for each in priced_changes.prices)
        < priced_changes.total.low
        < priced_changes.total.usd
    )
    assert (
        priced_changes.total.usd
        < priced_changes.total.high
        < sum(each.high for each in priced_changes.prices)
    )
    assert priced_changes.total.workloads == ("gpt", "vit")


def test_the_sum_of_one_price_is_that_price():
    priced_changes = priced(measured())

    (price,) = priced_changes.prices
    assert (priced_changes.total.usd, priced_changes.total.low, priced_changes.total.high) == (
        price.usd,
        price.low,
        price.high,
    )


def test_a_slower_and_a_faster_workload_may_cancel_out():
    priced_changes = priced(
        measured("vit", (0.1, 0.12, 0.14)),
        measured("rnn", (-0.08, -0.05, -0.01)),
        fleet=(FLEET[1], replace(FLEET[1], workload="rnn", device_hours_per_year=24_000.0)),
    )

    assert priced_changes.total.low < 0 < priced_changes.total.high
    assert not priced_changes.total.is_detectable


def test_prices_of_one_sign_have_a_sum_of_that_sign():
    slower = priced(measured("gpt", (0.0, 0.0, 0.1)), measured("vit", (0.0, 0.0, 0.1)))
    faster = priced(measured("gpt", (-0.1, 0.0, 0.0)), measured("vit", (-0.1, 0.0, 0.0)))

    assert slower.total.low == 0 == faster.total.high
    assert (slower.total.is_detectable, faster.total.is_detectable) == (False, False)


def test_a_found_change_without_a_price_leaves_the_sum_without_a_value():
    priced_changes = priced(measured(), measured("new"))

    assert (priced_changes.total.usd, priced_changes.total.low, priced_changes.total.high) == (
        None,
        None,
        None,
    )
    assert not priced_changes.total.is_detectable
    assert priced_changes.total.missing == ("new",)
    assert priced_changes.total.workloads == ("gpt",)


def test_what_has_neither_a_price_nor_a_detectable_change_is_left_out_by_name():
    priced_changes = priced(measured(), measured("new", (-0.01, 0.0, 0.01)))

    assert priced_changes.total.usd == priced_changes.prices[0].usd
    assert priced_changes.total.left_out == ("new",)


def test_a_change_without_bounds_is_missing_even_where_it_is_not_detectable():
    priced_changes = priced(measured(), measured("vit", (-1.0, 0.0, float("inf"))))

    assert priced_changes.total.missing == ("vit",)


def test_nothing_that_is_priced_has_no_sum():
    assert priced().total is None
    assert priced(measured("new", (-0.01, 0.0, 0.01))).total is None


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.permutations(["gpt", "vit"]), st.floats(-0.5, 0.5), st.floats(0, 0.2))
def test_the_order_of_workloads_changes_no_sum(order, middle, width):
    change = (middle - width, middle, middle + width)

    one = priced(*(measured(name, change) for name in order)).total
    two = priced(*(measured(name, change) for name in ("gpt", "vit"))).total

    assert float(one.usd) == pytest.approx(float(two.usd))
    assert (float(one.low), float(one.high)) == pytest.approx((float(two.low), float(two.high)))


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("middle", [1e-8, 3e-8, 1e-7])
def test_small_prices_of_one_sign_have_a_small_sum_of_that_sign(sign, middle):
    change = tuple(sorted(sign * each for each in (0.0, middle, 2e-7)))

    total = priced(measured("gpt", change), measured("vit", change)).total

    inner, outer = sorted((total.low, total.high), key=abs)
    assert 0 <= sign * inner < sign * total.usd < sign * outer < 0.1


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_sum_of_cents_is_detectable_too(sign):
    change = tuple(sorted(sign * each for each in (1e-8, 2e-8, 3e-8)))

    total = priced(measured("gpt", change), measured("vit", change)).total

    assert 0 < abs(total.usd) < 1
    assert total.is_detectable


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("scale", [1e-3, 1e-6])
def test_the_sum_of_cents_is_that_of_dollars_in_cents(sign, scale):
    change = tuple(sorted(sign * end for end in (0.0, 0.05, 0.1)))
    few = tuple(
        replace(
            each,
            device_hours_per_year=each.device_hours_per_year * scale,
            low=None if each.low is None else each.low * scale,
            high=None if each.high is None else each.high * scale,
        )
        for each in FLEET
    )

    large, small = (
        priced(measured("gpt", change), measured("vit", change), fleet=fleet).total
        for fleet in (FLEET, few)
    )

    assert float(small.usd) == pytest.approx(float(large.usd) * scale)
    assert float(small.low) == pytest.approx(float(large.low) * scale)
    assert float(small.high) == pytest.approx(float(large.high) * scale)


@pytest.mark.parametrize("change", [(0.10, 0.12, 0.14), (-0.14, -0.12, -0.10)])
def test_devices_that_can_be_given_back_take_more_hours_in_proportion_however_few(change):
    def usd_of(scale):
        hours = 10_000.0 * scale
        fleet = (FleetUse(workload="rnn", where=OWNED, device_hours_per_year=hours, low=hours / 2),)
        pool = Commitment(
            where=OWNED, devices=64, busy_hours_per_year=64 * 8760.0 * 0.8, can_shrink=True
        )
        (price,) = priced(measured("rnn", change), fleet=fleet, commitments=(pool,)).prices
        return float(price.usd), price.absorbed_hours

    (usd, absorbed), (few_usd, few_absorbed) = usd_of(1.0), usd_of(1e-5)

    assert few_usd == pytest.approx(usd * 1e-5)
    assert few_absorbed == pytest.approx(tuple(hours * 1e-5 for hours in absorbed))
