"""`perfledger cost` and `perfledger prices` as a user runs them."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.sheet import COLUMNS, packaged_sheet, packaged_text
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.costing import MAX_SHEET_BYTES, check_prices

FREE = "gcp,tpu-v6e,asia-east1,TPU-v6e,1,on_demand,per chip,700.0,700.0,,2026-11-20,high,a list,"


@pytest.fixture
def run():
    def run(*words, code=0):
        done = CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.stdout
        return done.stdout

    return run


@pytest.fixture
def sheet(tmp_path):
    def sheet(*rows):
        path = tmp_path / "prices.csv"
        path.write_text("\n".join([",".join(COLUMNS), *rows, ""]))
        return path

    return sheet


def test_the_packaged_sheet_can_be_used_whole(run):
    count = len(packaged_sheet().prices)

    assert f"{count} of {count} rows can be used, 0 rejected" in " ".join(
        run("prices", "check").split()
    )


def test_a_row_that_must_not_be_used_exits_with_2_and_says_why(run, sheet):
    shown = run("prices", "check", sheet(FREE), code=2)

    assert "row 2 gcp:tpu-v6e/on_demand@asia-east1" in shown
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

    shown = run("prices", "check", "--against", before)

    assert "step since the last sheet" in shown
    assert "+37.6%" in shown


def test_a_missing_sheet_says_which(tmp_path):
    with pytest.raises(NotFoundError, match=r"nothing\.csv"):
        check_prices(tmp_path / "nothing.csv")


def test_a_sheet_that_is_no_text_says_so(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(UsageError, match="as text"):
        check_prices(path)


def test_a_sheet_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "prices.csv"
    with path.open("wb") as file:
        file.truncate(MAX_SHEET_BYTES + 1)

    with pytest.raises(TooLargeError, match="split"):
        check_prices(path)


def test_hours_are_compared_with_the_cheapest_first(run):
    options = json.loads(run("cost", "compare", "--use", "70", "--format", "json"))["options"]

    medians = [option["p50_usd"] for option in options]
    assert medians == sorted(medians)
    assert sum(option["chance_cheapest"] for option in options) == pytest.approx(1)
    by_name = {option["name"]: option for option in options}
    assert by_name["aws:p5.48xlarge/on_demand"]["break_even"]["p50"] == pytest.approx(
        0.43, abs=0.01
    )
    assert by_name["onprem-8xH100"]["break_even"] is None


def test_the_table_names_what_is_assumed_and_what_is_old(run):
    shown = " ".join(run("cost", "compare").split())

    assert "Assumed, not measured: storage share of capex" in shown
    assert "capacity block prices keep for 30 days" in shown


def test_an_accelerator_that_nobody_owns_has_no_break_even(run):
    options = json.loads(run("cost", "compare", "--accelerator", "TPU-v4", "--format", "json"))[
        "options"
    ]

    assert {option["name"] for option in options} >= {"gcp:tpu-v4/on_demand", "gcp:tpu-v4/spot"}
    assert all(option["break_even"] is None for option in options)


def test_markdown_has_a_row_for_each_option(run):
    shown = run("cost", "compare", "--format", "markdown")

    assert "| `aws:p5.48xlarge/on_demand` | 6.88 | 0% |" in shown


def test_every_accelerator_on_the_sheet_can_be_compared(run):
    for accelerator in sorted({price.accelerator for price in packaged_sheet().prices}):
        trusted = [
            price
            for price in packaged_sheet().prices
            if price.accelerator == accelerator and price.is_trusted
        ]
        if trusted:
            run("cost", "compare", "--accelerator", accelerator)


def test_an_accelerator_without_a_price_says_which_there_are(run):
    with pytest.raises(NotFoundError, match="A100-40GB"):
        run("cost", "compare", "--accelerator", "Z80")


@pytest.mark.parametrize("use", ["0", "101", "nan"])
def test_a_use_is_a_share_of_the_hours(run, use):
    with pytest.raises(UsageError, match="above 0"):
        run("cost", "compare", "--use", use)


def test_the_parts_of_owning_sum_to_the_whole(run):
    document = json.loads(run("cost", "tco", "--use", "70", "--format", "json"))

    whole = sum(part["mode"] for part in document["usd_per_year"])
    hours = 8760 * document["accelerators"] * document["use"]
    assert whole / hours == pytest.approx(document["useful_hour"]["mode_usd"])
    assert all(part["p5"] <= part["p95"] for part in document["usd_per_year"])


def test_the_widest_bar_of_the_tornado_is_first(run):
    shown = run("cost", "tco", "--use", "70")

    lines = shown.splitlines()
    first = next(place for place, line in enumerate(lines) if "when this is" in line) + 1
    assert lines[first].startswith("staff fte per 8gpu node small")
    assert max(map(len, lines)) <= 80


def test_owning_is_written_as_markdown(run):
    shown = run("cost", "tco", "onprem-8xA100", "--format", "markdown")

    assert "| capital |" in shown
    assert "| wacc |" in shown


def test_a_server_that_is_not_known_says_which_are(run):
    with pytest.raises(NotFoundError, match="onprem-8xH100"):
        run("cost", "tco", "onprem-8xB200")
