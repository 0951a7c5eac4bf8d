"""`perfledger plan queue` and `plan simulate` as a user runs them, on a log that is made up."""

import csv
import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perfledger_service.errors import NotFoundError, UsageError

DOCS = Path(__file__).parents[4] / "docs" / "reference"


@pytest.fixture
def run(run):
    return partial(run, "plan")


def test_policies_are_compared_with_the_recorded_schedule(run, log):
    output = run("simulate", log, "--devices-per-node", 4, "--policy", "fifo", "--policy", "easy")

    assert "84 jobs of 13.0 days on 4 devices" in output
    assert "(as recorded)" in output
    assert max(map(len, output.splitlines())) <= 80


def test_the_sentence_says_hours_and_money_with_their_interval(run, log):
    words = ("simulate", log, "--devices-per-node", 4, "--policy", "fifo", "--policy", "easy")
    text = " ".join(run(*words, "--purchase-option", "p5.48xlarge/on_demand").split())

    assert "With easy instead of fifo, a job waits" in text
    assert "fewer device-hours a year (" in text
    assert "are idle while a job waits for as many" in text
    assert "renting as many hours costs" in text
    assert "at AWS p5.48xlarge, on demand." in text


def test_figures_are_written_as_json(run, log):
    words = (
        "simulate",
        log,
        "--devices-per-node",
        4,
        "--policy",
        "fifo",
        "--policy",
        "easy",
        "--format",
        "json",
    )
    document = json.loads(run(*words, "--purchase-option", "p5.48xlarge/on_demand"))

    first, second = document["policies"]
    assert first["hours_gained_a_year"] is None
    gained = second["hours_gained_a_year"]
    assert gained["low"] <= gained["middle"] <= gained["high"]
    usd = float(document["usd_per_device_hour"])
    assert float(second["usd_gained_a_year"]["middle"]) == pytest.approx(usd * gained["middle"])


def test_a_device_hour_costs_what_the_organisations_own_prices_say(run, log, own_prices):
    words = ("simulate", log, "--devices-per-node", 4, "--policy", "fifo", "--policy", "easy")
    option = ("--purchase-option", "p5.48xlarge/savings_plan/3y_no_upfront")

    document = json.loads(run(*words, *option, "--overrides", own_prices, "--json"))

    assert float(document["usd_per_device_hour"]) == 21.5 / 8


@pytest.mark.slow(ci_only=True)
def test_passing_and_the_checkpoint_are_for_all_policies(run, log):
    words = (
        "simulate",
        log,
        "--devices-per-node",
        4,
        "--policy",
        "sjf",
        "--policy",
        "srtf",
        "--format",
        "json",
    )

    strict, _ = json.loads(run(*words))["policies"]
    free, _ = json.loads(run(*words, "--backfill", "always", "--checkpoint-seconds", 0))["policies"]

    assert free["wait_mean_s"] < strict["wait_mean_s"]


@pytest.mark.slow(ci_only=True)
def test_the_preemption_option_changes_only_policies_that_preempt(run, log):
    words = (
        "simulate",
        log,
        "--devices-per-node",
        4,
        "--policy",
        "fifo",
        "--policy",
        "srtf",
        "--format",
        "json",
    )

    fifo, srtf = json.loads(run(*words))["policies"]
    same, never = json.loads(run(*words, "--preemption", "never"))["policies"]

    assert same == fifo
    assert srtf["preemptions"] > never["preemptions"] == 0


def test_the_preemption_option_is_refused_where_no_policy_preempts(run, log):
    words = ("simulate", log, "--policy", "fifo", "--policy", "easy")

    with pytest.raises(UsageError, match="no policy of fifo, easy preempts: add one of srtf, srsf"):
        run(*words, "--preemption", "migration")


def test_a_checkpoint_cannot_be_negative(run, log):
    with pytest.raises(UsageError, match="the checkpoint is -1 s"):
        run("simulate", log, "--checkpoint-seconds", -1)


