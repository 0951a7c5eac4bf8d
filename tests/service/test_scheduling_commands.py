"""`perfledger cost queue` and `cost simulate` as a user runs them, on a log that is made up."""

import csv
import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perfledger_service.errors import NotFoundError, UsageError

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def run(run):
    return partial(run, "cost")


@pytest.fixture
def log(tmp_path):
    """A fortnight of which each day a wide job keeps narrow ones waiting."""
    rows = ["user,gpu_num,submit_time,duration,queue"]
    for day in range(14):
        start = day * 86_400
        rows += [f"a,3,{start},{14_000 + 10 * day},0", f"a,4,{start + 60},60,20000"]
        rows += [f"[red]b,1,{start + 120 + 60 * i},3000,5" for i in range(4)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_policies_stand_beside_what_was_recorded(run, log):
    shown = run("simulate", log, "--devices", 4, "-p", "fifo", "-p", "easy")

    assert "84 jobs of 13.0 days on 4 devices" in shown
    assert "(as recorded)" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_sentence_says_hours_and_money_with_their_interval(run, log):
    words = ("simulate", log, "--devices", 4, "-p", "fifo", "-p", "easy")
    shown = " ".join(run(*words, "--at", "p5.48xlarge/on_demand").split())

    assert "With easy in place of fifo, a job waits" in shown
    assert "fewer device-hours a year (" in shown
    assert "stand idle while somebody waits for as many" in shown
    assert "to add or keep as many costs" in shown
    assert "at AWS p5.48xlarge, on demand." in shown


def test_figures_are_written_as_json(run, log):
    words = ("simulate", log, "--devices", 4, "-p", "fifo", "-p", "easy", "--format", "json")
    document = json.loads(run(*words, "--at", "p5.48xlarge/on_demand"))

    first, second = document["policies"]
    assert first["hours_gained"] is None
    gained = second["hours_gained"]
    assert gained["low"] <= gained["middle"] <= gained["high"]
    usd = float(document["usd_per_device_hour"])
    assert float(second["usd_gained_a_year"][0]) == pytest.approx(usd * gained["middle"])


def test_passing_and_the_checkpoint_are_for_all_policies(run, log):
    words = ("simulate", log, "--devices", 4, "-p", "sjf", "-p", "srtf", "--format", "json")

    strict, _ = json.loads(run(*words))["policies"]
    free, _ = json.loads(run(*words, "--passing", "always", "--checkpoint", 0))["policies"]

    assert free["figures"]["wait_mean_s"] < strict["figures"]["wait_mean_s"]


def test_what_befalls_who_must_yield_is_for_policies_that_preempt(run, log):
    words = ("simulate", log, "--devices", 4, "-p", "fifo", "-p", "srtf", "--format", "json")

    fifo, srtf = json.loads(run(*words))["policies"]
    same, never = json.loads(run(*words, "--preemption", "never"))["policies"]

    assert same == fifo
    assert srtf["figures"]["preemptions"] > never["figures"]["preemptions"] == 0


def test_what_befalls_who_must_yield_is_refused_where_no_policy_preempts(run, log):
    words = ("simulate", log, "-p", "fifo", "-p", "easy")

    with pytest.raises(UsageError, match="none of the policies fifo, easy preempts"):
        run(*words, "--preemption", "migration")


def test_a_checkpoint_cannot_be_negative(run, log):
    with pytest.raises(UsageError, match="a checkpoint of -1 s"):
        run("simulate", log, "--checkpoint", -1)


def test_figures_are_written_as_csv(run, log):
    shown = run("simulate", log, "--devices", 4, "-p", "fifo", "-p", "srtf", "--format", "csv")

    rows = list(csv.DictReader(shown.splitlines()))
    assert [row["policy"] for row in rows] == ["fifo", "srtf"]
    assert rows[0]["wait_saved_s"] == ""
    assert float(rows[1]["wait_saved_s"]) > 0
    assert rows[1]["usd_gained_a_year"] == ""
    assert float(rows[0]["wait_mean_s_low"]) <= float(rows[0]["wait_mean_s"])


def test_money_is_written_as_csv(run, log):
    words = ("simulate", log, "--devices", 4, "-p", "fifo", "-p", "easy", "--format", "csv")
    _, other = csv.DictReader(run(*words, "--at", "p5.48xlarge/on_demand").splitlines())

    hours, usd = float(other["hours_gained_a_year"]), float(other["usd_gained_a_year"])
    assert usd == pytest.approx(6.88 * hours)


def test_fragments_and_what_is_redone_are_shown_with_their_intervals(run, log):
    shown = run("simulate", log, "--devices", 4, "-p", "fifo", "-p", "priority-preempt")

    assert "unusable" in shown
    assert "redone" in shown
    assert "95 % interval" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_what_policies_go_by_and_the_log_does_not_say_is_told(run, log):
    log.write_text(log.read_text().replace("[red]b", "a"))
    shown = " ".join(run("simulate", log, "-p", "priority", "-p", "drf").split())

    assert "All jobs have the same priority: nothing comes first under priority." in shown
    assert "there is nobody to share with under drf." in shown


def test_jobs_that_ask_for_no_device_are_counted(run, log):
    log.write_text(log.read_text() + "c,0,0,60,0\n")

    assert "1 row of the log left out: asks for no device." in run("simulate", log)


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "LOG", "--devices", "4"),
        ("simulate", "LOG", "--devices", "4", "--fill", "1.1", "--seeds", "1"),
        ("queue", "LOG", "--devices", "4"),
        ("queue", "--arrivals", "40", "--service", "30", "--devices", "2"),
    ],
)
def test_pictures_are_whole_and_escape_what_others_wrote(run, log, words):
    hostile = log.rename(log.parent / "<b>&.csv")

    drawn = run(*(hostile if word == "LOG" else word for word in words), "--format", "svg")

    assert ElementTree.fromstring(drawn).tag.endswith("svg")


