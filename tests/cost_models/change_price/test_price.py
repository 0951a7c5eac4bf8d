from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.bundle import Commitment, FleetUse, PricingConfig
from perfledger_cost_models.change_price.device_transfer import DeviceTransfers
from perfledger_cost_models.change_price.fleet_entry import MeasuredChange
from perfledger_cost_models.change_price.price import price_changes
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.projection.error import Calibration, PairClass
from perfledger_cost_models.projection.roofline import DeviceRoofs
from perfledger_cost_models.tco.hourly_rates import rate_of

SHEET = packaged_sheet()
SLOWER = (0.10, 0.12, 0.14)
FASTER = (-0.12, -0.10, -0.08)
OWNED = "onprem-8xH100"
PAID_ANYWAY = (
    OWNED,
    "p5.48xlarge/savings_plan/3y_no_upfront",
    "p5.48xlarge/savings_plan/1y_all_upfront",
    "p5.48xlarge/capacity_block/prepaid_24h",
)
RETURNABLE = Commitment(
    where=OWNED, devices=64, busy_hours_per_year=64 * 8760.0 * 0.8, can_shrink=True
)
NAN, INF = float("nan"), float("inf")
ends = st.floats(-0.9, 5).map(lambda end: round(end, 6))
changes = st.lists(ends, min_size=3, max_size=3).map(sorted)


def use(hours=20_000.0, where="p5.48xlarge/on_demand", workload="gpt:*", low=None, high=None):
    return FleetUse(workload=workload, where=where, device_hours_per_year=hours, low=low, high=high)


def prices(
    *fleet,
    change=SLOWER,
    workload="gpt:train",
    measured_on="H100-80GB",
    today=None,
    commitments=(),
):
    measured = MeasuredChange(workload=workload, change=tuple(change), measured_on=measured_on)
    pricing = PricingConfig(fleet=fleet, commitments=commitments)
    return price_changes((measured,), pricing=pricing, sheet=SHEET, today=today).prices


def test_a_change_costs_hours_times_change_times_rate_and_its_interval_exactly():
    (price,) = prices(use())

    assert price.usd == Decimal(20_000) * Decimal("0.12") * Decimal("6.88") == 16_512
    assert (price.low, price.high) == (13_760, 19_264)
    assert price.rate == rate_of(SHEET, "p5.48xlarge/on_demand")
    assert price.device_hours_per_year == (20_000.0, 20_000.0, 20_000.0)
    assert price.hours_source == "declared in the configuration"
    assert price.is_detectable
    assert price.note == ""


@pytest.mark.parametrize("where", PAID_ANYWAY)
def test_a_speed_up_on_hours_that_are_paid_for_anyway_frees_capacity_and_saves_no_cash(where):
    (price,) = prices(use(87_600.0, where=where), change=FASTER)

    assert (price.low, price.usd, price.high) == (0, 0, 0)
    assert price.extra_hours == pytest.approx((-10_512, -8_760, -7_008), rel=1e-3)
    assert price.renewal_devices == pytest.approx((0.8, 1.0, 1.2), rel=1e-3)
    assert price.absorbed_hours is None
    assert price.rate.is_committed


@pytest.mark.parametrize("where", PAID_ANYWAY)
def test_whether_paid_devices_take_a_slowdown_is_unknown_without_their_idle_hours(where):
    (price,) = prices(use(where=where))

    assert (price.low, price.usd, price.high) == (None, None, None)
    assert price.extra_hours == pytest.approx((2_000, 2_400, 2_800), rel=1e-3)
    assert "declare it in a [[commitment]]" in price.note


def test_a_commitment_that_can_shrink_saves_its_own_rate_and_frees_nothing():
    shrinking = replace(RETURNABLE, where="p5.48xlarge/savings_plan/3y_no_upfront")
    shrinking = replace(shrinking, overflow="p5.48xlarge/on_demand")
    rate = rate_of(SHEET, shrinking.where)

    (price,) = prices(use(where=shrinking.where), change=FASTER, commitments=(shrinking,))

    assert float(price.usd) == pytest.approx(-2_000 * float(rate.usd_per_device_hour))
    assert price.rate == rate
    assert price.absorbed_hours == (0, 0, 0)


