"""`perfledger check` as a user runs it: a real repository, real child processes, no server."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytestmark = pytest.mark.slow

CONFIG = """
paths = ["bench"]
margin = 0.3
floor = 0.2
max_pairs = 6
[[fleet]]
workload = "*"
where = "p5.48xlarge/on_demand"
device_hours_per_year = 1000
"""
WORKLOADS = """
import perfledger

@perfledger.workload(unit="additions", units_per_step={additions})
def add():
    numbers = list(range({additions}))
    return lambda: [sum(numbers) for _ in range({times})]

@perfledger.workload()
def steady():
    numbers = list(range(50_000))
    return lambda: sum(numbers)
"""


def workloads(*, times=1, more=""):
    return WORKLOADS.format(additions=20_000, times=times) + more


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    (root / "bench").mkdir(parents=True)
    (root / "perfledger.toml").write_text(CONFIG)
    (root / "bench" / "sums.py").write_text(workloads())
    git(root, "init", "-q", "-b", "main")
    commit(root, "base")
    return root


def git(root, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


def commit(root, message):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def perfledger(root, *arguments, **variables):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PERFLEDGER_", "GITHUB_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "perfledger_service", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env=environment
        | {"XDG_STATE_HOME": str(root.parent / "state"), "COLUMNS": "100"}
        | variables,
    )


def test_an_uncommitted_slowdown_is_a_regression_in_the_right_workload(repository):
    (repository / "bench" / "sums.py").write_text(workloads(times=2))

    done = perfledger(repository, "check", "--format", "json")

    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    slower = [one for one in report["verdicts"] if one["outcome"] == "regressed"]
    assert {one["workload"] for one in slower} == {"bench.sums:add"}
    assert report["head"]["is_dirty"] is True


def test_a_tail_that_the_configuration_asks_for_is_judged_on_enough_steps(repository, tmp_path):
    asking = CONFIG.replace("max_pairs = 6", 'max_pairs = 4\nmetrics = ["step_time_p95"]')
    (repository / "perfledger.toml").write_text(asking)
    commit(repository, "ask for the tail")
    (repository / "bench" / "sums.py").write_text(workloads(times=2))
    bundle = tmp_path / "bundle.json"

    done = perfledger(
        repository, "check", "--workload", "*:add", "--save-bundle", str(bundle), "--format", "json"
    )

    verdicts = {one["metric"]["name"]: one for one in json.loads(done.stdout)["verdicts"]}
    assert verdicts["step_time_p95"]["outcome"] != "not measured", done.stderr
    runs = json.loads(bundle.read_text())["runs"]
    assert min(len(run["samples"]["step_time_p50"]) for run in runs) >= 20


def test_energy_without_a_reading_is_reported_missing(repository):
    asking = CONFIG.replace("max_pairs = 6", 'max_pairs = 4\nmetrics = ["energy_per_step"]')
    (repository / "perfledger.toml").write_text(asking)
    commit(repository, "ask for the energy of a step")
    (repository / "bench" / "sums.py").write_text(workloads(times=2))

    done = perfledger(repository, "check", "--workload", "*:add", "--format", "json")

    verdicts = {one["metric"]["name"]: one for one in json.loads(done.stdout)["verdicts"]}
    assert verdicts["energy_per_step"]["outcome"] == "not measured", done.stdout + done.stderr
    assert "energy_per_step was not read" in verdicts["energy_per_step"]["reason"]


def test_a_cap_in_money_without_a_price_ends_before_anything_is_measured(repository):
    (repository / "bench" / "sums.py").write_text(workloads(times=2))

    done = perfledger(repository, "check", "--budget-usd", "0.5")

    assert done.returncode == 2
    assert "the price of an hour of" in done.stderr
    assert "set device_price to its price in USD per hour" in done.stderr
    assert "measuring pairs" not in done.stderr


def test_a_cap_in_money_is_shown_with_its_price(repository):
    (repository / "bench" / "sums.py").write_text(workloads(times=2))
    money = ("--budget-usd", "0.05", "--device-price", "3600")

    done = perfledger(repository, "check", *money, "--format", "json")

    (note,) = (each for each in json.loads(done.stdout)["notes"] if "measuring was" in each)
    assert "at most 0.05 USD: 0 s of 1 of" in note
    assert done.returncode == 3  # the first pair is finished, and decides nothing


def test_the_bundle_can_be_judged_again_from_its_file(repository, tmp_path):
    bundle = tmp_path / "bundle.json"
    (repository / "bench" / "sums.py").write_text(workloads(times=2))
    perfledger(repository, "check", "--save-bundle", str(bundle), "--workload", "*:add")

    done = perfledger(tmp_path, "report", str(bundle), "--format", "markdown")

    assert done.returncode == 1, done.stderr
    assert "bench.sums:add" in done.stdout
    assert "USD" in done.stdout


def test_what_head_broke_is_not_measured_and_the_others_are(repository):
    git(repository, "switch", "-q", "-c", "change")
    (repository / "bench" / "sums.py").write_text(
        workloads(more="\n@perfledger.workload()\ndef fresh():\n    return lambda: None\n").replace(
            "    numbers = list(range(50_000))", "    raise ValueError('planted')"
        )
    )
    commit(repository, "break one, add one")

    done = perfledger(repository, "check", "--base", "main", "--head", "change", "--format", "json")

    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    outcomes = {one["workload"]: one["outcome"] for one in report["verdicts"]}
    assert outcomes["bench.sums:steady"] == "not measured"
    assert outcomes["bench.sums:add"] != "not measured"
    assert report["new_workloads"] == ["bench.sums:fresh"]
    assert "planted" in done.stdout


def test_workloads_that_moved_are_not_compared_and_said_to_be_elsewhere(repository):
    git(repository, "mv", "bench", "speed")

    done = perfledger(
        repository, "check", "--format", "json", PERFLEDGER_PATHS=json.dumps(["speed"])
    )

    report = json.loads(done.stdout)
    assert done.returncode == 3, done.stderr
    assert (report["title"], report["conclusion"]) == ("Nothing to compare", "failure")
    assert any("base registers bench/sums.py instead" in note for note in report["notes"])


class Refusing(BaseHTTPRequestHandler):
    """A service that takes nothing."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def refusing_service():
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_service_that_takes_no_bundle_costs_no_verdict(repository, tmp_path, refusing_service):
    bundle = tmp_path / "bundle.json"
    (repository / "bench" / "sums.py").write_text(workloads(times=2))

    done = perfledger(
        repository,
        *(
            "check",
            "--workload",
            "*:add",
            "--save-bundle",
            str(bundle),
            "--upload-url",
            refusing_service,
        ),
        PERFLEDGER_UPLOAD_TOKEN="pl_0123abcd_secret",
    )

    assert done.returncode == 4, done.stderr
    assert "Performance regressed" in done.stdout
    assert f"perfledger upload {bundle}" in done.stderr
    assert bundle.exists()


