"""`perfledger bench load` as a user runs it: a real repository, real child processes."""

import csv
import fcntl
import json
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from perfledger.load import Load
from perfledger_runners.machine.device_locks import HOST, lock_file
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, NotMeasuredError, UsageError
from perfledger_service.usecases.bench.load import LoadRequest, measure_load, read_arrivals

pytestmark = pytest.mark.usefixtures("short_runs")

WORKLOADS = """
import time
import perfledger

@perfledger.workload(params={"batch": [1], "size": [3]})
def naps(batch, size):
    if batch == 64:
        raise MemoryError
    return lambda: time.sleep(0.002 * batch)

@perfledger.workload(params={"size": [1, 2]})
def sizes(size):
    return lambda: None

@perfledger.workload(variants=["eager", "jit"])
def kinds():
    return sum, ([1, 2],)

@perfledger.workload()
def breaks():
    return lambda: 1 / 0
"""
REQUIRED = (
    *("mode", "concurrency", "offered_per_second", "batch", "completed", "seconds"),
    *("throughput_per_second", "latency_p50_s", "latency_p95_s", "latency_p99_s"),
    *("latency_p99_low_s", "latency_p99_high_s", "memory_bytes"),
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    root = tmp_path / "repository"
    (root / "benchmarks").mkdir(parents=True)
    (root / "benchmarks" / "w.py").write_text(WORKLOADS)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run():
    def run(*words, status=0):
        done = CliRunner().invoke(app, ["bench", "load", *map(str, words)], env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == status, done.output
        return done.stdout

    return run


@pytest.mark.slow(ci_only=True)
def test_a_load_is_a_table_a_curve_and_a_picture(repository, run):
    words = (
        "--concurrency",
        "1,2",
        "--request-rate",
        "100",
        "--seconds-per-point",
        "0.3",
        "--batch",
        "1,2",
    )
    output = run("benchmarks.w:naps", *words, "--save-curve", "c.json", "--save-chart", "c.svg")

    curve = json.loads((repository / "c.json").read_text())
    assert "benchmarks.w:naps[size=3] on " in output
    assert max(map(len, output.splitlines())) <= 80
    assert (curve["version"], curve["workload"]) == (1, "benchmarks.w:naps[size=3]")
    assert (curve["devices"], curve["servers"]) == (1, 1)
    assert [point["batch"] for point in curve["points"]] == [1, 1, 1, 2, 2, 2]
    assert all(set(REQUIRED) <= set(point) for point in curve["points"])
    first, second, opened = curve["points"][:3]
    assert (first["mode"], first["concurrency"], first["offered_per_second"]) == ("closed", 1, None)
    assert (opened["mode"], opened["concurrency"]) == ("open", None)
    assert opened["offered_per_second"] == pytest.approx(100.0)
    assert second["latency_p50_s"] >= 0.004
    assert first["service_p50_s"] >= 0.002
    assert ElementTree.fromstring((repository / "c.svg").read_text()).tag.endswith("svg")


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_a_repeated_rate_is_one_point_of_all_its_requests(run):
    words = ("--request-rate", "100,50x3", "--seconds-per-point", "0.4", "--format", "csv")

    rows = list(csv.DictReader(run("benchmarks.w:naps", *words).splitlines()))

    assert [float(row["offered_per_second"]) for row in rows] == [100.0, 50.0]
    assert [row["completed"] for row in rows] == ["40", "60"]
    assert float(rows[1]["seconds"]) == pytest.approx(1.2)


@pytest.mark.slow(ci_only=True)
def test_arrivals_are_replayed_and_written_as_csv(repository, run):
    (repository / "times").write_text("100.3\n100\n\n100.1\n100.2\n")

    output = run("benchmarks.w:naps", "--arrival-times", "times", "--format", "csv")

    (row,) = csv.DictReader(output.splitlines())
    assert (row["mode"], row["concurrency"], row["completed"]) == ("open", "", "4")
    assert float(row["offered_per_second"]) == pytest.approx(10.0)


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_a_batch_that_fails_is_reported_and_the_others_are_measured(run):
    words = ("--concurrency", "1", "--seconds-per-point", "0.05", "--batch", "1,64")

    text = " ".join(run("benchmarks.w:naps", *words, status=3).split())

    assert "1 client" in text
    assert "benchmarks.w:naps[batch=64,size=3] ran out of memory: MemoryError" in text


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_requests_that_are_given_up_have_no_latencies(run):
    words = ("--concurrency", "1", "--request-rate", "5000", "--seconds-per-point", "0.1")

    output = run("benchmarks.w:naps", *words)

    assert "were never served: the rate is above the capacity" in " ".join(output.split())
    assert "5,000/s" not in output


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_a_name_without_a_variant_is_the_step_as_it_is_written(run):
    output = run("benchmarks.w:kinds", "--concurrency", "1", "--seconds-per-point", "0.1")

    assert output.startswith("benchmarks.w:kinds on ")


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (
            ["benchmarks.w:gone"],
            NotFoundError,
            "no workload benchmarks.w:gone: perfledger bench list",
        ),
        (["benchmarks.w:sizes"], UsageError, r"several workloads; choose one of .*\[size=1\]"),
        (["benchmarks.w:sizes", "--batch", "2"], NotFoundError, "it has no parameter 'batch'"),
        (["benchmarks.w:kinds[variant=jit]"], NotMeasuredError, "variant 'jit' transforms steps"),
        (["benchmarks.w:breaks"], NotMeasuredError, "raised an error: ZeroDivisionError"),
    ],
)
def test_a_workload_that_cannot_be_loaded_is_an_error(run, words, error, message):
    with pytest.raises(error, match=message):
        run(*words, "--concurrency", "1", "--seconds-per-point", "0.1")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--concurrency", "1,x"], "--concurrency x: give numbers separated by commas"),
        (["--concurrency", "0"], "--concurrency 0: give numbers of 1 to 1024"),
        (["--concurrency", "2,2"], "each only once"),
        (["--batch", "0"], "--batch 0: give numbers of 1"),
        (["--request-rate", "nan"], "--request-rate NaN for 10 s"),
        (["--request-rate", "0.01"], "at least one request"),
        (["--request-rate", "10x0"], "--request-rate 10x0: give 1 to 99 times"),
        (["--request-rate", "x8"], "give numbers separated by commas"),
        (["--request-rate", "10xx"], "give numbers separated by commas"),
        (["--request-rate", "10x1000000000"], "give 1 to 99 times"),
        (["--request-rate", "10x60,20x60"], "more than 99 points"),
        (["--request-rate", "1e9"], "at most 1,000,000 a second"),
        (["--request-rate", ",".join(map(str, range(1, 101)))], "more than 99 points"),
        (["--seconds-per-point", "nan"], "NaN seconds a point"),
        (["--seconds-per-point", "1e9"], "give 0.01 to 3,600"),
        (["--servers", "0"], "0 servers: give 1 to 64"),
    ],
)
def test_a_load_that_cannot_be_is_refused_before_anything_starts(run, words, message):
    with pytest.raises(UsageError, match=message):
        run("benchmarks.w:naps", *words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 arrivals: give 2 to 20000"),
        ("1\n", "1 arrivals"),
        ("1\n1\n", "has 2 arrivals: give 2 to 20000 that span more than 0"),
        ("0\n1e9\n", "at most 3,600 s"),
        ("0\nsoon\n", "line 2: 'soon' is not a number of seconds"),
        ("0\nnan\n", "line 2"),
        ("0\n\x1b[31m\n", "line 2"),
        ("".join(f"{n}e-3\n" for n in range(20_001)), "20001 arrivals"),
    ],
)
def test_arrivals_that_cannot_be_replayed_are_refused(tmp_path, text, message):
    path = tmp_path / "times"
    path.write_text(text)

    with pytest.raises(UsageError, match=message):
        read_arrivals(path)


