from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger.bundle import DeclaredThroughput
from perfledger.records import WorkloadSpec
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.quote import HourlyRate, Provenance
from perfledger_cost_models.tco.hourly_rates import standard_rates
from perfledger_cost_models.tco.unit_cost import unit_costs, usd_per_million_units

SPEC = WorkloadSpec(id="gpt:train_step", module="gpt", function="train_step", unit="tokens")
RATE = HourlyRate(
    option="p5.48xlarge/on_demand",
    label="AWS p5.48xlarge, on demand",
    accelerator="H100-80GB",
    usd_per_device_hour=Decimal("7.20"),
    low=Decimal("7.20"),
    high=Decimal("7.20"),
    as_of=date(2026, 11, 9),
    is_read_date=False,
    source="price list",
)
DECLARED = DeclaredThroughput(
    workload="gpt:*", device="H100-80GB", units_per_second=1000.0, source="MLPerf"
)
H100 = "NVIDIA H100 80GB HBM3"
XEON = "Intel(R) Xeon(R) CPU"
positive = st.floats(1e-6, 1e12)


def costs(*, speed=(900.0, 1000.0, 1250.0), model=H100, memory=None, declared=(), rates=(RATE,)):
    return unit_costs(
        spec=SPEC,
        units_per_second=speed,
        device_model=model,
        device_memory_bytes=memory,
        declared=declared,
        rates=rates,
    )


def test_a_million_units_cost_the_rate_for_the_hours_they_take():
    """1000 units a second are 3.6 million an hour: 7.20 USD / 3.6 = 2 USD."""
    (cost,) = costs()

    assert cost.provenance is Provenance.MEASURED
    assert (cost.workload, cost.unit, cost.rate, cost.reason) == (SPEC.id, "tokens", RATE, "")
    assert cost.usd == 2
    assert cost.low == Decimal("1.6")
    assert cost.high == pytest.approx(Decimal("2.2222222222222222"))


def test_the_interval_takes_the_rates_ends_too():
    (cost,) = costs(rates=(replace(RATE, low=Decimal("3.60"), high=Decimal("14.40")),))

    assert (cost.low, cost.usd) == (Decimal("0.8"), 2)
    assert cost.high == pytest.approx(Decimal("4.4444444444444444"))


def test_a_measurement_counts_only_for_the_accelerator_it_was_made_on():
    found_unit_costs = costs(rates=standard_rates(packaged_sheet()))

    assert [cost.provenance for cost in found_unit_costs] == [
        Provenance.MEASURED,
        Provenance.UNKNOWN,
        Provenance.MEASURED,
        Provenance.UNKNOWN,
        Provenance.UNKNOWN,
    ]
    for cost in found_unit_costs:
        is_known = cost.provenance is Provenance.MEASURED
        assert (cost.usd is not None) is is_known
        assert cost.reason == (
            "" if is_known else f"unavailable on this device: measured on {H100}"
        )


@given(st.text(), st.none() | st.integers(0, 10**12))
def test_no_name_but_an_h100s_prices_an_h100(model, memory):
    (cost,) = costs(model=f"CPU {model}", memory=memory)

    assert cost.provenance is Provenance.UNKNOWN
    assert (cost.usd, cost.low, cost.high) == (None, None, None)


def test_a_part_of_a_gpu_does_not_price_the_whole():
    (cost,) = costs(memory=20_000_000_000)

    assert cost.provenance is Provenance.UNKNOWN


def test_a_measurement_on_a_cpu_is_declared_on_a_gpu_where_the_configuration_says_so():
    (cost,) = costs(model=XEON, declared=(DECLARED,))

    assert cost.provenance is Provenance.DECLARED
    assert cost.low == cost.usd == cost.high == 2
    assert cost.reason == "declared: MLPerf"


def test_a_measurement_goes_before_a_declaration():
    (cost,) = costs(declared=(replace(DECLARED, units_per_second=1.0),))

    assert (cost.provenance, cost.usd) == (Provenance.MEASURED, 2)


def test_the_first_declaration_of_this_workload_and_device_counts():
    declared = (
        replace(DECLARED, workload="bert:*", units_per_second=1.0),
        replace(DECLARED, device="A100-80GB", units_per_second=2.0),
        DECLARED,
        replace(DECLARED, units_per_second=4.0),
    )
    (cost,) = costs(speed=None, declared=declared)

    assert cost.usd == 2


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_a_declared_throughput_that_is_none_leaves_the_cost_unknown(speed):
    (cost,) = costs(model=XEON, declared=(replace(DECLARED, units_per_second=speed),))

    assert cost.provenance is Provenance.UNKNOWN
    assert "is not a positive number: correct it in the configuration" in cost.reason


@pytest.mark.parametrize(
    ("speed", "model", "why"),
    [
        (None, H100, "unavailable on this device: not measured anywhere"),
        ((1.0, 1.0, 1.0), XEON, f"unavailable on this device: measured on {XEON}"),
        ((1.0, 1.0, 1.0), "", "unavailable on this device: measured on an unnamed device"),
    ],
)
def test_an_unknown_cost_says_why(speed, model, why):
    (cost,) = costs(speed=speed, model=model)

    assert (cost.provenance, cost.usd, cost.reason) == (Provenance.UNKNOWN, None, why)


@pytest.mark.parametrize(
    "speed",
    [(0.0, 1.0, 1.0), (2.0, 1.0, 3.0), (1.0, 2.0, float("inf")), (1.0, float("nan"), 2.0)],
)
def test_a_throughput_that_is_no_interval_is_refused(speed):
    with pytest.raises(ValueError, match="of 'gpt:train_step' is not 0 < low <= middle <= high"):
        costs(speed=speed)


@given(positive)
def test_twice_the_price_costs_twice_as_much(speed):
    once = usd_per_million_units(Decimal("6.88"), speed)

    assert usd_per_million_units(Decimal("13.76"), speed) == pytest.approx(2 * once)


@given(st.lists(positive, min_size=3, max_size=3).map(sorted))
def test_the_cost_lies_within_its_interval(speed):
    (cost,) = costs(speed=tuple(speed))

    assert cost.low <= cost.usd <= cost.high
