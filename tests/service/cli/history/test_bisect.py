"""`perfledger history bisect` on real repositories, by memory, which no load changes."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_runs")]

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu", unit="{unit}")
def step():
    from package import megabytes
    return lambda: len(bytearray(megabytes * 2**20))
"""
COMMITS, FIRST, BROKEN = 4, 3, 1


class Project:
    """A repository with a commit for each size of what its package allocates."""

    def __init__(self, root):
        self.root = root
        (root / "bench").mkdir()
        self.git("init", "-q", "-b", "main")
        (root / "perfledger.toml").write_text(
            f'python = "{sys.executable}"\npaths = ["bench"]\nmax_pairs = 5\nlock_folder = ""\n'
        )
        (root / "bench" / "work.py").write_text(WORKLOAD.format(unit="steps"))

    def git(self, *arguments):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=self.root, check=True)

    def commit(self, text):
        (self.root / "package.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", f"commit of {text[:12]!r}")


@pytest.fixture
def run_error():
    """Run a command that ends with a wrong usage; return its message."""

    def run(*words):
        done = CliRunner().invoke(app, list(words))
        assert isinstance(done.exception, UsageError), done.output
        return str(done.exception)

    return run


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Project(root)


@pytest.fixture
def history(project):
    """A history with a commit that allocates eight times as much, behind one that is broken."""
    for number in range(COMMITS):
        size = 32 if number >= FIRST else 4
        project.commit("1 /" if number == BROKEN else f"megabytes = {size}  # {number}\n")
    return project


BISECT = ("history", "bisect", "bench.work:step")
BY_MEMORY = ("--metric", "peak_memory", "--budget", "10h")


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("history")
def test_the_commit_is_found_past_one_that_does_not_import(run, tmp_path):
    bundle_path = tmp_path / "bundle.json"

    text = run(
        *BISECT, f"HEAD~{COMMITS - 1}", "HEAD", *BY_MEMORY, "--json", "--save-bundle", bundle_path
    )

    answer = json.loads(text)
    assert (answer["status"], answer["first"], answer["last"]) == ("found", FIRST, FIRST)
    # Two more than halving three commits takes, and one for the skipped commit.
    assert answer["builds"] <= 2 + 2 + 1
    states = [commit["state"] for commit in answer["commits"]]
    assert (states[0], states[-1]) == ("good", "bad")
    (skipped,) = (each for each in answer["commits"] if each["state"] == "skipped")
    assert skipped["reason"].startswith("raised: SyntaxError")
    memory = [v for v in answer["check"]["verdicts"] if v["metric"]["name"] == "peak_memory"]
    assert [verdict["outcome"] for verdict in memory] == ["regressed"]
    assert "perfledger check --base " in answer["command"]
    assert bundle_path.stat().st_size > 0


@pytest.mark.slow(ci_only=True)
def test_equal_ends_are_an_exit_code_of_their_own(project, run):
    for size in (4, 32, 4):
        project.commit(f"megabytes = {size}\n")

    text = run(*BISECT, "HEAD~2", "HEAD", *BY_MEMORY, code=5)

    assert "does not differ between the good and the bad commit" in " ".join(text.split())


@pytest.mark.slow(ci_only=True)
def test_a_limit_in_money_without_a_price_refuses_before_the_search(project, run_error):
    config = project.root / "perfledger.toml"
    config.write_text(config.read_text() + "budget_usd = 1\n")
    for size in (4, 32):
        project.commit(f"megabytes = {size}\n")

    assert "the price of an hour of" in run_error(*BISECT, "HEAD~1", "HEAD", *BY_MEMORY)


@pytest.mark.slow(ci_only=True)
def test_a_limit_in_money_limits_the_search(project, run):
    config = project.root / "perfledger.toml"
    config.write_text(config.read_text() + 'budget_usd = 0.01\ndevice_price = "3600"\n')
    for size in (4, 4, 32):
        project.commit(f"megabytes = {size}\n")

    answer = json.loads(run(*BISECT, "HEAD~2", "HEAD", *BY_MEMORY, "--json", code=3))

    assert answer["budget_s"] == pytest.approx(0.01)
    assert answer["is_out_of_budget"]
    assert any("limited to 0.01 USD" in note for note in answer["notes"])


@pytest.mark.slow(ci_only=True)
def test_a_unit_that_changed_and_a_missing_workload_refuse(project, run_error):
    project.commit("megabytes = 4\n")
    (project.root / "bench" / "work.py").write_text(WORKLOAD.format(unit="tokens"))
    project.commit("megabytes = 32\n")

    assert "1 tokens instead of 1 steps: the two cannot be compared" in run_error(
        *BISECT, "HEAD~1", "HEAD", *BY_MEMORY
    )
    assert "does not register bench.work:other (it registers bench.work:step)" in run_error(
        "history", "bisect", "bench.work:other", "HEAD~1", "HEAD"
    )
    assert "'nothing' is not a metric of a step that is judged: choose one of" in run_error(
        *BISECT, "HEAD~1", "HEAD", "--metric", "nothing"
    )
    assert "swap them" in run_error(*BISECT, "HEAD", "HEAD~1")