def test_a_change_that_is_not_detected_on_paid_hours_is_left_out_of_the_sum():
    measured = tuple(
        MeasuredChange(workload=f"gpt:{name}", change=change, measured_on="H100-80GB")
        for name, change in (("noise", (-0.01, 0.0, 0.01)), ("slow", SLOWER))
    )
    fleet = (use(where=OWNED, workload="gpt:noise"), use(workload="gpt:slow"))

    total = price_changes(measured, pricing=PricingConfig(fleet=fleet), sheet=SHEET).total

    assert (total.usd, total.missing, total.left_out) == (16_512, (), ("gpt:noise",))


def test_a_speed_up_is_a_saving():
    (price,) = prices(use(), change=(-0.14, -0.12, -0.10))

    assert (price.low, price.usd, price.high) == (-19_264, -16_512, -13_760)
    assert price.is_detectable


@given(changes, st.floats(0, 1e9).map(lambda hours: round(hours, 3)))
def test_the_price_is_linear_in_hours(change, hours):
    (once,) = prices(use(hours), change=change)
    (twice,) = prices(use(2 * hours), change=change)

    assert (twice.low, twice.usd, twice.high) == (2 * once.low, 2 * once.usd, 2 * once.high)


def test_every_entry_of_the_fleet_that_matches_is_priced_and_no_other():
    fleet = (
        use(1.0),
        use(2.0, workload="bert:*"),
        use(3.0, where="onprem-8xH100"),
        use(4.0, where="tpu-v4/on_demand", workload="*"),
    )

    assert [price.device_hours_per_year[1] for price in prices(*fleet)] == [1.0, 3.0, 4.0]


def test_without_a_fleet_entry_nothing_is_priced_and_the_note_says_how_to_declare_one():
    (price,) = prices(use(workload="bert:*"))

    assert (price.rate, price.usd, price.low, price.high) == (None, None, None, None)
    assert price.note == (
        "no fleet entry matches 'gpt:train': add [[fleet]] to perfledger.toml, with workload, "
        "where and device_hours_per_year"
    )


def test_a_missing_price_is_no_price_and_the_note_says_what_there_is():
    (price,) = prices(use(where="p4d.24xlarge/savings_plan/1y", low=1.0))

    assert (price.rate, price.usd, price.low, price.high) == (None, None, None, None)
    assert price.device_hours_per_year == (1.0, 20_000.0, 20_000.0)
    assert price.note.startswith("no price for 'p4d.24xlarge/savings_plan/1y' on sheet")


def test_uncertain_hours_widen_the_interval_around_the_same_figure():
    (certain,) = prices(use())
    (price,) = prices(use(low=15_000.0, high=30_000.0))

    assert price.usd == certain.usd
    assert price.low < certain.low
    assert price.high > certain.high
    assert price.low > 15_000 * 0.10 * 6.88
    assert price.high < 30_000 * 0.14 * 6.88


def test_an_uncertain_rate_alone_gives_an_interval_wider_than_ninety_percent_of_it():
    (price,) = prices(use(where=OWNED), change=(-0.1, -0.1, -0.1), commitments=(RETURNABLE,))
    rate = rate_of(SHEET, OWNED)

    assert float(price.usd) == pytest.approx(-2_000 * float(rate.usd_per_device_hour))
    assert 0.9 * 2_000 * float(rate.low) < -price.high < 2_000 * rate.low
    assert 2_000 * rate.high < -price.low < 1.1 * 2_000 * float(rate.high)


def test_the_joint_interval_tends_to_the_changes_as_hours_become_certain():
    (price,) = prices(use(low=19_999.999, high=20_000.001), change=(-0.02, 0.1, 0.5))

    assert (float(price.low), float(price.high)) == pytest.approx(
        (-0.02 * 20_000 * 6.88, 0.5 * 20_000 * 6.88), abs=700
    )


@settings(max_examples=25, deadline=None)
@given(changes)
def test_money_has_no_other_sign_than_the_change_and_encloses_its_figure(change):
    low, _, high = change
    for entry in (use(), use(low=10_000.0, high=50_000.0)):
        (price,) = prices(entry, change=change)

        assert price.low <= price.usd <= price.high
        assert low < 0 or price.low >= 0
        assert high > 0 or price.high <= 0
        assert price.is_detectable is (low > 0 or high < 0)


