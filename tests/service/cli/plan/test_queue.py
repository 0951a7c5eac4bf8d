"""`perfledger plan queue` as a user runs it, on a log that is made up."""

import json
import random
from functools import partial

import pytest

from perfledger_service.errors import UsageError


@pytest.fixture
def run(run):
    return partial(run, "plan")


def test_a_queue_says_waits_and_how_many_devices_are_enough(run):
    words = (
        "--arrivals-per-hour",
        40,
        "--service-minutes",
        30,
        "--devices",
        24,
        "--max-wait-minutes",
        5,
    )
    text = " ".join(run("queue", *words).split())

    assert "20 busy of 24" in text
    assert "devices are enough: 95 % wait at most 5 min" in text


def test_a_large_queue_is_shown_in_whole_devices(run):
    words = ("--arrivals-per-hour", 5600, "--service-minutes", 120, "--devices", 12_000)
    text = " ".join(run("queue", *words).split())

    assert "5,600 devices requested an hour, for 2 h each: 11,200 busy of 12,000" in text
    assert "the queue holds 0 jobs on average" in text


@pytest.mark.slow(ci_only=True)
def test_a_log_has_its_recorded_waits_first_and_then_its_replay(run, log):
    output = run("queue", log, "--devices", 4, "--max-wait-minutes", 30)

    lines = output.splitlines()
    assert lines[0].startswith("jobs.csv: 84 jobs of 13.0 days, up to 4 devices each")
    assert lines[2].startswith("as recorded")
    assert lines[3].startswith("replay, fifo")
    assert max(map(len, lines)) <= 80


@pytest.mark.slow(ci_only=True)
def test_a_gang_log_has_no_formula(run, log):
    text = " ".join(run("queue", log, "--devices", 4, "--max-wait-minutes", 30).split())

    assert "M/M/c" not in text
    assert "No queueing formula: 33 % of the jobs take several devices, up to 4." in text


@pytest.mark.slow(ci_only=True)
def test_the_devices_that_are_enough_come_from_replays(run, log):
    words = ("queue", log, "--devices", 4, "--max-wait-minutes", 30, "--format", "json")
    document = json.loads(run(*words))

    recorded, replayed, enough = document["waits"]
    assert recorded["met_share"]["middle"] == pytest.approx(14 / 84)
    assert replayed["wait_mean_s"]["middle"] == pytest.approx(recorded["wait_mean_s"]["middle"])
    assert enough["devices"] == document["needed"]["devices"] == 8
    assert enough["met_share"]["middle"] >= 0.95
    assert document["calibration"]["is_calibrated"]


def test_devices_and_policy_are_those_of_the_record_unless_given(run, log):
    text = " ".join(run("queue", log, "--devices-per-node", 4).split())

    assert "Calibrated: the replay with fifo is within 30 % of the record." in text
    assert "fifo on 4 devices: of the usual policies and sizes, the closest" in text
    assert "other causes of waits may look like fewer devices" in text


def test_a_replay_unlike_the_record_is_a_screening(run, unlike_log):
    words = ("queue", unlike_log, "--devices", 4, "--policy", "fifo", "--max-wait-minutes", 30)
    text = " ".join(run(*words).split())

    assert "Not calibrated within 30 %: the replay with fifo has" in text
    assert "Treat the number of devices as a screening" in text


@pytest.fixture
def idle_log(tmp_path):
    """Return a log whose jobs waited for two hours although devices were free."""
    rows = [f"4,{100 * index},{100 * index + 7200},{100 * index + 7600}" for index in range(20)]
    path = tmp_path / "idle.csv"
    path.write_text("\n".join(["gpu_num,submit_time,start_time,end_time", *rows]) + "\n")
    return path


def test_a_fit_without_the_recorded_waits_is_not_offered_as_one(run, idle_log):
    text = " ".join(run("queue", idle_log, "--max-wait-minutes", 30).split())
    document = json.loads(run("queue", idle_log, "--max-wait-minutes", 30, "--json"))

    assert (
        "Unknown how many devices are enough: 8 are in the replay with fifo, but on 16 the "
        "record has 0.00 % of the jobs within 30 min."
    ) in text
    assert (
        "No usual policy and size has the recorded waits: fifo on 16 devices has 0 times their "
        "mean. What made jobs wait is not in the log, such as limits of users or partitions, "
        "reservations, and nodes that were down: replay one partition at a time, and give its "
        "devices."
    ) in text
    assert "screening" not in text
    assert (document["needed"], document["needed_in_replay"]["devices"]) == (None, 8)
    assert len(document["waits"]) == 2


