"""`perfledger check` as a user runs it: a real repository, real child processes, no server."""

import json
import os
import subprocess
import sys
import threading
from contextlib import chdir
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from perfledger.metrics import STEP_TIME
from perfledger_baselines.judging.work_evidence import DOUBT
from perfledger_service.cli.app import app
from perfledger_service.errors import PerfledgerError, UsageError
from tests.service.short_runs import PROGRAM, short_runs

# Only changes so large are reported: no neighbour on the machine makes or hides one.
CONFIG = """
paths = ["bench"]
margin = 0.9
floor = 0.8
max_pairs = 5
[[fleet]]
workload = "*"
where = "p5.48xlarge/on_demand"
device_hours_per_year = 1000
"""
SLOWER = 20  # times: no neighbour on the machine hides it, however short the runs
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


def make_repository(folder, config=CONFIG):
    """Commit the workloads on main, and return the repository."""
    root = folder / "repository"
    (root / "bench").mkdir(parents=True)
    (root / "perfledger.toml").write_text(config)
    (root / "bench" / "sums.py").write_text(workloads())
    git(root, "init", "-q", "-b", "main")
    commit(root, "base")
    return root


@pytest.fixture
def repository(tmp_path):
    return make_repository(tmp_path)


def git(root, *arguments):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(root, message):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def perfledger(root, *arguments, **variables):
    """Run the command as a process of its own, with short runs."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PERFLEDGER_", "GITHUB_"))
    }
    return subprocess.run(
        [sys.executable, *PROGRAM, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env=environment
        | {"XDG_STATE_HOME": str(root.parent / "state"), "COLUMNS": "100"}
        | variables,
    )


def invoke(root, *arguments, **variables):
    """Run the command in this process; what it measures are real children all the same."""
    unset: dict[str, str | None] = {
        name: None for name in os.environ if name.startswith(("PERFLEDGER_", "GITHUB_"))
    }
    own = {"XDG_STATE_HOME": str(root.parent / "state"), "COLUMNS": "100"}
    with chdir(root):
        return CliRunner().invoke(app, arguments, env=unset | own | variables)


NO_WORK = """
import perfledger

def total(step):
    numbers = list(range(20_000))
    return step or (lambda: float(sum(numbers)))

@perfledger.workload()
def empties():
    return total({empties})

@perfledger.workload()
def poisons():
    return total({poisons})

@perfledger.workload(check=lambda result: {{"sum": result}})
def caches():
    return total({caches})
"""


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("short_runs")
def test_no_work_is_not_fast_unless_the_workloads_own_check_agrees(repository):
    path = repository / "bench" / "sums.py"
    path.write_text(NO_WORK.format(empties=None, poisons=None, caches=None))
    commit(repository, "three sums")
    steps = {
        "empties": "lambda: None",
        "poisons": "lambda: float('nan')",
        "caches": "lambda: 199990000.0",
    }
    path.write_text(NO_WORK.format(**steps))

    done = invoke(repository, "check", "--base", "HEAD", "--format", "json")

    report = json.loads(done.stdout)
    outcomes = {
        one["workload"]: (one["outcome"], one["reason"])
        for one in report["verdicts"]
        if one["metric"]["name"] == "step_time_p50"
    }
    assert done.exit_code == 3, done.stderr
    assert (report["title"], report["conclusion"]) == ("Not measured", "failure")
    for name in ("empties", "poisons"):
        outcome, reason = outcomes[f"bench.sums:{name}"]
        assert outcome == "not measured"
        assert "cannot tell whether head still does the work" in reason
    assert outcomes["bench.sums:caches"][0] == "improved"
    assert any("bench.sums:caches is 100 % faster" in note for note in report["notes"])


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("short_runs")
def test_work_that_is_accepted_is_judged_as_it_is(repository):
    """A busy machine may leave it undecided: then it is no proof of the work that is missing."""
    path = repository / "bench" / "sums.py"
    path.write_text(NO_WORK.format(empties=None, poisons=None, caches=None))
    commit(repository, "three sums")
    path.write_text(NO_WORK.format(empties="lambda: None", poisons=None, caches=None))
    choice = ("--workload", "*:empties")

    done = invoke(
        repository,
        *("check", "--base", "HEAD", "--format", "json", *choice),
        PERFLEDGER_ACCEPTED_WORK=json.dumps(["*:empties"]),
    )

    report = json.loads(done.stdout)
    assert report["title"] in {"Performance improved", "Undecided"}, done.stdout
    assert "does the work" not in done.stdout
    assert not report["failures"]


class Refusing(BaseHTTPRequestHandler):
    """A service that takes nothing."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def refusing_service():
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def slowdown(tmp_path_factory, refusing_service):
    """A check of an uncommitted slowdown, as a process, whose bundle no service takes."""
    root = make_repository(tmp_path_factory.mktemp("slowdown"))
    (root / "bench" / "sums.py").write_text(workloads(times=SLOWER))
    bundle = root.parent / "bundle.json"
    done = perfledger(
        root,
        *("check", "--format", "json", "--save-bundle", str(bundle)),
        *("--upload-url", refusing_service),
        PERFLEDGER_UPLOAD_TOKEN="pl_0123abcd_secret",
    )
    return SimpleNamespace(done=done, bundle=bundle)


@pytest.fixture(scope="module")
def capped(tmp_path_factory):
    """A check that a cap in money ends before its first pair."""
    return checked_for_money(tmp_path_factory, usd="0.05")


@pytest.fixture(scope="module")
def optional(tmp_path_factory):
    """A check within its cap in money, with every metric that can be asked for."""
    return checked_for_money(tmp_path_factory, usd="3600")