def test_arrivals_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "times"
    path.write_bytes(b"\xff1\n")

    with pytest.raises(UsageError, match=r"line 1, is not UTF-8 text: save it as UTF-8"):
        read_arrivals(path)


@pytest.mark.slow(ci_only=True)
def test_the_exit_code_of_what_is_not_measured_is_three(repository):
    environment = {name: value for name, value in os.environ.items() if "PERFLEDGER" not in name}
    command = [sys.executable, "-m", "perfledger_service", "bench", "load", "benchmarks.w:breaks"]

    done = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, check=False
    )

    assert done.returncode == 3
    assert b"not measured: benchmarks.w:breaks raised an error" in done.stderr


class Waits:
    """Remembers why a load test waits, and lets it go on."""

    def __init__(self, go_on):
        self.reasons = []
        self.go_on = go_on

    def stage(self, name):
        self.reasons.append(name)
        self.go_on()

    def loading(self, workload):
        pass

    def point_done(self, served):
        pass


@pytest.mark.slow(ci_only=True)
def test_a_load_test_waits_for_a_check_that_measures(repository, monkeypatch):
    monkeypatch.setenv("PERFLEDGER_LOCK_FOLDER", str(repository))
    load = Load(concurrency=(1,), seconds=0.1)
    with lock_file(repository, HOST).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waits = Waits(lambda: fcntl.flock(lock, fcntl.LOCK_UN))
        measured = measure_load(
            repository, LoadRequest(workload="benchmarks.w:naps"), load, progress=waits
        )

    wait = "waiting for another perfledger check on the cores of this machine"
    assert waits.reasons == [f"{wait}, for at most 60 minutes"]
    assert len(measured.points) == 1
