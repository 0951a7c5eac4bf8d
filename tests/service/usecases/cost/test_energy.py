"""Published energy and carbon of trainings, from their published inputs."""

import json

import pytest

from perfledger_service.errors import UsageError

# Patterson et al., "Carbon Emissions and Large Neural Network Training", arXiv:2104.10350, table 4:
# chips, days, measured watts of a chip with its host, PUE, kg of CO2 a kWh; MWh, gross tonnes. The
# days are rounded in the table: 3.1 may be 3.15, which is what the tolerance is for.
PATTERSON = [
    ("Evolved Transformer search", 200, 6.8, 208, 1.10, 0.431, 7.5, 3.2),
    ("T5", 512, 20, 310, 1.12, 0.545, 85.7, 46.7),
    ("Meena", 1024, 30, 289, 1.09, 0.415, 232, 96.4),
    ("GShard-600B", 1024, 3.1, 288, 1.09, 0.201, 24.1, 4.8),
    ("Switch Transformer", 1024, 27, 245, 1.10, 0.403, 179, 72.2),
    ("GPT-3", 10000, 14.8, 330, 1.10, 0.429, 1287, 552.1),
]


@pytest.mark.parametrize("row", PATTERSON, ids=[row[0] for row in PATTERSON])
def test_energy_and_carbon_of_google_and_openais_trainings(run, row):
    _, chips, days, watts, pue, factor, mwh, tonnes = row
    grid = ("--pue", pue, "--location-kg-per-kwh", factor, "--format", "json")
    document = json.loads(run("cost", "energy", f"{chips}x{days}d", "--mean-watts", watts, *grid))

    assert document["energy_kwh"] / 1000 == pytest.approx(mwh, rel=0.01)
    assert document["location_kg"] / 1000 == pytest.approx(tonnes, rel=0.01)
    assert document["market_kg"] is None


def test_gross_and_net_of_a_data_centre_are_location_and_market(run):
    """GShard-600B of the same table: 0.201 kg gross and 0.177 kg net a kWh, 4.8 and 4.3 tonnes."""
    factors = ("--location-kg-per-kwh", 0.201, "--market-kg-per-kwh", 0.177)
    words = ("1024x3.1d", "--mean-watts", 288, "--pue", 1.09, *factors, "--format", "json")
    document = json.loads(run("cost", "energy", *words))

    assert document["location_kg"] / 1000 == pytest.approx(4.8, rel=0.015)
    assert document["market_kg"] / 1000 == pytest.approx(4.3, rel=0.02)


# Touvron et al., "LLaMA", arXiv:2302.13971, table 15: A100-80GB at 400 W, PUE 1.1, 0.385 kg a kWh;
# in whole MWh and tonnes.
LLAMA = [
    ("OPT-175B", 809_472, 356, 137),
    ("BLOOM-175B", 1_082_880, 475, 183),
    ("LLaMA-7B", 82_432, 36, 14),
    ("LLaMA-13B", 135_168, 59, 23),
    ("LLaMA-33B", 530_432, 233, 90),
    ("LLaMA-65B", 1_022_362, 449, 173),
]


@pytest.mark.parametrize(
    ("hours", "mwh", "tonnes"), [row[1:] for row in LLAMA], ids=[row[0] for row in LLAMA]
)
def test_energy_and_carbon_of_metas_trainings(run, hours, mwh, tonnes):
    words = ("--mean-watts", 400, "--pue", 1.1, "--location-kg-per-kwh", 0.385, "--format", "json")
    document = json.loads(run("cost", "energy", hours, *words))

    assert document["energy_kwh"] / 1000 == pytest.approx(mwh, rel=0.01)
    assert document["location_kg"] / 1000 == pytest.approx(tonnes, rel=0.01)


def test_what_was_assumed_of_energy_is_said(run):
    text = " ".join(run("cost", "energy", "8x5.3h", "--mean-watts", "700").split())

    assert "42.4 accelerator-hours" in text
    assert "CO2, market-based: unknown" in text
    assert "Assumed: PUE 1.11 (pue hyperscale)" in text


@pytest.mark.parametrize("hours", ["", "8x", "x5h", "5m", "1e99", "-3", "8xH100"])
def test_hours_that_are_none_are_an_error(run, hours):
    with pytest.raises(UsageError, match="accelerator-hours"):
        run("cost", "energy", "--mean-watts", "700", "--", hours)