def test_a_fit_on_given_devices_without_the_recorded_waits_is_not_offered(run, idle_log):
    text = " ".join(run("queue", idle_log, "--devices", 24).split())

    assert "No usual policy has the recorded waits: fifo on 24 devices has 0 times" in text
    assert "closest" not in text


def test_a_simulation_does_not_offer_a_fit_without_the_recorded_waits(run, idle_log):
    text = " ".join(run("simulate", idle_log, "--nodes", 3, "--devices-per-node", 8).split())

    assert "Closest to the record" not in text
    assert "No usual policy and size has the recorded waits: fifo on 16 devices has 0" in text


@pytest.mark.slow(ci_only=True)
def test_a_formula_beside_a_replay_is_labelled(run, tmp_path):
    rng = random.Random(3)
    at, rows = 0.0, ["gpu_num,submit_time,duration"]
    for _ in range(600):
        at += rng.expovariate(1 / 600)
        rows.append(f"1,{at:.0f},{rng.expovariate(1 / 1800):.0f}")
    path = tmp_path / "single.csv"
    path.write_text("\n".join(rows) + "\n")
    words = ("queue", path, "--devices", 5)

    text = " ".join(run(*words, "--max-wait-minutes", 10).split())
    picture = run(*words, "--format", "svg")

    assert "Formula for random arrivals (M/M/c), not a replay" in text
    assert "formula (M/M/c), 5 devices" in picture
    assert "The log shows no job's wait." in text


@pytest.mark.parametrize("words", [("--arrivals-per-hour", 3), ("--service-minutes", 3)])
def test_a_log_and_rates_exclude_each_other(run, log, words):
    with pytest.raises(UsageError, match="leave out --arrivals-per-hour"):
        run("queue", log, *words)


def test_a_queue_without_end_says_so(run):
    assert "grows without limit" in run(
        "queue", "--arrivals-per-hour", 40, "--service-minutes", 60, "--devices", 9
    )


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_queue_is_written_for_programs(run, form):
    output = run(
        "queue",
        "--arrivals-per-hour",
        4,
        "--service-minutes",
        30,
        "--max-wait-minutes",
        1,
        "--format",
        form,
    )

    assert "devices_needed" in output


# A job that still holds 8 devices when the log is exported.
UNFINISHED = (
    "job_id,submit_time,start_time,end_time,gpus",
    *(f"{at},2026-07-01T{at:02}:00,2026-07-01T{at:02}:10,2026-07-01T{at:02}:40,8" for at in (1, 2)),
    "3,2026-07-01T00:00,2026-07-01T00:10,,8",
    "4,2026-07-01T03:00,2026-07-01T03:10,2026-07-01T03:40,8",
)


@pytest.fixture
def unfinished(tmp_path):
    path = tmp_path / "unfinished.csv"
    path.write_text("\n".join(UNFINISHED) + "\n")
    return path


def test_use_and_devices_are_lower_bounds_where_a_job_had_not_ended(run, unfinished):
    text = " ".join(run("queue", unfinished, "--devices", 16, "--max-wait-minutes", 10).split())
    picture = run("queue", unfinished, "--devices", 16, "--format", "svg")

    assert "at least 16.7 %" in text  # the jobs that ended held 8 of 16 devices for 1 of 3 hours
    assert "At least 8 devices (1 node of 8) are needed so that" in text
    assert "Devices in use, at least" in picture


def test_use_of_devices_counted_without_a_job_that_had_not_ended_is_unknown(run, unfinished):
    for command in ("queue", "simulate"):
        text = " ".join(run(command, unfinished).split())

        assert "8 devices, not counting jobs that the log shows only in part" in text
        assert "at least" not in text
    (recorded, replayed) = json.loads(run("queue", unfinished, "--json"))["waits"]
    assert (recorded["utilization"], replayed["utilization"]) == (None, None)


@pytest.mark.parametrize(
    ("command", "number"), [("queue", ("--devices", 16)), ("simulate", ("--nodes", 2))]
)
def test_programs_are_told_what_the_use_of_devices_is_worth(
    run, unfinished, tmp_path, command, number
):
    complete = tmp_path / "complete.csv"
    complete.write_text("\n".join(line for line in UNFINISHED if not line.endswith(",,8")) + "\n")

    def device_use(path, *words):
        return json.loads(run(command, path, *words, "--json"))["device_use"]

    assert device_use(unfinished) == "unknown"
    assert device_use(unfinished, *number) == "lower bound"
    assert device_use(complete) == "complete"