def test_figures_are_written_as_csv(run, log):
    output = run(
        "simulate",
        log,
        "--devices-per-node",
        4,
        "--policy",
        "fifo",
        "--policy",
        "srtf",
        "--format",
        "csv",
    )

    rows = list(csv.DictReader(output.splitlines()))
    assert [row["policy"] for row in rows] == ["fifo", "srtf"]
    assert rows[0]["wait_saved_s_middle"] == ""
    assert float(rows[1]["wait_saved_s_middle"]) > 0
    assert rows[1]["usd_gained_a_year_middle"] == ""
    assert float(rows[0]["wait_mean_s_interval_low"]) <= float(rows[0]["wait_mean_s"])


def test_money_is_written_as_csv(run, log):
    words = (
        "simulate",
        log,
        "--devices-per-node",
        4,
        "--policy",
        "fifo",
        "--policy",
        "easy",
        "--format",
        "csv",
    )
    _, other = csv.DictReader(
        run(*words, "--purchase-option", "p5.48xlarge/on_demand").splitlines()
    )

    hours, usd = (float(other[f"{name}_gained_a_year_middle"]) for name in ("hours", "usd"))
    assert usd == pytest.approx(6.88 * hours)


@pytest.mark.slow(ci_only=True)
def test_a_reference_unlike_the_record_has_no_gain(run, unlike_log):
    words = (
        *("simulate", unlike_log, "--nodes", 1, "--devices-per-node", 4),
        *("--policy", "fifo", "--policy", "easy"),
        *("--purchase-option", "p5.48xlarge/on_demand"),
    )
    text = " ".join(run(*words).split())
    document = json.loads(run(*words, "--format", "json"))

    assert "Not calibrated: no gain in device-hours or money." in text
    assert "device-hours a year" not in text
    assert "USD" not in text
    assert "No usual policy and size has the recorded waits: " in text
    assert document["policies"][1]["usd_gained_a_year"] is None
    assert not document["is_calibrated"]
    reference, nearest = (
        each["calibration"]["wait_mean_ratio"]["middle"]
        for each in (document["policies"][0], document["nearest"])
    )
    assert abs(nearest - 1) < abs(reference - 1)


def test_nodes_that_are_not_given_are_those_of_the_record(run, log):
    document = json.loads(run("simulate", log, "--devices-per-node", 4, "--format", "json"))

    assert (document["inferred_nodes"], document["devices"]) == (1, 4)
    assert document["policies"][0]["calibration"]["wait_mean_ratio"]["middle"] == pytest.approx(1)


def test_a_log_without_starts_needs_nodes(run, log):
    rows = [row.rsplit(",", 1)[0] for row in log.read_text().splitlines()]
    log.write_text("\n".join(rows) + "\n")

    with pytest.raises(UsageError, match="give --nodes"):
        run("simulate", log)
    assert "the log shows no waits" in run("simulate", log, "--nodes", 1, "--policy", "fifo")


def test_unusable_devices_and_redone_work_have_intervals(run, log):
    output = run(
        "simulate", log, "--devices-per-node", 4, "--policy", "fifo", "--policy", "priority-preempt"
    )

    assert "unusable" in output
    assert "redone" in output
    assert "95 % interval" in output
    assert max(map(len, output.splitlines())) <= 80


def test_properties_that_all_jobs_share_have_a_note(run, log):
    log.write_text(log.read_text().replace("[red]b", "a"))
    text = " ".join(run("simulate", log, "--policy", "priority", "--policy", "drf").split())

    assert "All jobs have the same priority, so priority cannot order them by it." in text
    assert "All jobs are of one team, so drf cannot share between teams." in text


@pytest.mark.slow(ci_only=True)
def test_jobs_that_ask_for_no_device_are_counted(run, log):
    log.write_text(log.read_text() + "c,0,0,60,0\n")

    assert "1 row of the log left out: requests no device." in run("simulate", log)


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "LOG", "--devices-per-node", "4"),
        ("queue", "LOG", "--devices", "4"),
        (
            "queue",
            "--arrivals-per-hour",
            "40",
            "--service-minutes",
            "30",
            "--devices",
            "2",
        ),
    ],
)
def test_pictures_are_valid_and_escape_foreign_text(run, log, words):
    hostile = log.rename(log.parent / "<b>&.csv")

    output = run(*(hostile if word == "LOG" else word for word in words), "--format", "svg")

    assert ElementTree.fromstring(output).tag.endswith("svg")