def checked_for_money(tmp_path_factory, *, usd):
    """Check a slowdown, by workloads with optional metrics, for so much at a dollar a second."""
    text = 'metrics = ["step_time_p95", "energy_per_step"]\n'
    root = make_repository(tmp_path_factory.mktemp("capped"), text + CONFIG)
    (root / "bench" / "sums.py").write_text(workloads(times=2))
    bundle = root.parent / "bundle.json"
    with short_runs():
        done = invoke(
            root,
            *("check", "--format", "json", "--save-bundle", str(bundle), "--workload", "*:add"),
            *("--budget-usd", usd, "--budget", "1h", "--device-price", "3600"),
        )
    report = json.loads(done.stdout)
    verdicts = {one["metric"]["name"]: one for one in report["verdicts"]}
    return SimpleNamespace(root=root, done=done, bundle=bundle, report=report, verdicts=verdicts)


@pytest.mark.slow
def test_an_uncommitted_slowdown_is_a_regression_in_the_right_workload(slowdown):
    report = json.loads(slowdown.done.stdout)

    slower = [one for one in report["verdicts"] if one["outcome"] == "regressed"]
    assert {one["workload"] for one in slower} == {"bench.sums:add"}
    assert report["head"]["is_dirty"] is True


@pytest.mark.slow
def test_a_service_that_takes_no_bundle_costs_no_verdict(slowdown):
    assert slowdown.done.returncode == 4, slowdown.done.stderr
    assert json.loads(slowdown.done.stdout)["title"] == "Performance regressed"
    assert f"perfledger upload {slowdown.bundle}" in slowdown.done.stderr
    assert slowdown.bundle.exists()


@pytest.mark.slow(ci_only=True)
def test_the_bundle_can_be_judged_again_from_its_file(slowdown, tmp_path):
    done = invoke(tmp_path, "report", str(slowdown.bundle), "--format", "markdown")

    assert done.exit_code == 1, done.output
    assert "bench.sums:add" in done.stdout
    assert "USD" in done.stdout


@pytest.mark.slow
def test_a_cap_in_money_is_shown_with_its_price(capped):
    (note,) = (each for each in capped.report["notes"] if "measuring was" in each)
    assert "limited to 0.05 USD: 0 s of 1 x " in note
    assert capped.done.exit_code == 3
    (verdict,) = capped.verdicts.values()
    assert verdict["outcome"] == "not measured"
    assert "budget" in verdict["reason"]


@pytest.mark.slow(ci_only=True)
def test_a_tail_that_the_configuration_asks_for_is_judged_on_enough_steps(optional):
    runs = json.loads(optional.bundle.read_text())["runs"]

    assert optional.verdicts["step_time_p95"]["estimate"]["pairs"] == 5, optional.done.stderr
    assert min(len(run["samples"]["step_time_p50"]) for run in runs) >= 20


@pytest.mark.slow(ci_only=True)
def test_energy_without_a_reading_is_reported_missing(optional):
    energy = optional.verdicts["energy_per_step"]

    assert energy["outcome"] == "not measured"
    assert "energy_per_step was not read" in energy["reason"]


@pytest.mark.slow
def test_nothing_is_left_behind(capped):
    assert len(git(capped.root, "worktree", "list").splitlines()) == 1
    assert git(capped.root, "status", "--porcelain") == " M bench/sums.py\n"


@pytest.mark.slow(ci_only=True)
def test_a_cap_in_money_without_a_price_ends_before_anything_is_measured(repository):
    (repository / "bench" / "sums.py").write_text(workloads(times=2))

    done = invoke(repository, "check", "--budget-usd", "0.5")

    assert isinstance(done.exception, UsageError)
    assert "the price of an hour of" in str(done.exception)
    assert "set device_price to its price in USD per hour" in str(done.exception)
    assert "measuring pairs" not in done.stderr


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("short_runs")
def test_what_head_broke_is_not_measured_and_the_others_are(tmp_path):
    root = make_repository(tmp_path, 'undecided = "neutral"\n' + CONFIG)
    git(root, "switch", "-q", "-c", "change")
    (root / "bench" / "sums.py").write_text(
        workloads(more="\n@perfledger.workload()\ndef fresh():\n    return lambda: None\n").replace(
            "    numbers = list(range(50_000))", "    raise ValueError('planted')"
        )
    )
    commit(root, "break one, add one")

    done = invoke(
        root,
        *("check", "--base", "main", "--head", "change", "--format", "json"),
    )

    assert done.exit_code == 3, done.stderr
    report = json.loads(done.stdout)
    verdicts = {(one["workload"], one["metric"]["name"]): one for one in report["verdicts"]}
    broken = [one for (workload, _), one in verdicts.items() if workload == "bench.sums:steady"]
    assert {one["outcome"] for one in broken} == {"not measured"}
    added = verdicts["bench.sums:add", STEP_TIME.name]
    # Under load its times may differ by half, which is a doubt.
    assert added["outcome"] in {"unchanged", "undecided"} or DOUBT in added["reason"], added
    assert report["new_workloads"] == ["bench.sums:fresh"]
    assert "planted" in done.stdout


@pytest.mark.slow(ci_only=True)
def test_ids_with_brackets_are_listed_in_full(repository):
    (repository / "bench" / "sums.py").write_text(
        "import perfledger\n\n@perfledger.workload(params={'n': [3, 5]})\n"
        "def add(n):\n    return lambda: sum(range(n))\n"
    )

    listed = invoke(repository, "bench", "list").stdout

    assert "bench.sums:add[n=3]" in listed
    assert "bench.sums:add[n=5]" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["check", "--workload", "nothing:*"],
            "matches --workload nothing:*",
            marks=pytest.mark.slow,
        ),
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

    done = invoke(repository, *arguments)

    assert isinstance(done.exception, PerfledgerError)
    assert done.exception.exit_code == 2
    assert message in str(done.exception)