def test_ids_with_brackets_are_listed_in_full(repository):
    (repository / "bench" / "sums.py").write_text(
        "import perfledger\n\n@perfledger.workload(params={'n': [3, 5]})\n"
        "def add(n):\n    return lambda: sum(range(n))\n"
    )

    listed = perfledger(repository, "bench", "list").stdout

    assert "bench.sums:add[n=3]" in listed
    assert "bench.sums:add[n=5]" in listed


def test_nothing_is_left_behind(repository):
    (repository / "bench" / "sums.py").write_text(workloads(times=2))

    perfledger(repository, "check", "--budget", "1s")

    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1
    assert git_status(repository) == " M bench/sums.py\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--workload", "nothing:*"], "matches nothing:*"),
        (["check", "--base", "no-such-branch"], "no-such-branch"),
        (["check", "--device", "abacus"], "device"),
        (["check", "--output", "no/such/report.md"], "there is no folder no/such"),
        (["check", "--output", "bench"], "it is a folder"),
        (["check", "--output", "perfledger.toml/x"], "there is no folder perfledger.toml"),
        (["check", "--output", "x" * 300], "File name too long"),
        (["check", "--save-bundle", "perfledger.toml/bundle.json"], "cannot keep the bundle"),
        (["report", "no-such-file.json"], "no-such-file.json"),
        (["upload", "no-such-file.json"], "PERFLEDGER_UPLOAD_URL"),
        (["check", "--upload-url", "http://ledger.example"], "not https"),
        (["check", "--upload-url", "https://ledger.example"], "PERFLEDGER_UPLOAD_TOKEN is not set"),
    ],
)
def test_a_usage_error_exits_with_code_2(repository, arguments, message):
    (repository / "bench" / "sums.py").write_text(workloads(times=2))

    done = perfledger(repository, *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def git_status(root):
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
