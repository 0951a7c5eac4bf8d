"""`perfledger import` and the costs' `--store` as a user runs them, on files made up here."""

import json
from functools import partial

import pytest

from perfledger_service.errors import NotFoundError, UsageError

SACCT = "JobID|JobName|User|Account|Submit|Start|End|AllocTRES|State\n" + "\n".join(
    f"{year}{month}{day}|train|ann|{'nlp' if day % 3 else 'vision'}"
    f"|{year}-{month:02}-{day:02}T00:00:00|{year}-{month:02}-{day:02}T01:00:00"
    f"|{year}-{month:02}-{day:02}T{8 + month:02}:00:00|cpu=8,gres/gpu=4|COMPLETED"
    for year in (2024, 2025)
    for month in range(1, 13)
    for day in range(1, 29)
)
CURVE = {
    "version": 1,
    "workload": "serve:generate",
    "device": "NVIDIA H100 80GB HBM3",
    "devices": 1,
    "points": [
        {
            "mode": "open",
            "concurrency": None,
            "offered_per_second": rate,
            "batch": 1,
            "completed": 6000,
            "seconds": 6000 / rate,
            "throughput_per_second": rate,
            "latency_p50_s": 0.01 + rate / 5e3,
            "latency_p95_s": 0.02 + rate / 3e3,
            "latency_p99_s": 0.03 + rate / 2e3,
            "latency_p99_low_s": 0.028 + rate / 2e3,
            "latency_p99_high_s": 0.032 + rate / 2e3,
            "memory_bytes": 20_000_000_000,
        }
        for rate in (10.0, 20.0, 40.0, 60.0)
    ],
}


@pytest.fixture
def run(run, database_url):
    return partial(run, COLUMNS="100", PERFLEDGER_DATABASE_URL=database_url)


@pytest.fixture
def accounting(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    return path


@pytest.fixture
def activity(tmp_path):
    metric = {"__name__": "DCGM_FI_DEV_GPU_UTIL", "UUID": "GPU-1", "namespace": "nlp", "pod": "p"}
    values = [[1_790_000_000 + 600 * at, "40"] for at in range(8 * 144)]
    result = [{"metric": metric, "values": values}]
    path = tmp_path / "range.json"
    path.write_text(json.dumps({"data": {"resultType": "matrix", "result": result}}))
    return path


def test_what_is_imported_is_said_and_listed_and_the_same_again_is_nothing_new(run, accounting):
    first = run("import", "usage", accounting, "--source", "west")
    again = run("import", "usage", accounting, "--source", "west")

    assert "sacct.txt: imported as 1 of west: Slurm accounting: 36,288 device-hours" in first
    assert "is there already as 1 of west" in again
    assert run("import", "list").count("sacct.txt") == 1


def test_what_is_removed_is_gone(run, accounting):
    run("import", "usage", accounting)

    assert "import 1 is forgotten" in run("import", "remove", 1)
    assert "nothing was imported yet" in run("import", "list")


def test_the_store_says_the_same_as_the_file(run, accounting, activity, tmp_path):
    curve = tmp_path / "curve.json"
    curve.write_text(json.dumps(CURVE))
    run("import", "usage", accounting)
    run("import", "jobs", accounting)
    run("import", "activity", activity)
    run("import", "load", curve)
    size = ("--p99", "80ms", "--rate", 30)
    asked = (
        (("cost", "forecast"), accounting, ()),
        (("cost", "allocate"), accounting, ("--amount", 1000, "--devices", 4)),
        (("cost", "allocate"), accounting, ("--format", "svg")),
        (("cost", "queue"), accounting, ()),
        (("cost", "simulate"), accounting, ("-p", "fifo", "-p", "easy")),
        (("cost", "utilization"), activity, ()),
        (("cost", "rightsize"), curve, size),
    )

    for command, file, words in asked:
        assert run(*command, "--store", "main", *words) == run(*command, file, *words), command


def test_a_period_is_cut_out_of_what_is_stored(run, activity):
    run("import", "activity", activity)
    days = ("--start", "2026-09-22", "--end", "2026-09-24", "--format", "json")

    found = json.loads(run("cost", "utilization", "--store", "*", *days))

    assert found["start"] == "2026-09-22T00:00:00+00:00"
    assert found["all"]["device_hours"] == pytest.approx(48)


def test_a_period_of_which_nothing_is_told_is_said(run, activity):
    with pytest.raises(UsageError, match="nothing is told of 2020-01-01 to 2020-01-02"):
        run("cost", "utilization", activity, "--start", "2020-01-01", "--end", "2020-01-02")


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (("cost", "utilization"), UsageError, "give files, or --store SOURCE"),
        (("cost", "forecast", "x", "--store", "main"), UsageError, "and not both"),
        (("cost", "simulate", "--store", "main"), NotFoundError, "no jobs of 'main' was imported"),
        (("cost", "allocate", "--store", "main"), NotFoundError, "perfledger import usage FILE"),
        (("cost", "rightsize", "--p99", "1s", "--rate", "1"), UsageError, "and not both"),
        (("import", "remove", "7"), NotFoundError, "no import 7"),
        (
            (
                "cost",
                "rightsize",
                "--p99",
                "1s",
                "--rate",
                "1",
                "--store",
                "a",
                "--latency",
                "ttft",
            ),
            UsageError,
            "--latency is said when",
        ),
    ],
)
def test_what_cannot_be_asked_says_why(run, words, error, says):
    with pytest.raises(error, match=says):
        run(*words)