def test_the_same_inputs_always_say_the_same():
    entry = use(low=10_000.0, high=50_000.0, where="onprem-8xA100")

    assert prices(entry) == prices(entry)


def test_a_change_that_may_be_none_says_only_its_interval():
    (price,) = prices(use(), change=(-0.01, 0.002, 0.02))

    assert not price.is_detectable
    assert (round(price.low), round(price.high)) == (-1376, 2752)


@pytest.mark.parametrize("change", [(0.0, 0.1, 0.2), (-0.2, -0.1, 0.0)])
def test_an_interval_that_only_touches_zero_is_not_detectable(change):
    (price,) = prices(use(), change=change)

    assert not price.is_detectable


@pytest.mark.parametrize("measured_on", ["A100-80GB", "Intel Xeon"])
def test_a_change_measured_elsewhere_has_no_price_where_nothing_carries_it_over(measured_on):
    (price,) = prices(use(), measured_on=measured_on)

    assert price.usd is None
    assert f"measured on {measured_on}, which says nothing about H100-80GB" in price.note


def test_a_change_carried_over_is_a_projection_with_a_wider_interval():
    measured = MeasuredChange(workload="gpt:train", change=SLOWER, measured_on="A100-80GB")
    roofs = {
        name: DeviceRoofs(
            key=name,
            vendor="NVIDIA",
            design=design,
            flops_per_second={"float32": flops},
            bytes_per_second=2e12,
            interconnect_bytes_per_second=None,
        )
        for name, design, flops in (
            ("A100-80GB", "NVIDIA 8.0", 1e14),
            ("H100-80GB", "NVIDIA 9.0", 3e14),
        )
    }
    calibration = Calibration(
        scores={each: tuple(n / 100 for n in range(1, 51)) for each in PairClass},
        squares={},
        designs=0,
        devices=frozenset(roofs),
        memory_shares=(0.0, 1.0),
        communication_share=1.0,
        dtypes=frozenset({"float32"}),
    )

    (price,) = price_changes(
        (measured,),
        pricing=PricingConfig(fleet=(use(),)),
        sheet=SHEET,
        transfers=DeviceTransfers(roofs=roofs, calibration=calibration),
    ).prices

    assert price.high is not None
    assert price.low is not None
    factor = float(price.high) / 19_264
    assert factor > 1.2
    assert float(price.low) == pytest.approx(13_760 / factor)
    assert price.usd == 16_512
    assert price.projected_from == "A100-80GB"
    assert "projected, not measured" in price.note


def test_an_old_price_warns_on_the_rate():
    (price,) = prices(use(), today=date(2027, 3, 1))

    assert price.rate.warnings == ("price is 112 days old: list prices are valid for 90 days",)


@pytest.mark.parametrize(
    ("hours", "low", "high"),
    [
        (-1.0, None, None),
        (NAN, None, None),
        (INF, None, None),
        (1.1e12, None, None),
        (10.0, 20.0, None),
        (10.0, None, 5.0),
        (10.0, NAN, 20.0),
    ],
)
def test_hours_that_make_no_sense_are_not_priced_and_the_note_says_so(hours, low, high):
    (price,) = prices(use(hours, low=low, high=high))

    assert (price.usd, price.low, price.high) == (None, None, None)
    assert price.rate is not None
    assert price.note.startswith("device-hours a year ")
    assert price.note.endswith("correct the fleet entry")


@pytest.mark.parametrize("change", [(-1.0, 0.1, 0.2), (0.1, 0.2, INF), (0.1, 0.2, 1.1e6)])
def test_a_change_without_bounds_is_not_priced(change):
    (price,) = prices(use(), change=change)

    assert price.usd is None
    assert price.note == "the change has no finite interval yet: measure more pairs"


@pytest.mark.parametrize(
    "change", [(0.2, 0.1, 0.3), (-1.1, 0.0, 0.1), (NAN, 0.0, 0.1), (0, 1, NAN)]
)
def test_a_change_that_is_no_interval_is_refused(change):
    with pytest.raises(ValueError, match="of 'gpt:train' violates -1 <= low <= middle <= high"):
        prices(use(), change=change)


