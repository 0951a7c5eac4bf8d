"""`perfledger cost forecast` and `cost window` as a user runs them, on files that are made up."""

import csv
import json
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from random import Random
from xml.etree import ElementTree

import pytest

from perfledger_service.errors import NotFoundError, UsageError

# Seventeen whole weeks, and the three months in them.
MONDAYS = [date(2026, 6, 1) + timedelta(weeks=week) for week in range(18)]
WEEKS = [(number, *ends) for number, ends in enumerate(pairwise(MONDAYS), start=1)]


@pytest.fixture
def run(run):
    return partial(run, "cost")


@pytest.fixture
def past(tmp_path):
    """Thirty months of about 1000 hours each that grow a little."""
    noise = Random(4)
    rows = [
        f"{2024 + month // 12}-{month % 12 + 1:02},{1000 * 1.01**month * noise.uniform(0.9, 1.1)}"
        for month in range(30)
    ]
    path = tmp_path / "past.csv"
    path.write_text("month,hours\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def accounting(tmp_path):
    rows = (
        f"{week}|t|nlp|{start}T00:00:00|{end}T00:00:00|gres/gpu=1" for week, start, end in WEEKS
    )
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(("JobID|JobName|Account|Start|End|AllocTRES", *rows)) + "\n")
    return path