def test_a_picture_has_the_interval_of_use_where_there_are_days(run, log):
    words = ("--devices", "4", "-p", "fifo", "--format", "svg")
    whole = run("simulate", log, *words)
    log.write_text("\n".join(log.read_text().splitlines()[:7]))

    assert "devices in use, and 95 % interval" in whole
    assert "interval" not in run("simulate", log, *words)


def test_a_cluster_is_filled_by_placement(run, log):
    words = ("simulate", log, "--devices", 4, "--nodes", 3, "--fill", 1.2, "--seeds", 2)
    shown = run(*words, "--placement", "fgd", "--placement", "random")
    rows = list(csv.DictReader(run(*words, "--format", "csv").splitlines()))
    document = json.loads(run(*words, "--placement", "fgd", "--format", "json"))

    assert "fgd" in shown
    assert len(rows) == 16
    assert document["fillings"][0]["curve"]


def test_a_reservation_and_a_list_of_nodes_are_taken(run, log):
    nodes = log.parent / "nodes.csv"
    nodes.write_text("gpu,count\n4,2\n")

    shown = run(
        *("simulate", log, "--cluster", nodes, "--reserve", "a:1:0:48", "-p", "fifo-pass"),
        *("--sharing", "mig", "--locality", "any", "--placement", "worst-fit"),
    )

    assert "on 8 devices" in shown


def test_a_queue_says_waits_and_how_many_devices_are_enough(run):
    words = ("--arrivals", 40, "--service", 30, "--devices", 24, "--wait", 5)
    shown = " ".join(run("queue", *words).split())

    assert "20 busy of 24" in shown
    assert "devices are enough that 95.0 % wait at most 5 min" in shown


def test_a_large_queue_is_said_in_whole_devices(run):
    words = ("--arrivals", 5600, "--service", 120, "--devices", 12_000)
    shown = " ".join(run("queue", *words).split())

    assert "5,600 devices wanted an hour, for 2 h each: 11,200 busy of 12,000" in shown
    assert "0 wait at any moment" in shown


def test_a_queue_of_a_log_adds_a_screening(run, log):
    shown = " ".join(run("queue", log, "--devices", 4).split())

    assert "G/G/c, a screening" in shown


def test_a_queue_without_end_says_so(run):
    assert "grows without end" in run("queue", "--arrivals", 40, "--service", 60, "--devices", 9)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_queue_is_written_for_programs(run, form):
    shown = run("queue", "--arrivals", 4, "--service", 30, "--wait", 1, "--format", form)

    assert "devices_needed" in shown


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (("simulate", "LOG", "-p", "lottery"), NotFoundError, "there are fifo"),
        (("simulate", "LOG", "--at", "p9/on_demand"), NotFoundError, "p9"),
        (("simulate", "LOG", "--nodes", "0"), UsageError, "nodes"),
        (("simulate", "LOG", "--devices", "1", "--log-format", "swf"), UsageError, "SWF"),
        (("simulate", "LOG", "--reserve", "a:b"), UsageError, "TEAM:NODES"),
        (("simulate", "LOG", "--reserve", "a:1:0:inf"), UsageError, "TEAM:NODES"),
        (("simulate", "LOG", "--reserve", "a:0:1:2"), UsageError, "a node at least"),
        (("simulate", "LOG", "--reserve", "a:1:2:1"), UsageError, "an end after the start"),
        (("simulate", "LOG", "--reserve", "a:1:0:1e15"), UsageError, "by hour"),
        (("simulate", "LOG", "--reserve", "none:1:0:1"), UsageError, "has no job: it has"),
        (("simulate", "LOG", "--fill", "1", "-p", "srtf"), UsageError, "--policy with --fill"),
        (("simulate", "LOG", "--cluster", "none.csv"), NotFoundError, "none.csv"),
        (("simulate", "none.csv"), NotFoundError, "none.csv"),
        (("simulate", "LOG", "--fill", "0"), UsageError, "load above 0"),
        (("simulate", "LOG", "--fill", "1", "--seeds", "0"), UsageError, "seeds"),
        (("simulate", "LOG", "--placement", "fgd", "--placement", "random"), UsageError, "--fill"),
        (("queue",), UsageError, "--arrivals"),
        (("queue", "LOG", "--arrivals", "3"), UsageError, "--arrivals"),
        (("queue", "--arrivals", "nan", "--service", "3"), UsageError, "busy"),
        (("queue", "--arrivals", "1", "--service", "3", "--devices", "0"), UsageError, "servers"),
    ],
)
def test_what_cannot_be_asked_says_why(run, log, words, error, says):
    with pytest.raises(error, match=says):
        run(*(log if word == "LOG" else word for word in words))


def test_the_worked_example_is_what_the_command_prints(run):
    page = (DOCS / "job-log-example.md").read_text(encoding="utf-8")
    policies = ("-p", "fifo", "-p", "easy", "-p", "srtf")
    shown = run("simulate", DOCS / "job-log-example.csv", "--nodes", 4, *policies)

    missing = [line for line in shown.splitlines() if line.rstrip() not in page]
    assert missing == []
    assert (DOCS / "job-log-example.csv").read_text().splitlines()[1] in page


def test_the_worked_examples_picture_is_what_the_command_draws(run):
    policies = ("-p", "fifo", "-p", "easy", "-p", "srtf")
    words = ("simulate", DOCS / "job-log-example.csv", "--nodes", 4, *policies)
    drawn = run(*words, "--format", "svg")

    assert drawn == (DOCS / "job-log-example.svg").read_text(encoding="utf-8")
