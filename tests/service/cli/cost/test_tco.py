"""`perfledger cost tco` as a user runs it."""

import csv
import json
from io import StringIO

import pytest

from perfledger_service.errors import NotFoundError


def test_the_parts_of_owning_sum_to_the_total(run):
    document = json.loads(run("cost", "tco", "--allocated-percent", "70", "--format", "json"))

    whole_total = sum(float(part["mode_usd"]) for part in document["usd_per_year"])
    hours = 8760 * document["accelerators"] * document["use"]
    assert whole_total / hours == pytest.approx(
        float(document["useful_hour"][0]["mode_usd"]), rel=1e-5
    )
    assert all(float(part["p5_usd"]) <= float(part["p95_usd"]) for part in document["usd_per_year"])


def test_the_year_and_the_median_hour_are_reconciled(run):
    text = " ".join(run("cost", "tco", "--allocated-percent", "60").split())

    # 195,513 / (8 x 8,760 x 0.6) = 4.650
    assert "195,513 USD a year / 42,048 useful hours (8 · 8,760 h · 60 %) = 4.65 USD" in text
    assert "median of 20,000 draws: 4.89 USD (5 to 95 %: 3.98-6.00)" in text
    assert "The median is higher: the ranges of the inputs reach further up than down." in text


def test_an_availability_is_in_the_reconciled_hours(run):
    words = ("--allocated-percent", "60", "--availability-percent", "95")

    assert "(8 · 8,760 h · 95 % up · 60 %)" in " ".join(run("cost", "tco", *words).split())


def test_the_widest_bar_of_the_tornado_is_first(run):
    output = run("cost", "tco", "--allocated-percent", "70")

    lines = output.splitlines()
    first = next(place for place, line in enumerate(lines) if "if this input is" in line) + 1
    assert lines[first].startswith("staff per server")
    assert max(map(len, lines)) <= 80


def test_owning_is_written_as_markdown(run):
    output = run("cost", "tco", "onprem-8xA100", "--format", "markdown")

    assert "| capital |" in output
    assert "| cost of capital (WACC) |" in output


def test_a_server_that_is_not_known_says_which_are(run):
    with pytest.raises(NotFoundError, match="onprem-8xH100"):
        run("cost", "tco", "onprem-8xB200")


@pytest.mark.slow(ci_only=True)
def test_what_a_server_is_worth_agrees_with_its_break_even(run):
    """At the use from which owning pays, as much is won as lost: NPV near zero at the modes."""
    (tco,) = (
        option
        for option in json.loads(run("cost", "compare", "--format", "json"))["options"]
        if option["name"] == "aws:p5.48xlarge/on_demand"
    )
    assert tco["break_even"]["p50"] > 0.4
    assert float(tco["investment"]["npv_p50_usd"]) < 0

    (more,) = (
        option
        for option in json.loads(
            run("cost", "compare", "--allocated-percent", "60", "--format", "json")
        )["options"]
        if option["name"] == "aws:p5.48xlarge/on_demand"
    )
    assert float(more["investment"]["npv_p50_usd"]) > 0
    assert 0 < more["investment"]["irr"] < 1
    assert more["investment"]["payback_years"] < 5


def test_a_servers_terms_change_its_parts(run):
    words = (
        "--site",
        "facility",
        "--no-support",
        "--availability-percent",
        "97",
        "--format",
        "json",
    )
    document = json.loads(run("cost", "tco", *words))

    assert {part["part"] for part in document["usd_per_year"]} == {
        "capital",
        "failures",
        "energy",
        "facility",
        "staff",
        "licences",
    }
    assert any("life of the facility" in words for words in document["useful_hour"][0]["assumed"])


@pytest.mark.slow(ci_only=True)
def test_own_inputs_are_no_longer_assumed(run, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        '[[parameter]]\nname = "wacc"\nlow = 0.07\nmode = 0.08\nhigh = 0.09\n'
        'as_of = 2026-10-01\nsource = "treasury"\n'
    )

    packaged = json.loads(run("cost", "tco", "--format", "json"))["useful_hour"][0]
    ours = json.loads(run("cost", "tco", "--overrides", own, "--format", "json"))["useful_hour"][0]

    assert any(words.startswith("cost of capital") for words in packaged["assumed"])
    assert not any(words.startswith("cost of capital") for words in ours["assumed"])


def test_owning_is_written_as_csv(run):
    rows = list(csv.DictReader(StringIO(run("cost", "tco", "--format", "csv"))))

    tables = {row["table"]: row for row in rows}
    assert set(tables) == {"usd_per_year", "tornado", "useful_hour", "in_place_of"}
    assert float(tables["useful_hour"]["p5_usd"]) < float(tables["useful_hour"]["p95_usd"])
    assert all(row["source"] and row["npv_p50_usd"] for row in rows if row["option"])


@pytest.mark.slow(ci_only=True)
def test_renting_in_place_of_owning_has_dates_sources_and_doubts(run):
    document = json.loads(run("cost", "tco", "--format", "json"))
    rents = {rent["option"]: rent for rent in document["in_place_of"]}

    assert document["sheet"].startswith("packaged-")
    assert rents["aws:p5.48xlarge/on_demand"]["as_of"] == "2026-11-09"
    assert rents["aws:p5.48xlarge/on_demand"]["source"]
    assert rents["aws:p5.48xlarge/spot"]["is_doubtful"]
    text = " ".join(run("cost", "tco").split())
    assert "aws:p5.48xlarge/spot ? " in text
    assert "spot prices are valid for 7 days" in text