@pytest.fixture
def grid(tmp_path):
    """Two days of which the nights emit and cost half."""
    rows = [
        f"2026-11-{24 + hour // 24}T{hour % 24:02}:00Z,{200 if hour % 24 < 6 else 400},"
        f"{2 if hour % 24 < 6 else 4}"
        for hour in range(48)
    ]
    path = tmp_path / "grid.csv"
    path.write_text("time,g_per_kwh,usd_per_hour\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def files(past, grid):
    return {"PAST": past, "GRID": grid}


def test_a_forecast_says_quantiles_and_how_earlier_ones_came_true(run, past):
    shown = run("forecast", past)

    assert "30 months to 2026-06, and the next 6" in shown
    assert "2026-12" in shown
    words = " ".join(shown.split())
    assert "with four chances of five" in words
    assert "Backtest of hours" in words
    assert "seasonal naive" in words
    assert max(map(len, shown.splitlines())) <= 80


def test_a_price_turns_hours_into_a_budget_and_its_last_day(run, past):
    at = ("--at", "p5.48xlarge/on_demand", "--budget", "50,000", "--budget-from", "2026-04-01")
    shown = " ".join(run("forecast", past, "--ahead", 9, *at).split())

    assert "the budget); a contingency of" in shown
    assert "The budget of 50,000 USD since 2026-04-01" in shown
    assert "P10 to P90" in shown
    assert "USD at AWS p5.48xlarge, on demand" in shown


def test_a_forecast_is_written_as_json(run, past):
    words = ("--at", "p5.48xlarge/on_demand", "--budget", "20000", "--format", "json")
    document = json.loads(run("forecast", past, *words))

    hours, usd = document["forecasts"]
    rate = float(document["usd_per_device_hour"])
    assert [hours["quantity"], usd["quantity"]] == ["hours", "usd"]
    assert usd["total"]["p50"] == pytest.approx(rate * hours["total"]["p50"])
    assert hours["backtest"]["told"] > 0
    assert usd["budget"]["days"]["p10"] <= usd["budget"]["days"]["p50"]


def test_a_forecast_is_written_as_csv(run, past):
    rows = list(csv.DictReader(run("forecast", past, "--format", "csv").splitlines()))

    assert len(rows) == 30 + 6 + 1
    assert rows[0]["p50"] == "" != rows[0]["known"]
    assert float(rows[-1]["p10"]) < float(rows[-1]["p90"])


@pytest.mark.parametrize("budget", [(), ("--budget", "20000"), ("--budget", "2000000")])
def test_a_fan_chart_is_whole(run, past, budget):
    hostile = past.rename(past.parent / "<b>&.csv")

    drawn = run("forecast", hostile, "--at", "tpu-v4/on_demand", *budget, "--format", "svg")

    assert ElementTree.fromstring(drawn).tag.endswith("svg")


def test_accounting_is_counted_by_weeks(run, tmp_path):
    day, rows = date(2026, 1, 5), ["JobID|JobName|Start|End|AllocTRES"]
    for week in range(20):
        start = day + timedelta(weeks=week)
        rows.append(
            f"{week}|train|{start}T00:00:00|{start + timedelta(days=7)}T00:00:00|gres/gpu=2"
        )
    path = tmp_path / "jobs.txt"
    path.write_text("\n".join(rows) + "\n")

    shown = run("forecast", path, "--step", "week", "--ahead", 4)

    assert "20 weeks to 2026-05-18, and the next 4" in shown
    assert "336" in shown


def test_a_bill_tells_hours_and_what_was_paid(run, tmp_path):
    columns = {
        "BillingCurrency": "USD",
        "BilledCost": "100",
        "ChargeCategory": "Usage",
        "EffectiveCost": "100",
        "PricingCategory": "Standard",
        "PricingQuantity": "10",
        "PricingUnit": "Hours",
        "ProviderName": "AWS",
        "RegionId": "us-east-1",
        "SubAccountId": "nlp",
        "ResourceType": "p5.48xlarge",
    }
    ends = [date(2024 + month // 12, month % 12 + 1, 1) for month in range(15)]
    path = tmp_path / "bill.csv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, [*columns, "ChargePeriodStart", "ChargePeriodEnd"])
        table.writeheader()
        for start, end in pairwise(ends):
            period = {
                "ChargePeriodStart": f"{start}T00:00:00Z",
                "ChargePeriodEnd": f"{end}T00:00:00Z",
            }
            table.writerow(columns | period)

    document = json.loads(run("forecast", path, "--format", "json"))

    hours, usd = document["forecasts"]
    assert {round(each["amount"]) for each in hours["past"]} == {80}
    assert {round(each["amount"]) for each in usd["past"]} == {100}
    assert "nine chances of ten" in " ".join(run("forecast", path).split())


def test_too_few_months_say_that_weeks_can_be_told(run, accounting):
    with pytest.raises(UsageError, match=r"3 whole months are told, and 12 .* --step week"):
        run("forecast", accounting)

    assert "17 weeks to" in run("forecast", accounting, "--step", "week")


def test_a_file_that_is_given_twice_does_not_count_twice(run, accounting):
    with pytest.raises(UsageError, match="hours would count twice"):
        run("forecast", accounting, accounting, "--step", "week")


def test_a_budget_that_is_spent_ahead_is_not_told_as_past(run, tmp_path):
    path = tmp_path / "months.csv"
    starts = [date(2024 + month // 12, month % 12 + 1, 1) for month in range(13)]
    rows = (f"{start:%Y-%m},{24 * (end - start).days}" for start, end in pairwise(starts))
    path.write_text("\n".join(("month,usd", *rows)))
    shown = " ".join(run("forecast", path, "--budget", 490).split())
    since = ("--budget-from", "2024-12-01")
    past = " ".join(run("forecast", path, "--budget", 490, *since).split())

    assert "The budget of 490 USD is spent on 2025-01-21." in shown
    assert "was spent on 2024-12-21." in past


def test_a_window_says_when_and_what_it_saves(run, grid):
    day = ("--earliest", "2026-11-24T08:00Z", "--deadline", "2026-11-26T00:00Z")
    shown = " ".join(run("window", grid, "--hours", 4, "--kw", 10, *day).split())

    assert "Start 2026-11-25T00:00Z, done by 2026-11-25T04:00Z" in shown
    assert "It costs 8.00 USD, started at once 16.00 USD, 50.0 % less." in shown
    assert "It emits 8 kg of CO2, started at once 16 kg, 50.0 % less." in shown


def test_a_window_without_power_says_what_a_kilowatt_hour_emits(run, grid):
    shown = " ".join(run("window", grid, "--hours", 4, "--least", "kg").split())

    assert "Start at once" in shown
    assert "give --kw for kilograms" in shown


def test_a_job_that_may_pause_runs_in_both_nights(run, grid):
    words = ("window", grid, "--hours", 10, "--pause", 6, "--kw", 1)
    shown = run(*words)
    document = json.loads(run(*words, "--format", "json"))
    rows = list(csv.DictReader(run(*words, "--format", "csv").splitlines()))

    assert "paused once" in shown
    assert len(document["best"]["runs"]) == 2
    assert document["best"]["hours"] == pytest.approx(10.1)
    assert document["saved_kg"] > 0
    assert [row["plan"] for row in rows] == ["at_once", "best", "best"]


def test_the_hours_are_drawn(run, grid):
    drawn = run("window", grid, "--hours", 3.5, "--format", "svg")

    assert ElementTree.fromstring(drawn).tag.endswith("svg")


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (("forecast", "none.csv"), NotFoundError, "none.csv"),
        (("forecast", "PAST", "GRID"), UsageError, "give it alone"),
        (("forecast", "PAST", "--step", "week"), UsageError, "without --step"),
        (("forecast", "GRID"), UsageError, "not tell of a whole month"),
        (("forecast", "PAST", "--ahead", "16"), UsageError, "at most half"),
        (("forecast", "PAST", "--budget", "1"), UsageError, "add --at"),
        (("forecast", "PAST", "--budget", "much"), UsageError, "write USD"),
        (("forecast", "PAST", "--budget-from", "2026-01-01"), UsageError, "--budget too"),
        (
            ("forecast", "PAST", "--budget", "1", "--budget-from", "soon"),
            UsageError,
            "write a day",
        ),
        (("forecast", "PAST", "--at", "p9/on_demand"), UsageError, "p9"),
        (("window", "PAST", "--hours", "1"), UsageError, "no column 'time'"),
        (("window", "GRID", "--hours", "0"), UsageError, "hours above 0"),
        (("window", "GRID", "--hours", "1", "--deadline", "soon"), UsageError, "no time"),
        (("window", "GRID", "--hours", "1", "--kw", "nan"), UsageError, "a draw of nan kW"),
    ],
)
def test_what_cannot_be_asked_says_why(run, files, words, error, says):
    with pytest.raises(error, match=says):
        run(*(files.get(word, word) for word in words))
