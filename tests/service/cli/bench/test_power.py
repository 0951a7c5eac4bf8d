"""`perfledger bench power` as a user runs it: from a spread, a history or a bundle."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from typer.testing import CliRunner

from perfledger.metrics import (
    FLOPS_PER_STEP,
    SM_ACTIVE,
    STEP_TIME,
    Metric,
    MetricKind,
    MetricScale,
    WorseDirection,
)
from perfledger.records import Side
from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.number_format import NBSP

COUNT = Metric(
    name="launches",
    unit="",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.MEMORY,
    scale=MetricScale.EXACT,
)


def power(*arguments):
    done = CliRunner().invoke(app, ["bench", "power", *map(str, arguments)], env={"COLUMNS": "80"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0
    return done.stdout.replace(NBSP, " ")


def document(*arguments):
    return json.loads(power(*arguments, "--format", "json"))


def bundle_file(tmp_path, bundle):
    path = tmp_path / "bundle.json"
    path.write_text(bundle.to_json())
    return path


def runs_file(tmp_path, *, sd=0.01, runs=200, step=1.0):
    noise = np.random.default_rng(0).standard_normal(runs)
    values = 10 * np.exp(sd * noise)
    values[runs // 2 :] *= step
    path = tmp_path / "runs.csv"
    path.write_text("ms\n" + "".join(f"{value}\n" for value in values))
    return path


@pytest.mark.slow(ci_only=True)
def test_a_given_spread_has_rows_for_the_usual_numbers():
    (spread,) = document("--spread-percent", "1")["spreads"]

    assert [one["pairs"] for one in spread["detectable"]] == [4, 5, 6, 8, 10, 15, 20, 40]
    assert [one["change"] for one in spread["needed"]] == [0.005, 0.01, 0.02, 0.05, 0.1]
    assert spread["sd"] == pytest.approx(0.01)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("percent", ["1", "7.3", "8"])
def test_the_pairs_needed_detect_the_change_that_they_were_computed_for(percent):
    spread = ("--spread-percent", percent)
    (needed,) = document(*spread, "--change-percent", "1")["spreads"][0]["needed"]
    pairs = needed["pairs"]

    changes = [
        document(*spread, "--pairs", count)["spreads"][0]["detectable"][0]["change"]
        for count in (pairs - 1, pairs)
    ]

    assert changes[1] <= 0.01 < changes[0]


@pytest.mark.slow(ci_only=True)
def test_more_tests_that_share_alpha_detect_less():
    alone, shared = (
        document("--spread-percent", "1", "--tests", tests)["spreads"][0]["detectable"][4]["change"]
        for tests in (1, 50)
    )

    assert shared > alone


def test_no_number_of_pairs_detects_a_change_below_the_floor():
    text = power("--spread-percent", "1", "--change-percent", "0.2")

    assert (
        document("--spread-percent", "1", "--change-percent", "0.2")["spreads"][0]["needed"][0][
            "pairs"
        ]
        is None
    )
    assert ">10k" in text
    assert "Changes below 0.3 % are never reported" in " ".join(text.split())


def test_a_large_spread_needs_many_pairs():
    (needed,) = document("--spread-percent", "8", "--change-percent", "1")["spreads"][0]["needed"]

    assert 500 < needed["pairs"] < 1000


@pytest.mark.slow(ci_only=True)
def test_the_runs_of_a_history_give_the_spread_of_a_pair(tmp_path):
    (spread,) = document(runs_file(tmp_path))["spreads"]

    assert spread["sd"] == pytest.approx(0.01 * math.sqrt(2), rel=0.2)
    assert spread["source"] == "from 200 runs, of which two make a pair"


@pytest.mark.slow(ci_only=True)
def test_steps_of_a_history_are_no_spread(tmp_path):
    (spread,) = document(runs_file(tmp_path, step=1.5))["spreads"]

    assert spread["sd"] == pytest.approx(0.01 * math.sqrt(2), rel=0.2)
    assert spread["source"].endswith("; a level shift removed")


def test_the_pairs_of_a_bundle_give_a_spread_without_their_common_change(tmp_path, make_bundle):
    path = bundle_file(tmp_path, make_bundle(ratio=2.0, pairs=10))

    speed, memory = document(path)["spreads"]

    assert speed["name"] == "gpt:step step_time_p50"
    assert speed["sd"] == pytest.approx(0.0006, rel=0.6)
    assert memory["sd"] == pytest.approx(1e-4)  # no pairs are taken to be that equal
    assert speed["source"] == "from 10 pairs"


def test_a_missing_spread_or_step_count_has_a_reason(tmp_path, make_bundle):
    few = make_bundle(pairs=3)
    count = tuple(
        replace(run, samples={STEP_TIME.name: run.samples[STEP_TIME.name], COUNT.name: (7.0,)})
        for run in make_bundle().runs
    )
    counted = make_bundle(metrics=(STEP_TIME, COUNT, FLOPS_PER_STEP), runs=count)
    zero = tuple(
        replace(run, samples={STEP_TIME.name: (0.01,), SM_ACTIVE.name: (0.0,)})
        for run in make_bundle().runs
    )
    idle = make_bundle(metrics=(STEP_TIME, SM_ACTIVE), runs=zero)

    assert "3 pairs are too few to estimate a spread: 5 are needed" in power(
        bundle_file(tmp_path, few)
    )
    assert "a count: it has no spread" in power(bundle_file(tmp_path, counted))
    assert "reads zero on base" in power(bundle_file(tmp_path, idle))
    assert "the runs' times do not show how long a process takes to start" in " ".join(
        power(bundle_file(tmp_path, make_bundle())).split()
    )
    with pytest.raises(UsageError, match="no pair of runs"):
        power(bundle_file(tmp_path, make_bundle(runs=())))


def test_a_column_without_a_spread_is_named_without_control_characters(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("\x1b[31mred\n1\n")

    with pytest.raises(UsageError, match=r"'\[31mred': 1 earlier values"):
        power(path)


def timed(bundle, **values):
    """Return the bundle with runs that follow each other."""
    at = datetime(2026, 11, 20, 11, tzinfo=UTC)
    runs = []
    for run in bundle.runs:
        runs.append(replace(run, started_at=at.isoformat(), **values))
        at += timedelta(seconds=2.0 + sum(run.samples[STEP_TIME.name]))
    return replace(bundle, runs=tuple(runs))


def test_the_best_step_count_is_in_json_and_in_words(tmp_path, make_bundle):
    path = bundle_file(tmp_path, timed(make_bundle(samples=20, pairs=10)))

    assert document(path)["spreads"][0]["steps"] == 30
    assert "Best steps per process: 30" in power(path)


def test_without_a_best_step_count_there_is_the_reason(tmp_path, make_bundle):
    turns = timed(make_bundle(samples=6), turns=(3, 3))

    (spread, _) = document(bundle_file(tmp_path, turns))["spreads"]

    assert spread["steps_note"] == (
        "base and head were interleaved, so a run's start-up time is unknown"
    )


def test_one_side_alone_is_no_pair(tmp_path, make_bundle):
    heads = tuple(run for run in make_bundle().runs if run.side is Side.HEAD)

    assert "no pair has runs of both sides" in power(bundle_file(tmp_path, make_bundle(runs=heads)))


@pytest.mark.slow(ci_only=True)
def test_the_table_fits_a_terminal_and_markdown_is_a_table(tmp_path, make_bundle):
    text = power("--spread-percent", "123", "--tests", "40")
    laid_out = power(bundle_file(tmp_path, timed(make_bundle(samples=20))), "--format", "markdown")

    assert max(map(len, text.splitlines())) <= 80
    assert "shared by 40 tests" in " ".join(text.split())
    assert "`gpt:step step_time_p50`: pairs differ by" in laid_out
    assert "| series | 4 | 5 |" in laid_out
    assert "Kalibera and Jones" in laid_out


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(("tests", "is_shared"), [("1", False), ("2", True)])
def test_one_test_shares_its_chance_of_a_false_change_with_no_other(tests, is_shared):
    text = power("--spread-percent", "1", "--tests", tests)

    assert ("shared by 2 tests" in " ".join(text.split())) is is_shared
    assert ("shared" in text) is is_shared


def test_both_a_table_and_json_can_be_written_to_a_file(tmp_path):
    written = tmp_path / "power.txt"

    assert "Pairs needed, by size of the change" in power(
        "--spread-percent", "1", "--output", written
    )
    assert "Pairs needed, by size of the change" in written.read_text()
    assert power("--spread-percent", "1", "--format", "json", "--output", written) == ""
    assert json.loads(written.read_text())["format"] == "perfledger-power"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a FILE"),
        (("file.csv", "--spread-percent", "1"), "give a FILE"),
        (("--spread-percent", "0"), "--spread-percent 0"),
        (("--spread-percent", "-1"), "--spread-percent -1"),
        (("--spread-percent", "nan"), "--spread-percent NaN"),
        (("--spread-percent", "1e9"), "--spread-percent 1000000000"),
        (("--spread-percent", "1", "--pairs", "3"), "a test needs 4"),
        (("--spread-percent", "1", "--pairs", "1000000"), "a test needs 4 to 10,000 pairs"),
        (("--spread-percent", "1", "--change-percent", "0"), "percent above 0"),
        (("--spread-percent", "1", "--change-percent", "nan"), "percent above 0"),
        (("--spread-percent", "1", "--change-percent", "1001"), "percent above 0"),
        (("--spread-percent", "1", "--tests", "0"), "--tests 0"),
        (
            ("--spread-percent", "1", "--alpha", "0.5"),
            "is not an error rate: give one such as 0.05",
        ),
        (("absent.csv",), "there is no file absent.csv"),
        ((".",), "is a folder"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        power(*arguments)


def test_a_change_to_eleven_times_is_the_largest_that_is_looked_for():
    (spread,) = document("--spread-percent", "1", "--change-percent", "1000")["spreads"]

    assert spread["needed"] == [{"change": 10.0, "pairs": 4}]


def test_a_bundle_has_no_columns(tmp_path, make_bundle):
    with pytest.raises(UsageError, match="--column chooses"):
        power(bundle_file(tmp_path, make_bundle()), "--column", "ms")


def test_a_history_too_short_or_not_positive_has_no_spread(tmp_path):
    path = tmp_path / "runs.csv"
    for content in ("ms\n1\n2\n3\n", "ms\n1\n2\n3\n0\n5\n6\n"):
        path.write_text(content)
        with pytest.raises(UsageError, match="a spread needs 5"):
            power(path)


def test_a_column_without_a_file_is_an_error():
    with pytest.raises(UsageError, match="--column: only a FILE has columns"):
        power("--spread-percent", 1, "--column", "seconds")
