"""`perfledger prices` as a user runs it."""

import csv
import io
import json
from datetime import date

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet, packaged_text
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.settings.service import price_settings
from perfledger_service.usecases.inputs.price_books import MAX_SHEET_BYTES
from perfledger_service.usecases.prices.check import check_prices

DAY = date(2026, 11, 23)
FREE = "gcp,tpu-v6e,asia-east1,TPU-v6e,1,on_demand,per chip,700.0,700.0,,2026-11-20,high,a list,"


def test_the_packaged_sheet_can_be_used_but_for_what_is_unknown(run):
    count, unknown = len(packaged_sheet().prices), len(packaged_sheet().unknown)
    text = " ".join(run("prices", "check").split())

    assert f"{count} of {count + unknown} rows are usable, 0 rejected" in text
    assert text.count("the row stays unknown") == unknown


def test_a_row_that_must_not_be_used_exits_with_2_and_says_why(run, sheet):
    output = run("prices", "check", sheet(FREE), code=2)

    assert "2  gcp:tpu-v6e/on_demand@asia-east1" in output
    assert "700.0 is a placeholder" in output
    assert max(map(len, output.splitlines())) <= 80


def test_findings_are_written_as_json(run, sheet):
    document = json.loads(run("prices", "check", sheet(FREE), "--format", "json", code=2))

    assert (document["rows"], document["usable"]) == (1, 0)
    assert [finding["level"] for finding in document["findings"]] == ["reject"]


def test_findings_are_written_as_markdown_with_names_in_code(run, sheet):
    output = run("prices", "check", sheet(FREE), "--format", "markdown", code=2)

    assert "| 2 | `gcp:tpu-v6e/on_demand@asia-east1` | reject | placeholder |" in output


def test_what_moved_since_the_last_sheet_is_to_be_approved(run, tmp_path):
    before = tmp_path / "before.csv"
    before.write_text(packaged_text().replace("55.04,6.88", "40.00,5.0"))

    output = run("prices", "check", "--previous", before)

    assert "step since the last sheet" in output
    assert "+37.6 %" in output


def test_a_missing_sheet_says_which(tmp_path):
    with pytest.raises(NotFoundError, match=r"nothing\.csv"):
        check_prices(tmp_path / "nothing.csv", settings=price_settings(), today=DAY)


def test_a_sheet_that_is_not_text_is_an_error(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_bytes(b"\x80")

    with pytest.raises(UsageError, match="is not UTF-8 text"):
        check_prices(path, settings=price_settings(), today=DAY)


def test_a_sheet_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "prices.csv"
    with path.open("wb") as file:
        file.truncate(MAX_SHEET_BYTES + 1)

    with pytest.raises(TooLargeError, match="split"):
        check_prices(path, settings=price_settings(), today=DAY)


def test_findings_are_written_as_csv(run):
    rows = list(csv.DictReader(io.StringIO(run("prices", "check", "--format", "csv"))))

    assert {row["level"] for row in rows} == {"warn", "unknown"}
    assert all(row["row"].isdigit() and row["rule"] and row["reason"] for row in rows)


P5 = "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,{},{},{},2026-11-20,high,a list,"


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        (("5.504", "0.688", "2026-11-20"), "earlier value"),
        (("440.32", "55.04", "2026-11-20"), "earlier value"),
        (("98.32", "12.29", "2026-11-20"), "superseded price"),
        (("55.04", "6.88", "20/11/2026"), "reading"),
        (("55.04", "6.88", "2999-11-20"), "future date"),
    ],
)
def test_a_sheet_of_one_row_is_checked_beside_the_packaged_one(run, sheet, cells, rule):
    document = json.loads(run("prices", "check", sheet(P5.format(*cells)), "--json", code=2))

    assert [(one["level"], one["rule"]) for one in document["findings"]] == [("reject", rule)]


@pytest.mark.parametrize("day", ["2026-11-20", "unknown"])
def test_the_true_price_of_another_provider_passes(run, sheet, day):
    row = "azure,Standard_ND96isr_H100_v5,eastus,H100-80GB,8,on_demand,,98.32,12.29,{},2026-11-20"

    run("prices", "check", sheet(f"{row.format(day)},high,a list,"))


@pytest.mark.slow(ci_only=True)
def test_a_rejected_row_is_named_by_each_command_and_the_price_below_it_is_used(run, sheet):
    words = ("--prices", sheet(P5.format("5.504", "0.688", "2026-11-20")), "--json")

    options = json.loads(run("cost", "compare", *words))["options"]
    listed = json.loads(run("prices", "list", *words))

    (p5,) = (each for each in options if each["name"] == "aws:p5.48xlarge/on_demand")
    assert (p5["p50_usd"], p5["provenance"]) == ("6.88", "snapshot")
    assert "line 2 (aws:p5.48xlarge/on_demand@us-east-1) is left out" in p5["warnings"][-1]
    assert [row["row"] for row in listed["rejected"]] == [2]


def test_a_sheet_in_euros_is_read_with_the_rates_of_the_ecb(run, sheet, tmp_path):
    rates, euros = tmp_path / "eurofxref.csv", sheet(P5.format("47.6", "5.95", "2026-11-20"))
    lines = euros.read_text().splitlines()
    euros.write_text(f"\ufeff{lines[0]},currency\r\n{lines[1]},EUR\r\n")
    rates.write_text("Date, USD, JPY, \n20 November 2026, 1.1525, 178.1, \n")

    refused = " ".join(run("prices", "check", euros, code=2).split())
    run("prices", "check", euros, "--exchange-rates", rates)
    words = (
        "cost",
        "change",
        "--ratio",
        "1.05",
        "--interval",
        "1.03",
        "1.07",
        "--device-hours",
        "1000",
        "--json",
    )
    where = ("--purchase-option", "p5.48xlarge/on_demand", "--prices", euros)
    (priced,) = json.loads(run(*words, *where, "--exchange-rates", rates))["prices"]

    assert "'EUR' has no exchange rate: give the ECB's table with --exchange-rates" in refused
    assert float(priced["rate"]["usd_per_device_hour"]) == pytest.approx(5.95 * 1.1525)
