"""`perfledger fleet start-window` as a user runs it, on files that are made up."""

import csv
import json
from functools import partial
from xml.etree import ElementTree

import pytest


@pytest.fixture
def run(run):
    return partial(run, "fleet")


def test_a_window_has_its_times_and_savings(run, grid):
    day = ("--earliest-start", "2026-11-24T08:00Z", "--deadline", "2026-11-26T00:00Z")
    text = " ".join(run("start-window", grid, "--job-hours", 4, "--mean-kw", 10, *day).split())

    assert "Start 2026-11-25T00:00Z, done by 2026-11-25T04:00Z" in text
    assert "It costs 8.00 USD, an immediate start 16.00 USD, 50.0 % less." in text
    assert "It emits 8 kg of CO2, an immediate start 16 kg, 50.0 % less." in text


def test_a_window_without_power_has_emissions_per_kilowatt_hour(run, grid):
    text = " ".join(run("start-window", grid, "--job-hours", 4, "--objective", "kg").split())

    assert "Start immediately" in text
    assert "give --mean-kw for kilograms" in text


def test_a_job_that_may_pause_runs_in_both_nights(run, grid):
    words = ("start-window", grid, "--job-hours", 10, "--pause-minutes", 6, "--mean-kw", 1)
    output = run(*words)
    document = json.loads(run(*words, "--format", "json"))
    rows = list(csv.DictReader(run(*words, "--format", "csv").splitlines()))

    assert "paused once" in output
    assert [run["plan"] for run in document["runs"]] == ["best", "best", "at_once"]
    assert document["best"]["hours"] == pytest.approx(10.1)
    assert document["saved_kg"] > 0
    assert [row["plan"] for row in rows] == ["best", "best", "at_once"]


def test_the_hours_are_drawn(run, grid):
    output = run("start-window", grid, "--job-hours", 3.5, "--format", "svg")

    assert ElementTree.fromstring(output).tag.endswith("svg")


def test_a_price_of_power_is_the_objective_once_the_power_is_known(run, tmp_path):
    """The first hour is the greenest, the last one is paid for."""
    path = tmp_path / "day_ahead.csv"
    rows = ("2026-11-24T00Z,0.1,80", "2026-11-24T01Z,0.3,40", "2026-11-24T02Z,0.2,-50")
    path.write_text("\n".join(("time,kg_per_kwh,usd_per_mwh", *rows)) + "\n")
    words = ("start-window", path, "--job-hours", 1)

    unpriced = json.loads(run(*words, "--json"))
    priced = json.loads(run(*words, "--mean-kw", 40, "--json"))

    assert (unpriced["objective"], unpriced["best"]["usd"]) == ("kg", None)
    assert (priced["objective"], priced["best"]["usd"]) == ("usd", "-2")
    assert priced["saved_usd"] == "5.2"
