from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import (
    LICENCES,
    SERVERS,
    UTILIZATION,
    Ownership,
    OwnershipError,
    figures_of,
    hourly_cost,
    inputs_of,
    owned_rate,
    yearly_cost,
)
from perfledger_cost_models.tco.server_site import ServerSite
from tests.cost_models.tco.year_end_study import year_end_hours

H100, A100 = SERVERS
PARAMETERS = packaged_hardware_inputs()


def at_modes(name):
    return np.array([float(PARAMETERS.find(name).mode)])


def without(name):
    kept_parameters = tuple(
        parameter for parameter in PARAMETERS.parameters if parameter.name != name
    )
    return replace(PARAMETERS, parameters=kept_parameters)


def with_mode(name, value):
    def change(inputs):
        return replace(inputs, low=value, mode=value, high=value) if inputs.name == name else inputs

    return replace(PARAMETERS, parameters=tuple(map(change, PARAMETERS.parameters)))


def test_the_parts_of_a_year_are_those_worked_out_by_hand():
    """320 kUSD · 1.21 · 1.03 = 398,816 of capital; 10.2 kW · (0.7·0.7 + 0.25·0.3) = 5.763 kW."""
    cost = yearly_cost(H100, at_modes, utilization=0.7)

    # The yearly factors 0.2537658 and 0.1687658, times i12 / r = 0.0818579 / 0.085.
    by_year = 398_816 * 0.2537658 - 38_400 * 0.1687658
    assert cost.capital_usd[0] == pytest.approx(by_year * 0.0818579 / 0.085, rel=1e-6)
    assert cost.support_usd[0] == pytest.approx(0.08 * 320_000)
    assert cost.energy_usd[0] == pytest.approx(5.763 * 8760 * 1.54 * 0.0861)
    assert cost.colocation_usd[0] == pytest.approx(10.2 * 12 * 184.06)
    assert cost.staff_usd[0] == pytest.approx(0.25 * 200_000)
    assert cost.licences_usd == 0
    assert cost.total_usd[0] == pytest.approx(196_046.5, rel=1e-5)


def test_licences_are_paid_for_each_accelerator():
    licensed = figures_of(with_mode(LICENCES, Decimal(4500)), {})
    cost = yearly_cost(H100, licensed, utilization=0.7)

    assert cost.licences_usd == 8 * 4500


@pytest.mark.parametrize(
    ("server", "utilization", "expected"),
    [
        (H100, 0.7, (4.00, 3.43, 4.21, 5.15)),
        (H100, 0.4, (6.94, 5.94, 7.30, 8.96)),
        (A100, 0.7, (2.29, 1.85, 2.44, 3.15)),
        (A100, 0.4, (3.97, 3.20, 4.22, 5.48)),
    ],
)
def test_an_owned_hour_costs_what_the_readme_says(server, utilization, expected):
    cost = hourly_cost(server, PARAMETERS, utilization=utilization)

    amounts = (cost.mode_usd, cost.p5_usd, cost.p50_usd, cost.p95_usd)
    assert amounts == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize(("utilization", "study"), [(0.7, 4.30), (0.4, 7.45)])
def test_the_median_is_that_of_the_study_the_inputs_come_from(utilization, study):
    _, p50, _ = year_end_hours(H100, PARAMETERS, utilization=utilization)

    assert p50 == pytest.approx(study, rel=0.01)


def test_the_spread_is_that_of_the_study_the_inputs_come_from():
    p5, _, p95 = year_end_hours(H100, PARAMETERS, utilization=0.7)

    assert (p5, p95) == pytest.approx((3.50, 5.25), rel=0.01)


def test_the_rate_is_the_median_with_the_fifth_and_ninety_fifth_percentile():
    cost = hourly_cost(H100, PARAMETERS, utilization=0.7)
    hourly_rate = owned_rate(H100, parameters=with_mode(UTILIZATION, Decimal("0.7")))

    assert hourly_rate.label == "On-premises 8xH100 at 70 % use"
    assert hourly_rate.accelerator == "H100-80GB"
    assert (
        float(hourly_rate.low),
        float(hourly_rate.usd_per_device_hour),
        float(hourly_rate.high),
    ) == (
        cost.p5_usd,
        cost.p50_usd,
        cost.p95_usd,
    )
    assert (hourly_rate.as_of, hourly_rate.is_read_date) == (date(2026, 11, 20), True)
    assert hourly_rate.warnings == ()