@pytest.mark.parametrize("hours", [0.0, 1e12])
def test_hours_at_their_limits_are_priced(hours):
    (price,) = prices(use(hours), change=(1e6,) * 3)

    assert price.usd == Decimal(hours) * 1_000_000 * Decimal("6.88")


@pytest.mark.parametrize(("low", "high"), [(20_000.0, 20_001.0), (19_999.0, 20_000.0)])
def test_hours_with_one_open_end_are_uncertain(low, high):
    (price,) = prices(use(low=low, high=high), change=(-0.1, 0.1, 0.3))

    assert (price.low, price.high) != (-0.1 * 20_000 * 6.88, 0.3 * 20_000 * 6.88)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("middle", [0.001, 0.01, 0.05, 0.15])
def test_an_interval_that_ends_at_no_change_has_no_money_beyond_it(sign, middle):
    change = tuple(sorted(sign * each for each in (0.0, middle, 0.2)))

    (price,) = prices(use(low=10_000.0, high=50_000.0), change=change)

    inner, outer = sorted((price.low, price.high), key=abs)
    assert 0 <= sign * inner < sign * price.usd < sign * outer


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_small_change_of_many_hours_may_cost_less_than_a_dollar(sign):
    """Below a dollar money is not rounded up to one."""
    low, middle, high = sorted(sign * each for each in (1e-7, 2e-7, 3e-7))

    (price,) = prices(use(low=19_000.0, high=21_000.0), change=(low, middle, high))

    assert 0 < abs(price.usd) < 0.05
    assert max(abs(price.low), abs(price.high)) < 0.05


def test_a_declared_transfer_prices_a_change_that_was_measured_on_a_cpu():
    measured = MeasuredChange(workload="gpt:train", change=SLOWER, measured_on="a CPU")
    declared = replace(use(), transfer_factor=2.0)

    (unknown,), (found_prices,) = (
        price_changes((measured,), pricing=PricingConfig(fleet=(entry,)), sheet=SHEET).prices
        for entry in (use(), declared)
    )

    assert unknown.usd is None
    assert "a CPU, which says nothing about H100-80GB" in unknown.note
    assert found_prices.usd == 16_512
    assert found_prices.low is not None
    assert found_prices.high is not None
    assert float(found_prices.low) == pytest.approx(13_760 / 2)
    assert float(found_prices.high) == pytest.approx(19_264 * 2)
    assert found_prices.projected_from == "a CPU"
    assert "0.50 to 2.00 times as large, as the configuration declares" in found_prices.note


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_a_commitment_that_can_shrink_gives_back_parts_of_an_hour_too(scale):
    shrinking = replace(RETURNABLE, where="p5.48xlarge/savings_plan/3y_no_upfront")
    fleet = use(20_000 * scale, shrinking.where, low=10_000 * scale, high=30_000 * scale)

    (price,) = prices(fleet, change=FASTER, commitments=(shrinking,))

    rate = rate_of(SHEET, shrinking.where).usd_per_device_hour
    assert float(price.usd) == pytest.approx(-2_000 * scale * float(rate))
    assert price.low < price.usd < price.high < 0
    assert price.absorbed_hours == (0, 0, 0)


@pytest.mark.parametrize("scale", [1.0, 1e-4])
@pytest.mark.parametrize("sign", [1, -1])
def test_parts_of_an_hour_and_cents_have_the_sign_of_their_change(sign, scale):
    change = sorted((0.0, sign * 0.1, sign * 0.2))
    where = "p5.48xlarge/on_demand"

    (price,) = prices(use(10 * scale, where, low=5 * scale, high=20 * scale), change=change)

    ends = sorted(sign * float(end) for end in (price.low, price.usd, price.high))
    assert 0 <= ends[0] < ends[1] < ends[2]
    assert ends[1] == pytest.approx(scale * 6.88, rel=0.5)


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_freed_hours_have_the_sign_of_their_change_down_to_parts_of_an_hour(scale):
    fleet = use(10 * scale, OWNED, low=5 * scale, high=20 * scale)

    (price,) = prices(fleet, change=(-0.2, -0.1, 0.0))

    low, middle, high = price.extra_hours
    assert low < middle < high <= 0
    assert middle == pytest.approx(-scale, rel=0.5)

    (price,) = prices(fleet, change=(-0.2, -0.1, 0.1))
    assert 0 < price.extra_hours[-1] <= 2 * scale
