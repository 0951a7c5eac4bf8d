"""`perfledger prices list` as a user runs it."""

import csv
import io
import json

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet, packaged_text
from perfledger_service.errors import UsageError

FREE = "gcp,tpu-v6e,asia-east1,TPU-v6e,1,on_demand,per chip,700.0,700.0,,2026-11-20,high,a list,"


def test_old_prices_are_marked_in_the_list_and_counted_by_the_check(run, sheet):
    old = FREE.replace("700.0", "2.0").replace("2026-11-20", "2020-01-01")

    assert "1 list prices are older than 90 days" in run("prices", "check", sheet(old))
    assert " old" in run("prices", "list", "--prices", sheet(old))


def test_own_prices_go_before_fetched_ones_and_a_contract_before_them(run, tmp_path, aws_file):
    sheet, own, contract = (tmp_path / name for name in ("mine.csv", "own.toml", "deal.toml"))
    run("prices", "update", "--file", aws_file(), "--output", sheet)
    own.write_text(
        '[[discount]]\nprovider = "aws"\nshare = 0.5\nas_of = 2026-07-01\nsource = "EDP"\n'
    )
    contract.write_text(
        '[[price]]\nprovider = "aws"\nsku = "p5.48xlarge"\nregion = "us-east-1"\n'
        'accelerator = "H100-80GB"\ncount = 8\nmodel = "on_demand"\nper_hour = 20\n'
        'as_of = 2026-10-01\nsource = "deal"\n'
    )

    def usd(*words):
        rows = json.loads(run("prices", "list", "--json", "--prices", sheet, *words))["prices"]
        return next(
            row["usd_per_hour"]
            for row in rows
            if (row["option"], row["region"]) == ("p5.48xlarge/on_demand", "us-east-1")
        )

    assert usd() == "54"
    assert usd("--overrides", own) == "27.0"
    assert usd("--overrides", own, "--contract", contract) == "20"


def test_a_contract_in_csv_counts_as_it_is_written(run, tmp_path):
    own, contract = tmp_path / "own.toml", tmp_path / "deal.csv"
    own.write_text(
        '[[discount]]\nprovider = "aws"\nshare = 0.5\nas_of = 2026-07-01\nsource = "EDP"\n'
    )
    lines = packaged_text().splitlines()
    contract.write_text(f"{lines[0]}\n{lines[1].replace('21.957642,2.74471', '16,2')}\n")

    words = ("--overrides", own, "--contract", contract)
    rows = json.loads(run("prices", "list", "--json", *words))["prices"]

    prices = {row["option"]: row["usd_per_hour"] for row in rows if row["region"] == "us-east-1"}
    assert prices["p4d.24xlarge/on_demand"] == "16"
    assert prices["p5.48xlarge/on_demand"] == "27.520"


def test_prices_are_listed_as_csv_with_their_sources(run):
    output = run("prices", "list", "--format", "csv")
    rows = [row for row in csv.DictReader(io.StringIO(output)) if row["usd_per_hour"]]

    assert len(rows) == len(packaged_sheet().prices)
    assert all(row["source"] and row["as_of"] and row["confidence"] for row in rows)


def test_a_price_that_a_newer_one_replaces_is_superseded(run):
    rows = json.loads(run("prices", "list", "--format", "json"))["prices"]
    superseded = {
        row["usd_per_hour"]: row["is_superseded"]
        for row in rows
        if (row["option"], row["region"]) == ("p5.48xlarge/on_demand", "us-east-1")
    }

    assert superseded == {"98.32": True, "55.04": False}
    assert "superseded" in run("prices", "list")


@pytest.mark.slow(ci_only=True)
def test_a_list_is_written_into_a_file(run, tmp_path):
    run("prices", "list", "--output", tmp_path / "list.txt")

    assert "8x H100-80GB" in (tmp_path / "list.txt").read_text()


def test_a_file_that_is_not_a_sheet_is_a_usage_error(run, tmp_path):
    path = tmp_path / "empty.csv"
    path.touch()

    with pytest.raises(UsageError, match="is empty"):
        run("prices", "check", path)


def test_no_source_leans_on_the_row_above():
    assert not [price.source for price in packaged_sheet().prices if price.source[:4] == "same"]


def test_unknown_prices_are_listed_as_such_and_never_as_zero(run):
    rows = [
        row
        for row in json.loads(run("prices", "list", "--json"))["prices"]
        if not row["usd_per_hour"]
    ]
    output = run("prices", "list", "--format", "csv")

    assert len(rows) == 8
    assert {(row["usd_per_hour"], row["confidence"]) for row in rows} == {(None, "unknown")}
    assert "gcp,tpu-v6e/committed_use/3y,us,TPU-v6e,1,,,,false,false,unknown," in output
