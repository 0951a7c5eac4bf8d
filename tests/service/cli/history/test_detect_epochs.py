"""`perfledger history detect --epoch-column`: a column that names the machine of a value."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.history_sources import read_histories


@pytest.fixture
def history(tmp_path):
    def write(rows, *, header="driver,ms", name="history.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
        return path

    return write


def detect(path, *arguments):
    done = CliRunner().invoke(
        app, ["history", "detect", str(path), *arguments], env={"COLUMNS": "80"}
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@pytest.fixture
def upgraded(history):
    """Return a history of 60 points that is 20 % slower on the driver of the last 30."""
    noise = np.random.default_rng(1).standard_normal(60)
    values = 10 * np.exp(0.005 * noise)
    values[30:] *= 1.2
    return history([("A" if n < 30 else "B", value) for n, value in enumerate(values)])


def test_what_comes_with_a_new_epoch_is_no_change(upgraded):
    series, split = (
        json.loads(detect(upgraded, "--format", "json", *arguments))["series"][0]
        for arguments in ((), ("--epoch-column", "driver"))
    )

    assert [change["index"] for change in series["changes"]] == [30]
    assert (split["changes"], split["epochs"]) == ([], [30])


def test_epochs_are_counted_and_drawn(upgraded):
    output = detect(upgraded, "--epoch-column", "driver")

    assert "60 points in 2 epochs: nothing moved" in output
    lines = output.splitlines()
    assert lines[-1].index("\N{BOX DRAWINGS LIGHT VERTICAL}") == 12 + 30
    assert (
        detect(upgraded, "--epoch-column", "driver", "--format", "svg").count(
            "<title>new epoch</title>"
        )
        == 1
    )


def test_a_column_of_numbers_can_name_the_epoch_and_is_not_the_values(history):
    (series,) = read_histories(history([(1, 5.0), (1, 6.0), (2, 7.0)]), epoch="driver")

    assert (series.name, series.values, series.epochs) == ("ms", (5.0, 6.0, 7.0), (2,))


def test_an_epoch_that_comes_back_is_another_one(history):
    rows = [("A", 5.0), ("B", 6.0), ("A", 7.0)]

    (series,) = read_histories(history(rows), epoch="driver")

    assert series.epochs == (1, 2)


def test_a_gap_may_leave_its_epoch_empty(history):
    rows = [("na", ""), ("A", 5.0), ("", "nan"), ("A", 6.0), ("na", ""), ("B", 7.0)]

    (series,) = read_histories(history(rows), epoch="driver")

    assert series.epochs == (5,)


def test_only_the_newest_epoch_says_what_is_suspect(history):
    noise = np.random.default_rng(1).standard_normal(60)
    values = 10 * np.exp(0.005 * noise)
    values[30:] *= 1.2
    values[59] *= 1.1
    rows = [("A" if n < 30 else "B", value) for n, value in enumerate(values)]

    usual, odd = (
        json.loads(detect(history(row), "--epoch-column", "driver", "--format", "json"))["series"][
            0
        ]
        for row in (rows[:-1], rows)
    )

    assert usual["suspect"] is None
    assert (odd["suspect"]["index"], odd["suspect"]["observations"]) == (59, 1)


def test_an_epoch_that_nothing_was_measured_in_says_nothing(upgraded):
    with upgraded.open("a") as file:
        file.write("C,\n" * 3)

    document = json.loads(detect(upgraded, "--epoch-column", "driver", "--format", "json"))

    assert document["series"][0]["suspect"] is None


def test_a_value_of_no_epoch_is_an_error_that_names_its_line(history):
    with pytest.raises(UsageError, match="'driver', line 3: no epoch"):
        read_histories(history([("A", 5.0), ("", 6.0)]), epoch="driver")


def test_json_has_epochs_too(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps([{"gpu": gpu, "ms": 5.0} for gpu in ("a", "a", "b")]))

    (series,) = read_histories(path, epoch="gpu")

    assert series.epochs == (2,)


def test_a_column_that_is_not_there_is_an_error(upgraded):
    with pytest.raises(UsageError, match="has no column 'gpu'"):
        detect(upgraded, "--epoch-column", "gpu")


@pytest.mark.parametrize("option", ["--epoch-column", "--error-column", "--time-column"])
def test_a_folder_of_bundles_has_no_such_column(tmp_path, option):
    with pytest.raises(UsageError, match="--epoch-column, --error-column and --time-column are"):
        detect(tmp_path, option, "driver")


def test_a_column_of_standard_errors_is_kept_with_the_values(history):
    path = history([(1.0, 0.1), (2.0, ""), (3.0, 0.3)], header="ms,se")

    (series,) = read_histories(path, error="se")

    assert series.values == (1.0, 2.0, 3.0)
    assert series.errors == pytest.approx((0.1, math.nan, 0.3), nan_ok=True)


def test_a_standard_error_that_is_none_names_what_is_wrong(history):
    path = history([(1.0, -0.1)] * 30, header="ms,se")

    with pytest.raises(UsageError, match="negative or infinite"):
        detect(path, "--error-column", "se")


def test_a_column_of_times_is_kept_with_the_values(history):
    path = history([(1.0, "1970-01-02"), (2.0, ""), (3.0, "172800")], header="ms,at")

    (series,) = read_histories(path, time="at")

    assert series.values == (1.0, 2.0, 3.0)
    assert series.times == pytest.approx((86400.0, math.nan, 172800.0), nan_ok=True)


def test_with_times_a_step_is_found_in_a_daily_and_weekly_cycle(history):
    rng = np.random.default_rng(5)
    times = np.sort(rng.uniform(0, 56 * 86400, 400))
    logs = 0.005 * rng.standard_normal(400) + 0.02 * (np.arange(400) >= 250)
    logs += 0.015 * (np.sin(2 * np.pi * times / 86400) + np.sin(2 * np.pi * times / 604800))
    path = history(zip(10 * np.exp(logs), times, strict=True), header="ms,at")

    plain_series, timed = (
        json.loads(detect(path, "--column", "ms", "--format", "json", *arguments))["series"][0]
        for arguments in ((), ("--time-column", "at"))
    )
    text = detect(path, "--column", "ms", "--time-column", "at")

    assert plain_series["cycles"] == []
    assert [one["period"] for one in timed["cycles"]] == ["day", "week"]
    assert [one["index"] for one in timed["changes"]] == [pytest.approx(250, abs=3)]
    assert "daily cycle" in text
    assert "weekly cycle" in text


def test_what_is_known_badly_makes_no_change(history):
    """Three wild values in a row are a change, unless they say themselves how wild they are."""
    noise = np.random.default_rng(3).standard_normal(60)
    rows = [(10 * math.exp(0.002 * each), 0.02) for each in noise]
    rows[40:] = [(10.05 * math.exp(0.002 * each), 0.4) for each in noise[40:]]
    path = history(rows, header="ms,se")

    plain_changes, weighed = (
        json.loads(detect(path, "--format", "json", *arguments))["series"][0]["changes"]
        for arguments in (("--column", "ms"), ("--error-column", "se"))
    )

    assert len(plain_changes) == 1
    assert weighed == []