def test_a_picture_has_the_interval_of_use_where_there_are_days(run, log):
    words = ("--devices-per-node", "4", "--policy", "fifo", "--format", "svg")
    picture = run("simulate", log, *words)
    log.write_text("\n".join(log.read_text().splitlines()[:7]))

    assert "Devices in use, and 95 % interval" in picture
    assert "interval" not in run("simulate", log, *words)


def test_a_reservation_and_a_list_of_nodes_are_accepted(run, log):
    nodes = log.parent / "nodes.csv"
    nodes.write_text("gpu,count\n4,2\n")

    output = run(
        *(
            "simulate",
            log,
            "--cluster",
            nodes,
            "--reservation",
            "a:1:0:48",
            "--policy",
            "fifo-pass",
        ),
        *("--sharing", "mig", "--locality", "any", "--placement", "worst-fit"),
    )

    assert "on 8 devices" in output


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("simulate", "LOG", "--policy", "lottery"), NotFoundError, "there are fifo"),
        (("simulate", "LOG", "--purchase-option", "p9/on_demand"), NotFoundError, "p9"),
        (("simulate", "LOG", "--nodes", "0"), UsageError, "nodes"),
        (("simulate", "LOG", "--devices-per-node", "1", "--log-format", "swf"), UsageError, "SWF"),
        (("simulate", "LOG", "--reservation", "a:b"), UsageError, "TEAM:NODES"),
        (("simulate", "LOG", "--reservation", "a:1:0:inf"), UsageError, "TEAM:NODES"),
        (("simulate", "LOG", "--reservation", "a:0:1:2"), UsageError, "at least one node"),
        (("simulate", "LOG", "--reservation", "a:1:2:1"), UsageError, "an end after the start"),
        (("simulate", "LOG", "--reservation", "a:1:0:1e15"), UsageError, "by hour"),
        (
            ("simulate", "LOG", "--reservation", "none:1:0:1"),
            UsageError,
            "the log has no job of team 'none', which has a reservation: it has",
        ),
        (("simulate", "LOG", "--cluster", "none.csv"), NotFoundError, "none.csv"),
        (("simulate", "none.csv"), NotFoundError, "none.csv"),
        (("queue",), UsageError, "--arrivals-per-hour"),
        (("queue", "LOG", "--arrivals-per-hour", "3"), UsageError, "--arrivals-per-hour"),
        (("queue", "--arrivals-per-hour", "nan", "--service-minutes", "3"), UsageError, "busy"),
        (
            ("queue", "--arrivals-per-hour", "1", "--service-minutes", "3", "--devices", "0"),
            UsageError,
            "number of devices",
        ),
    ],
)
def test_a_usage_error_says_why(run, log, words, error, message):
    with pytest.raises(error, match=message):
        run(*(log if word == "LOG" else word for word in words))


@pytest.mark.slow(ci_only=True)
def test_the_worked_example_is_what_the_command_prints(run):
    page = (DOCS / "job-log-example.md").read_text(encoding="utf-8")
    policies = ("--policy", "fifo", "--policy", "easy", "--policy", "srtf")
    output = run("simulate", DOCS / "job-log-example.csv", "--nodes", 4, *policies)

    missing = [line for line in output.splitlines() if line.rstrip() not in page]
    assert missing == []
    assert (DOCS / "job-log-example.csv").read_text().splitlines()[1] in page


@pytest.mark.slow(ci_only=True)
def test_the_worked_examples_picture_is_what_the_command_draws(run):
    policies = ("--policy", "fifo", "--policy", "easy", "--policy", "srtf")
    words = ("simulate", DOCS / "job-log-example.csv", "--nodes", 4, *policies)
    output = run(*words, "--format", "svg")

    assert output == (DOCS / "job-log-example.svg").read_text(encoding="utf-8")
