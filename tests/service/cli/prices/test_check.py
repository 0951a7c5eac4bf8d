"""`perfledger prices` as a user runs it."""

import csv
import io
import json

import pytest

from perfledger_cost_models.prices.price_sheet import packaged_sheet, packaged_text
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.inputs.price_books import MAX_SHEET_BYTES
from perfledger_service.usecases.prices.check import check_prices

FREE = "gcp,tpu-v6e,asia-east1,TPU-v6e,1,on_demand,per chip,700.0,700.0,,2026-11-20,high,a list,"


def test_the_packaged_sheet_can_be_used_but_for_what_is_unknown(run):
    count, unknown = len(packaged_sheet().prices), len(packaged_sheet().unknown)
    shown = " ".join(run("prices", "check").split())

    assert f"{count} of {count + unknown} rows are usable, 0 rejected" in shown
    assert shown.count("the row stays unknown") == unknown


def test_a_row_that_must_not_be_used_exits_with_2_and_says_why(run, sheet):
    shown = run("prices", "check", sheet(FREE), code=2)

    assert "2  gcp:tpu-v6e/on_demand@asia-east1" in shown
    assert "700.0 is a placeholder" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_findings_are_written_as_json(run, sheet):
    document = json.loads(run("prices", "check", sheet(FREE), "--format", "json", code=2))

    assert (document["rows"], document["usable"]) == (1, 0)
    assert [found["level"] for found in document["findings"]] == ["reject"]


def test_findings_are_written_as_markdown_with_names_in_code(run, sheet):
    shown = run("prices", "check", sheet(FREE), "--format", "markdown", code=2)

    assert "| 2 | `gcp:tpu-v6e/on_demand@asia-east1` | reject | placeholder |" in shown


def test_what_moved_since_the_last_sheet_is_to_be_approved(run, tmp_path):
    before = tmp_path / "before.csv"
    before.write_text(packaged_text().replace("55.04,6.88", "40.00,5.0"))

    shown = run("prices", "check", "--previous", before)

    assert "step since the last sheet" in shown
    assert "+37.6 %" in shown


def test_a_missing_sheet_says_which(tmp_path):
    with pytest.raises(NotFoundError, match=r"nothing\.csv"):
        check_prices(tmp_path / "nothing.csv")


def test_a_sheet_that_is_not_text_is_an_error(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(UsageError, match="is not UTF-8 text"):
        check_prices(path)


def test_a_sheet_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "prices.csv"
    with path.open("wb") as file:
        file.truncate(MAX_SHEET_BYTES + 1)

    with pytest.raises(TooLargeError, match="split"):
        check_prices(path)


def test_findings_are_written_as_csv(run):
    rows = list(csv.DictReader(io.StringIO(run("prices", "check", "--format", "csv"))))

    assert {row["level"] for row in rows} == {"warn", "unknown"}
    assert all(row["row"].isdigit() and row["rule"] and row["reason"] for row in rows)
