import math

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.energy.energy import EnergyError, carbon_emissions, energy_kwh

HOUR = 3600.0
amounts = st.floats(0, 1e9)


def test_the_energy_and_carbon_of_gpt_3_are_the_published_ones():
    """Patterson et al. 2021, table 4: 10,000 V100, 14.8 days, 330 W, PUE 1.10, 0.429 kg/kWh."""
    kwh = energy_kwh(power_w=330 * 10_000, seconds=14.8 * 24 * HOUR, pue=1.10)

    assert kwh == pytest.approx(1_287_000, rel=0.003)
    assert carbon_emissions(kwh, location_kg_per_kwh=0.429).location_kg == pytest.approx(
        552_100, rel=0.003
    )


@pytest.mark.parametrize(
    ("gpu_hours", "mwh", "tonnes"),
    [(82_432, 36, 14), (135_168, 59, 23), (530_432, 233, 90), (1_022_362, 449, 173)],
)
def test_the_energy_and_carbon_of_llama_are_the_published_ones(gpu_hours, mwh, tonnes):
    """Touvron et al. 2023, table 15: A100 of 400 W, PUE 1.1, 0.385 kg/kWh; rounded there."""
    kwh = energy_kwh(power_w=400, seconds=gpu_hours * HOUR, pue=1.1)

    assert kwh / 1000 == pytest.approx(mwh, abs=1)
    assert carbon_emissions(kwh, location_kg_per_kwh=0.385).location_kg == pytest.approx(
        1000 * tonnes, abs=700
    )


def test_green_contracts_count_in_the_market_based_amount_alone():
    found_carbon_emissions = carbon_emissions(
        100, location_kg_per_kwh=0.4, market_kg_per_kwh=0.5, contract_share=0.8
    )

    assert (found_carbon_emissions.location_kg, found_carbon_emissions.market_kg) == pytest.approx(
        (40, 10)
    )


def test_an_unknown_factor_is_an_unknown_amount():
    found_carbon_emissions = carbon_emissions(100, location_kg_per_kwh=None)

    assert (found_carbon_emissions.location_kg, found_carbon_emissions.market_kg) == (None, None)


@given(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(1, 4))
def test_twice_the_time_is_twice_the_energy(power_w, seconds, pue):
    once = energy_kwh(power_w=power_w, seconds=seconds, pue=pue)

    assert energy_kwh(power_w=power_w, seconds=2 * seconds, pue=pue) == pytest.approx(2 * once)


@pytest.mark.parametrize("pue", [0.9, 4.1, math.nan])
def test_a_pue_is_one_and_up(pue):
    with pytest.raises(EnergyError, match="PUE"):
        energy_kwh(power_w=1, seconds=1, pue=pue)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_amounts_are_numbers_and_not_negative(value):
    for call in (
        lambda: energy_kwh(power_w=value, seconds=1, pue=1.1),
        lambda: energy_kwh(power_w=1, seconds=value, pue=1.1),
        lambda: carbon_emissions(value, location_kg_per_kwh=0.4),
        lambda: carbon_emissions(1, location_kg_per_kwh=value),
    ):
        with pytest.raises(EnergyError, match="0 or more"):
            call()


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_is_between_none_and_all(share):
    with pytest.raises(EnergyError, match="covered_share"):
        carbon_emissions(1, location_kg_per_kwh=0.4, contract_share=share)


def test_without_contracts_all_energy_counts_by_the_market():
    found_carbon_emissions = carbon_emissions(100, location_kg_per_kwh=0.4, market_kg_per_kwh=0.5)

    assert found_carbon_emissions.market_kg == pytest.approx(50)


@pytest.mark.parametrize(("share", "kg"), [(0.0, 50), (1.0, 0)])
def test_contracts_cover_from_none_to_all(share, kg):
    found_carbon_emissions = carbon_emissions(
        100, location_kg_per_kwh=0.4, market_kg_per_kwh=0.5, contract_share=share
    )

    assert found_carbon_emissions.market_kg == kg


@pytest.mark.parametrize("pue", [1.0, 4.0])
def test_a_pue_may_be_either_limit(pue):
    assert energy_kwh(power_w=3.6e6, seconds=1, pue=pue) == pue
