import csv
import json
from decimal import Decimal

import pytest

from perfledger_service.errors import NotFoundError, UsageError

YEAR = ("cost", "payments", "p5.48xlarge/savings_plan/1y_all_upfront", "--devices", "16")
START = ("--start", "2027-01-01")


def test_all_upfront_is_due_on_the_first_day(run):
    document = json.loads(run(*YEAR, *START, "--json"))

    # 32.36 USD an hour for 8 accelerators (AWS, 2026-08-07): 2 · 32.36 · 8,760.
    assert document["once_usd"] == document["total_usd"] == "566947.20"
    assert document["months"][1]["total_usd"] == "0.00"


def test_no_upfront_is_due_by_the_hour_and_its_months_sum_to_the_term(run):
    words = ("cost", "payments", "p5.48xlarge/savings_plan/3y_no_upfront", "--devices", "8")
    document = json.loads(run(*words, *START, "--json"))
    rows = list(csv.DictReader(run(*words, *START, "--format", "csv").splitlines()))

    assert Decimal(document["once_usd"]) == 0
    assert Decimal(document["total_usd"]) == Decimal("23.777") * 26_280
    assert sum(Decimal(row["total_usd"]) for row in rows) == Decimal(document["total_usd"])
    assert len(rows) == 36


def test_an_old_price_is_said_to_be(run, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        '[[price]]\nprovider = "aws"\nsku = "p5.48xlarge"\nregion = "us-east-1"\n'
        'accelerator = "H100-80GB"\ncount = 8\nmodel = "savings_plan"\n'
        'term = "1y_all_upfront"\nper_hour = 32\n'
        'currency = "USD"\nas_of = 2024-01-01\nsource = "made up"\n'
    )
    text = " ".join(run(*YEAR, *START, "--overrides", path).split())

    assert "days old: list prices are valid for 90 days." in text


@pytest.mark.parametrize(
    ("words", "error", "reason"),
    [
        (("p5.48xlarge/on_demand", "--devices", "8"), UsageError, "not a multi-year commitment"),
        ((YEAR[2], "--devices", "12"), UsageError, "give a multiple"),
        (("p5.48xlarge/savings_plan/2y", "--devices", "8"), NotFoundError, "2y"),
    ],
)
def test_what_has_no_schedule_is_refused(run, words, error, reason):
    with pytest.raises(error, match=reason):
        run("cost", "payments", *words, *START)
