"""`perfledger fleet forecast` and `fleet start-window` on files that are made up."""

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
    return partial(run, "fleet")


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
def files(past, grid):
    return {"PAST": past, "GRID": grid}


def test_a_forecast_says_quantiles_and_how_earlier_ones_came_true(run, past):
    output = run("forecast", past)

    assert "30 months to 2026-06, and the next 6" in output
    assert "2026-12" in output
    words = " ".join(output.split())
    assert ")" in words
    assert "Backtest of hours" in words
    assert "seasonal naive" in words
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize("times", [10, 2])
def test_a_month_far_from_its_neighbours_is_named(run, past, times):
    lines = past.read_text().splitlines()
    month, hours = lines[21].split(",")
    past.write_text("\n".join([*lines[:21], f"{month},{times * float(hours)}", *lines[22:], ""]))

    text = " ".join(run("forecast", past).split())
    document = json.loads(run("forecast", past, "--json"))["forecasts"][0]

    (outlier,) = document["outliers"]
    assert (outlier["period"], month) == ("2025-09", "2025-09")
    assert outlier["fold"] == pytest.approx(times, rel=0.2)
    assert document["total_without_outliers"]["p50"] > 0
    assert "2025-09 has " in text
    assert "check it for a typing error, a doubled or a missing export." in text
    assert "the P50 of the sum is" in text


def test_an_outlier_of_spend_is_money_in_json(run, tmp_path):
    months = [f"2025-{month:02},{20_000 if month == 5 else 1000 + month}" for month in range(1, 13)]
    path = tmp_path / "spend.csv"
    path.write_text("\n".join(["month,usd", *months, ""]))

    document = json.loads(run("forecast", path, "--json"))["forecasts"][0]

    (outlier,) = document["outliers"]
    assert (outlier["period"], outlier["amount"]) == ("2025-05", "20000")
    assert 1000 < float(outlier["usual"]) < 1200
    assert isinstance(outlier["usual"], str)
    assert isinstance(document["total_without_outliers"]["p50"], str)


def test_a_usual_history_has_no_outlier(run, past):
    document = json.loads(run("forecast", past, "--json"))["forecasts"][0]

    assert (document["outliers"], document["total_without_outliers"]) == ([], None)


@pytest.mark.slow(ci_only=True)
def test_a_price_turns_hours_into_a_budget_and_its_last_day(run, past):
    at = (
        "--purchase-option",
        "p5.48xlarge/on_demand",
        "--budget-usd",
        "50,000",
        "--budget-start",
        "2026-04-01",
    )
    text = " ".join(run("forecast", past, "--periods", 9, *at).split())

    assert "the budget); with a contingency of" in text
    assert "The budget of 50,000 USD since 2026-04-01" in text
    assert "P10 to P90" in text
    assert "USD at AWS p5.48xlarge, on demand" in text


@pytest.mark.slow(ci_only=True)
def test_hours_cost_what_the_organisations_own_prices_say(run, past, own_prices):
    option = ("--purchase-option", "p5.48xlarge/savings_plan/3y_no_upfront")

    document = json.loads(run("forecast", past, *option, "--overrides", own_prices, "--json"))

    assert float(document["usd_per_device_hour"]) == 21.5 / 8


@pytest.mark.slow(ci_only=True)
def test_a_forecast_is_written_as_json(run, past):
    words = (
        "--purchase-option",
        "p5.48xlarge/on_demand",
        "--budget-usd",
        "20000",
        "--format",
        "json",
    )
    document = json.loads(run("forecast", past, *words))

    hours, usd = document["forecasts"]
    rate = float(document["usd_per_device_hour"])
    assert [hours["quantity"], usd["quantity"]] == ["hours", "usd"]
    assert float(usd["total"]["p50"]) == pytest.approx(rate * hours["total"]["p50"])
    assert hours["backtest"]["periods"] > 0
    assert usd["budget"]["days"]["p10"] <= usd["budget"]["days"]["p50"]


def test_a_forecast_is_written_as_csv(run, past):
    rows = list(csv.DictReader(run("forecast", past, "--format", "csv").splitlines()))

    assert len(rows) == 30 + 6 + 1
    assert rows[0]["p50"] == "" != rows[0]["past"]
    assert float(rows[-1]["p10"]) < float(rows[-1]["p90"])


