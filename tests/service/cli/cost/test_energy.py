import csv
import json

import pytest

from perfledger_service.errors import UsageError


def test_energy_is_hours_times_draw_times_the_facilitys_share(run):
    words = ("cost", "energy", "10x5h", "--mean-watts", 600, "--pue", 1.2)

    document = json.loads(run(*words, "--location-kg-per-kwh", 0.5, "--json"))

    assert document["energy_kwh"] == pytest.approx(50 * 0.6 * 1.2)
    assert document["location_kg"] == pytest.approx(50 * 0.6 * 1.2 * 0.5)


def test_without_a_contract_emissions_by_market_are_unknown(run):
    words = ("cost", "energy", "1000", "--mean-watts", 400)
    (row,) = csv.DictReader(run(*words, "--format", "csv").splitlines())

    assert row["market_kg"] == ""


@pytest.mark.parametrize("hours", ["many", "x5h", "-3"])
def test_hours_that_are_none_are_refused(run, hours):
    with pytest.raises(UsageError):
        run("cost", "energy", "--mean-watts", 400, "--", hours)
