"""What an amount rests on and nobody knows well is named wherever the amount is shown."""

import csv
import io
import json
from functools import cache

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import SERVERS
from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError

ALL = ("cost", "compare", "--accelerator", "A100-80GB", "--accelerator", "H100-80GB")
CHANGE = (
    "cost",
    "change",
    "--ratio",
    "1.05",
    "--interval",
    "1.03",
    "1.07",
    "--device-hours",
    "1000",
)
GUESSED_USE = "useful share of allocated hours: 40 %"


@pytest.fixture(scope="module")
def run():
    """Run a command, once for all tests that ask the same."""

    @cache
    def run(*words):
        done = CliRunner().invoke(app, list(words), env={"COLUMNS": "80"})
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture
def guessed():
    sheet = packaged_hardware_inputs()
    indexes = [sheet.find(name) for server in SERVERS for name in server.inputs]
    return {each.label for each in indexes if each.is_assumed}


def unbroken(output):
    return " ".join(output.replace("`", "").split())


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_comparison_names_every_guess_to_the_last_one(run, guessed, form):
    text = unbroken(run(*ALL, "--format", form))

    assert {words for words in {*guessed, GUESSED_USE} if words not in text} == set()
    assert "price of vast:H100 SXM marketplace median/on_demand (2.4024)." in text


@pytest.mark.parametrize(
    ("command", "form"),
    [
        *((ALL, form) for form in ("json", "csv")),
        *((("cost", "tco"), form) for form in ("table", "markdown", "json", "csv")),
    ],
)
def test_a_use_that_nobody_said_is_named_as_a_guess(run, command, form):
    assert GUESSED_USE in unbroken(run(*command, "--format", form))


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("command", [ALL, ("cost", "tco")])
def test_a_use_that_was_said_is_none(run, command):
    assert GUESSED_USE not in unbroken(run(*command, "--allocated-percent", "40"))


def test_a_use_of_the_organisations_own_counts_and_is_no_guess(run, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        '[[parameter]]\nname = "utilization_baseline"\nlow = 0.5\nmode = 0.6\nhigh = 0.7\n'
        'as_of = 2026-10-01\nsource = "our own accounting"\n'
    )

    document = json.loads(run("cost", "tco", "--overrides", str(own), "--format", "json"))

    assert document["use"] == pytest.approx(0.6)
    assert not any("utilization" in words for words in document["useful_hour"][0]["assumed"])


def test_the_price_of_a_change_on_owned_hours_names_its_guesses(run, guessed, tmp_path):
    config = tmp_path / "perfledger.toml"
    config.write_text(
        '[[commitment]]\nwhere = "onprem-8xA100"\ndevices = 8\nbusy_hours_per_year = 1000\n'
        "can_shrink = true\n"
    )
    faster = ("--ratio", "0.95", "--interval", "0.93", "0.97", "--config", str(config))
    hours = ("--device-hours", "1000", "--purchase-option", "onprem-8xA100")
    words = ("cost", "change", *faster, *hours)

    text = unbroken(run(*words))
    rows = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv"))))

    inputs = {each for each in guessed if each.startswith(("server price", "staff", "wacc"))}
    assert all(each in text for each in inputs)
    assert all(each in rows[0]["rate_assumed"] for each in inputs)


def test_the_price_of_a_change_says_how_old_a_price_is(run):
    text = unbroken(run(*CHANGE, "--purchase-option", "gcp:a3-highgpu-1g/spot"))

    assert "spot prices are valid for 7 days" in text


def test_a_comparison_names_the_commitments_whose_price_nobody_knows(run):
    unknown = json.loads(
        run(
            "cost",
            "compare",
            "--accelerator",
            "TPU-v4",
            "--allocated-percent",
            "50",
            "--format",
            "json",
        )
    )["unknown"]

    assert [words.split(": ")[0] for words in unknown] == [
        "gcp:tpu-v4/committed_use/1y",
        "gcp:tpu-v4/committed_use/3y",
    ]


def test_energy_is_written_as_csv_with_what_is_assumed(run):
    words = ("cost", "energy", "1000", "--mean-watts", "400", "--pue", "1.1", "--format", "csv")

    (row,) = csv.DictReader(io.StringIO(run(*words)))

    assert float(row["energy_kwh"]) == pytest.approx(440)
    assert row["market_kg"] == ""
    assert "carbon intensity us location" in row["assumed"]


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("use", ["0.1", "100"])
def test_a_utilization_may_be_a_thousandth_or_all_hours(run, use):
    words = ("cost", "compare", "--accelerator", "H100-80GB")

    assert "H100" in run(*words, "--allocated-percent", use)


@pytest.mark.parametrize("use", ["0.09", "100.1"])
def test_a_utilization_beyond_its_range_is_refused(use):
    done = CliRunner().invoke(app, [*ALL, "--allocated-percent", use])

    assert isinstance(done.exception, UsageError)
    assert "give a percentage above 0, 0.1" in str(done.exception)
