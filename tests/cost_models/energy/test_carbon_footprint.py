import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.energy.carbon_footprint import (
    GridCarbon,
    cloud_footprint,
    owned_footprint,
)
from perfledger_cost_models.energy.energy import EnergyError
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import SERVERS, Ownership

H100 = SERVERS[0]
PARAMETERS = packaged_hardware_inputs()


def owned(use=0.7, grid=None, terms=None):
    return owned_footprint(
        H100, PARAMETERS, use=use, grid=grid or GridCarbon(), terms=terms or Ownership()
    )


def test_an_owned_hour_takes_what_is_worked_out_by_hand():
    """5.763 kW at 70 % use, 1.54 PUE, over 5.6 useful accelerators: 1.585 kWh, 0.61 kg."""
    carbon_footprint = owned()

    assert carbon_footprint.carbon.energy_kwh == pytest.approx(5.763 * 1.54 / 5.6, rel=1e-9)
    assert carbon_footprint.carbon.location_kg == pytest.approx(
        5.763 * 1.54 / 5.6 * 0.385, rel=1e-9
    )
    assert carbon_footprint.kwh_p5 < carbon_footprint.carbon.energy_kwh < carbon_footprint.kwh_p95


def test_a_clouds_hour_takes_the_draw_under_load_and_its_own_pue():
    carbon_footprint = cloud_footprint(H100, PARAMETERS, grid=GridCarbon())

    assert carbon_footprint.carbon.energy_kwh == pytest.approx(10.2 * 0.7 * 1.11 / 8, rel=1e-9)


def test_carbon_by_market_is_unknown_without_a_contracted_factor():
    assert owned().carbon.market_kg is None

    carbon_footprint = owned(
        grid=GridCarbon(location_kg_per_kwh=0.4, market_kg_per_kwh=0.2, contract_share=0.5)
    )
    assert carbon_footprint.carbon.location_kg == pytest.approx(
        carbon_footprint.carbon.energy_kwh * 0.4
    )
    assert carbon_footprint.carbon.market_kg == pytest.approx(
        carbon_footprint.carbon.energy_kwh * 0.1
    )


def test_a_measured_draw_takes_the_place_of_the_modelled_one():
    carbon_footprint = owned(terms=Ownership(drawn_kw=6.0))

    assert carbon_footprint.carbon.energy_kwh == pytest.approx(6.0 * 1.54 / 5.6, rel=1e-9)


@pytest.mark.slow(ci_only=True)
@given(st.floats(0.05, 0.9))
def test_idle_hours_make_the_useful_ones_heavier(use):
    assert owned(use=use).carbon.energy_kwh > owned(use=use + 0.1).carbon.energy_kwh


def test_a_share_that_is_none_is_refused():
    with pytest.raises(EnergyError, match="covered_share"):
        owned(grid=GridCarbon(contract_share=1.5))


def test_the_footprint_of_two_hours_is_twice_that_of_one():
    one = owned(grid=GridCarbon(location_kg_per_kwh=0.4, market_kg_per_kwh=0.2))

    two = one.times(2.0)

    assert (two.kwh_p5, two.kwh_p95) == (2 * one.kwh_p5, 2 * one.kwh_p95)
    assert two.carbon.energy_kwh == 2 * one.carbon.energy_kwh
    assert two.carbon.location_kg == pytest.approx(2 * 0.4 * one.carbon.energy_kwh)
    assert two.carbon.market_kg == pytest.approx(2 * 0.2 * one.carbon.energy_kwh)
    assert owned().times(2.0).carbon.market_kg is None