def test_shares_of_a_replay_are_lower_bounds_where_a_job_had_not_ended(run, unfinished):
    assert "at least" in run("simulate", unfinished, "--nodes", 2)
    assert "Devices in use, at least" in run(
        "simulate", unfinished, "--nodes", 2, "--format", "svg"
    )


def test_a_replay_on_fewer_devices_than_the_log_shows_in_use_says_so(run, tmp_path):
    path = tmp_path / "jobs.csv"
    rows = (f"{job},2026-07-01T00:00,2026-07-01T00:10,2026-07-01T01:00,4" for job in range(3))
    path.write_text("\n".join(("job_id,submit_time,start_time,end_time,gpus", *rows)) + "\n")

    for command, few, many in (
        ("queue", ("--devices", 8), ("--devices", 16)),
        ("simulate", ("--nodes", 1), ("--nodes", 2)),
    ):
        text = " ".join(run(command, path, *few).split())

        assert "The log shows 12 devices in use at one moment, more than the 8 of the" in text
        assert "The log shows" not in run(command, path, *many)
        assert json.loads(run(command, path, *many, "--json"))["peak_devices"] == 12


SACCT_HEADER = "Cluster|JobID|Submit|Start|End|Elapsed|State|AllocTRES\n"


@pytest.fixture
def sacct_log(tmp_path):
    """Return a function that writes a log of 20 jobs at midnight, one of which began before it."""

    def write(first_submit="2026-09-01T00:00:00"):
        rows = [
            f"c|{day}|2026-09-{day:02}T00:00:00|2026-09-{day:02}T00:00:00|2026-09-{day + 1:02}"
            "T06:00:00|1-06:00:00|COMPLETED|gres/gpu=2"
            for day in range(1, 21)
        ]
        rows[0] = rows[0].replace("2026-09-01T00:00:00", first_submit, 1)
        path = tmp_path / "jobs.txt"
        path.write_text(SACCT_HEADER + "\n".join(rows) + "\n")
        return path

    return write


def test_a_job_that_ran_before_an_export_cut_it_has_no_wait(run, sacct_log):
    cut = sacct_log("2026-07-01T00:00:00")
    unknown = (
        "1 job may have run before the log shows it: its wait is unknown. Either sacct --truncate "
        "cut the runs (export without it), or a job was requeued and kept its Submit"
    )

    for command, words in (("queue", ("--devices", 8)), ("simulate", ("--nodes", 1))):
        text = " ".join(run(command, cut, *words).split())
        document = json.loads(run(command, cut, *words, "--json"))

        assert unknown in text
        assert "20 jobs of 19.0 days" in text
        assert (document["cut_jobs"], document["peak_devices"]) == (1, 4)
        assert json.loads(run(command, sacct_log(), *words, "--json"))["cut_jobs"] == 0
        cut = sacct_log("2026-07-01T00:00:00")
    assert "As recorded, jobs waited 0 s on average" in run("queue", cut, "--devices", 8)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "8 devices: 4 in use at most at one moment of the log, rounded up to a node of 8."),
        (("--devices-per-node", 2), "4 devices: 4 in use at most at one moment of the log."),
        (("--devices", 8), "fifo: of the usual policies, the closest to the recorded schedule."),
        (
            ("--devices-per-node", 3),
            "6 devices: 4 in use at most at one moment of the log, rounded up to nodes of 3.",
        ),
    ],
)
def test_devices_that_follow_from_those_in_use_say_how_many_these_are(
    run, sacct_log, words, sentence
):
    assert sentence in " ".join(run("queue", sacct_log(), *words).split())


def test_inferred_nodes_without_waits_to_fit_say_how_many_devices_are_in_use(run, sacct_log):
    text = " ".join(run("simulate", sacct_log(), "--devices-per-node", 8).split())

    assert "8 devices: 4 in use at most at one moment of the log, rounded up to a node" in text


@pytest.mark.parametrize(
    "words", [("--policy", "easy"), ("--log-format", "swf"), ("--devices-per-node", 8)]
)
def test_without_a_log_options_of_a_replay_are_an_error(run, words):
    with pytest.raises(UsageError, match=f"{words[0]}: only a job log is replayed"):
        run("queue", "--arrivals-per-hour", 4, "--service-minutes", 30, *words)
