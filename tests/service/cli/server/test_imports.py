"""`perfledger server import` and `--source` as a user runs them, on made-up files."""

import json
from functools import partial

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
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


def test_an_import_is_listed_once_however_often_it_is_made(run, accounting):
    first = run("server", "import", "usage", accounting, "--source", "west")
    again = run("server", "import", "usage", accounting, "--source", "west")

    assert "sacct.txt: imported as 1 of west: Slurm accounting: 36,288 device-hours" in first
    assert "is already imported as 1 of west" in again
    assert run("server", "import", "list").count("sacct.txt") == 1


def test_an_import_in_json_has_the_row_of_the_list(run, accounting):
    imported = json.loads(run("server", "import", "usage", accounting, "--json"))

    listed = json.loads(run("server", "import", "list", "--json"))
    assert imported["imports"] == [{**listed["imports"][0], "is_new": True}]


def test_files_before_a_rejected_one_are_reported(accounting, tmp_path, database_url):
    page = tmp_path / "page.csv"
    page.write_text("<html>")
    words = ("server", "import", "usage", str(accounting), str(page))

    done = CliRunner().invoke(app, words, env={"PERFLEDGER_DATABASE_URL": database_url})

    assert isinstance(done.exception, UsageError)
    assert "sacct.txt: imported as 1 of main" in done.stdout


def test_a_removed_import_is_gone(run, accounting):
    run("server", "import", "usage", accounting)

    assert "Import 1 is removed." in run("server", "import", "remove", 1)
    assert "No imported files yet; to import one: perfledger server import usage FILE" in run(
        "server", "import", "list"
    )


@pytest.mark.slow(ci_only=True)
def test_an_imported_file_has_the_same_report_as_the_file(run, accounting, activity, tmp_path):
    curve = tmp_path / "curve.json"
    curve.write_text(json.dumps(CURVE))
    run("server", "import", "usage", accounting)
    run("server", "import", "jobs", accounting)
    run("server", "import", "activity", activity)
    run("server", "import", "load", curve)
    size = ("--p99", "80ms", "--request-rate", 30)
    commands = (
        (("fleet", "forecast"), accounting, ()),
        (("fleet", "allocate"), accounting, ("--amount-usd", 1000, "--devices", 4)),
        (("fleet", "allocate"), accounting, ("--format", "svg")),
        (("plan", "queue"), accounting, ()),
        (("plan", "simulate"), accounting, ("--policy", "fifo", "--policy", "easy")),
        (("fleet", "utilization"), activity, ()),
        (("plan", "rightsize"), curve, size),
    )

    for command, file, words in commands:
        assert run(*command, "--source", "main", *words) == run(*command, file, *words), command


def test_a_period_limits_an_imported_file(run, activity):
    run("server", "import", "activity", activity)
    days = ("--start", "2026-09-22", "--end", "2026-09-24", "--format", "json")

    document = json.loads(run("fleet", "utilization", "--source", "*", *days))

    assert document["start"] == "2026-09-22T00:00:00+00:00"
    assert document["total"]["device_hours"] == pytest.approx(48)


def test_a_period_without_activity_is_an_error(run, activity):
    with pytest.raises(UsageError, match="no activity from 2020-01-01 to 2020-01-02: choose days"):
        run("fleet", "utilization", activity, "--start", "2020-01-01", "--end", "2020-01-02")


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("fleet", "utilization"), UsageError, "give either files or --source NAME"),
        (("fleet", "forecast", "x", "--source", "main"), UsageError, "either files or"),
        (("plan", "simulate", "--source", "main"), NotFoundError, "no jobs of 'main' was imported"),
        (
            ("fleet", "allocate", "--source", "main"),
            NotFoundError,
            "perfledger server import usage FILE",
        ),
        (
            ("plan", "rightsize", "--p99", "1s", "--request-rate", "1"),
            UsageError,
            "either files or",
        ),
        (("server", "import", "remove", "7"), NotFoundError, "no import 7"),
        (
            (
                "plan",
                "rightsize",
                "--p99",
                "1s",
                "--request-rate",
                "1",
                "--source",
                "a",
                "--latency-metric",
                "ttft",
            ),
            UsageError,
            "--latency-metric applies when",
        ),
    ],
)
def test_a_usage_error_says_why(run, words, error, message):
    with pytest.raises(error, match=message):
        run(*words)