@pytest.mark.parametrize("budget", [(), ("--budget-usd", "20000"), ("--budget-usd", "2000000")])
def test_a_fan_chart_is_valid_svg(run, past, budget):
    hostile = past.rename(past.parent / "<b>&.csv")

    output = run(
        "forecast", hostile, "--purchase-option", "tpu-v4/on_demand", *budget, "--format", "svg"
    )

    assert ElementTree.fromstring(output).tag.endswith("svg")


def test_accounting_is_counted_by_weeks(run, tmp_path):
    day, rows = date(2026, 1, 5), ["JobID|JobName|Start|End|AllocTRES"]
    for week in range(20):
        start = day + timedelta(weeks=week)
        rows.append(
            f"{week}|train|{start}T00:00:00|{start + timedelta(days=7)}T00:00:00|gres/gpu=2"
        )
    path = tmp_path / "jobs.txt"
    path.write_text("\n".join(rows) + "\n")

    output = run("forecast", path, "--period", "week", "--periods", 4)

    assert "20 weeks to 2026-05-18, and the next 4" in output
    assert "336" in output


def test_a_bill_gives_hours_and_spend(run, tmp_path):
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
    assert {each["amount"] for each in usd["past"]} == {"100"}
    assert "90 % of cases" in " ".join(run("forecast", path).split())


def test_too_few_months_can_be_counted_by_weeks(run, accounting):
    with pytest.raises(UsageError, match=r"3 whole months of the 12 needed: .* --period week"):
        run("forecast", accounting)

    assert "17 weeks to" in run("forecast", accounting, "--period", "week")


def test_a_file_given_twice_is_an_error(run, accounting):
    with pytest.raises(UsageError, match="hours would count twice"):
        run("forecast", accounting, accounting, "--period", "week")


def test_a_budget_that_is_not_yet_spent_has_a_future_date(run, tmp_path):
    path = tmp_path / "months.csv"
    starts = [date(2024 + month // 12, month % 12 + 1, 1) for month in range(13)]
    rows = (f"{start:%Y-%m},{24 * (end - start).days}" for start, end in pairwise(starts))
    path.write_text("\n".join(("month,usd", *rows)))
    text = " ".join(run("forecast", path, "--budget-usd", 490).split())
    since = ("--budget-start", "2024-12-01")
    past = " ".join(run("forecast", path, "--budget-usd", 490, *since).split())

    assert "The budget of 490 USD will be spent on 2025-01-21." in text
    assert "was spent on 2024-12-21." in past


def test_a_budget_is_plain_decimal_text_in_json(run, tmp_path):
    path = tmp_path / "months.csv"
    rows = (f"{2024 + month // 12}-{month % 12 + 1:02},{(month + 1) / 7}" for month in range(13))
    path.write_text("\n".join(("month,usd", *rows)))
    budget = ("--budget-usd", "1e6", "--budget-start", "2024-10-01")

    (forecast,) = json.loads(run("forecast", path, *budget, "--json"))["forecasts"]

    assert forecast["budget"]["usd"] == "1000000"
    assert forecast["budget"]["spent_usd"] == "6.57143"  # (10 + 11 + 12 + 13) / 7


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("forecast", "none.csv"), NotFoundError, "none.csv"),
        (("forecast", "PAST", "GRID"), UsageError, "give it alone"),
        (
            ("forecast", "PAST", "--period", "week"),
            UsageError,
            "give it alone, and without --period",
        ),
        (("forecast", "GRID"), UsageError, "not cover a whole month"),
        (("forecast", "PAST", "--periods", "16"), UsageError, "at most half"),
        (("forecast", "PAST", "--budget-usd", "1"), UsageError, "add --purchase-option"),
        (("forecast", "PAST", "--budget-usd", "much"), UsageError, "give USD"),
        (("forecast", "PAST", "--budget-start", "2026-01-01"), UsageError, "needs --budget-usd"),
        (("forecast", "PAST", "--purchase-option", "p9/on_demand"), UsageError, "p9"),
        (("start-window", "PAST", "--job-hours", "1"), UsageError, "no column 'time'"),
        (("start-window", "GRID", "--job-hours", "0"), UsageError, "hours above 0"),
        (
            ("start-window", "GRID", "--job-hours", "1", "--deadline", "soon"),
            UsageError,
            "not a time",
        ),
        (
            ("start-window", "GRID", "--job-hours", "1", "--mean-kw", "nan"),
            UsageError,
            "a power of NaN kW",
        ),
    ],
)
def test_a_usage_error_says_why(run, files, words, error, message):
    with pytest.raises(error, match=message):
        run(*(files.get(word, word) for word in words))