def test_low_confidence_inputs_are_listed_and_so_is_the_assumed_utilization():
    assumed = owned_rate(A100).assumed

    assert assumed[0] == "price of a server with 8 A100: 120,000 USD"
    assert assumed[-1] == "useful share of allocated hours: 40 %"
    assert "support contract: 8 % of capex a year" in assumed
    assert not any("price of a server" in words for words in owned_rate(H100).assumed)


def test_a_hardware_price_warns_after_half_a_year():
    assert owned_rate(H100, today=date(2027, 5, 19)).warnings == ()
    assert owned_rate(H100, today=date(2027, 5, 20)).warnings == (
        "price was read 181 days ago: hardware prices are valid for 180 days",
    )


@pytest.mark.parametrize("name", [*H100.inputs, LICENCES, UTILIZATION])
def test_a_missing_input_is_an_error_and_never_a_zero_in_the_sum(name):
    with pytest.raises(PriceMissingError, match=name):
        owned_rate(H100, parameters=without(name))


@pytest.mark.parametrize("utilization", [0, -0.1, 1.01, float("nan")])
def test_a_utilization_that_is_no_share_is_refused(utilization):
    with pytest.raises(ValueError, match="is not a share above 0 and up to 1"):
        hourly_cost(H100, PARAMETERS, utilization=utilization)


@given(st.floats(0.05, 0.5))
def test_better_use_makes_the_useful_hour_cheaper_but_not_in_proportion(utilization):
    def year(share):
        return yearly_cost(H100, at_modes, utilization=share).total_usd[0]

    assert year(utilization) < year(2 * utilization) < 2 * year(utilization)


@pytest.mark.parametrize("name", [H100.price, "staff_cost_loaded", "colo_price", "wacc"])
def test_a_dearer_input_makes_a_dearer_hour(name):
    dear = float(PARAMETERS.find(name).high)
    dearer = hourly_cost(H100, with_mode(name, Decimal(str(dear))), utilization=0.7)

    assert dearer.mode_usd > hourly_cost(H100, PARAMETERS, utilization=0.7).mode_usd


def year(**terms):
    return yearly_cost(H100, at_modes, utilization=0.7, terms=Ownership(**terms))


def test_an_own_facility_is_its_annuity_and_operation_in_place_of_rent():
    """10.2 kW at 11,700 USD, over 15 years at 8.5 %, and 4 % a year to run it."""
    cost = year(site=ServerSite.FACILITY)

    crf = 12 * (1.085 ** (1 / 12) - 1) / (1 - 1.085**-15)
    assert cost.facility_usd[0] == pytest.approx(10.2 * 11_700 * (crf + 0.04), rel=1e-9)
    assert cost.colocation_usd[0] == 0
    assert cost.energy_usd[0] == year().energy_usd[0]


def test_without_support_accelerators_that_fail_are_bought():
    cost = year(has_support=False)

    assert (cost.support_usd[0], cost.failures_usd[0]) == pytest.approx((0, 0.06 * 22_500 * 8))


def test_a_server_that_is_up_less_uses_less_energy_and_costs_otherwise_the_same():
    up, down = year(availability=1.0), year(availability=0.9)

    assert down.energy_usd[0] < up.energy_usd[0]
    others = [cost.total_usd[0] - cost.energy_usd[0] for cost in (up, down)]
    assert others[0] == pytest.approx(others[1], rel=1e-12)


def test_a_measured_draw_is_what_is_paid_for():
    cost = year(drawn_kw=8.0)

    assert cost.energy_usd[0] == pytest.approx(8.0 * 8760 * 1.54 * 0.0861)


def test_what_does_not_count_is_neither_drawn_nor_named():
    names = inputs_of(H100, Ownership(site=ServerSite.FACILITY, has_support=False, drawn_kw=8.0))

    assert {"colo_price", "support_contract", "average_load_power_fraction"} & set(names) == set()
    assert {"facility_capex", "gpu_annual_failure_rate", "gpu_used_price_H100_SXM"} <= set(names)


@pytest.mark.parametrize(
    "terms", [{"availability": 0.0}, {"availability": 1.1}, {"drawn_kw": 0.0}, {"drawn_kw": 1e9}]
)
def test_terms_that_cannot_be_are_refused(terms):
    with pytest.raises(OwnershipError, match="give a"):
        Ownership(**terms)


def test_a_server_without_support_needs_the_price_of_a_card():
    with pytest.raises(OwnershipError, match="card"):
        inputs_of(replace(H100, card=""), Ownership(has_support=False))
