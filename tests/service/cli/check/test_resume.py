"""A check that is ended from outside goes on with `--resume`, and is as valid as any other."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Side
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.measuring.rounds.pair_order import pair_order
from tests.service.short_runs import PROGRAM

# The tests of the journal of a check show what it keeps and refuses.
pytestmark = pytest.mark.slow(ci_only=True)

CONFIG = 'paths = ["bench"]\nmargin = 0.9\nfloor = 0.8\nmax_pairs = 5\n'  # no load makes so much
WORKLOAD = """
import perfledger

@perfledger.workload()
def add():
    numbers = list(range(20_000))
    return lambda: sum(numbers)
"""


@pytest.fixture
def command(tmp_path):
    """Return a function that starts a check of an uncommitted change."""
    root = tmp_path / "repository"
    (root / "bench").mkdir(parents=True)
    (tmp_path / "temporary").mkdir()
    (root / "perfledger.toml").write_text(CONFIG)
    (root / "bench" / "sums.py").write_text(WORKLOAD)
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)
    (root / "bench" / "sums.py").write_text(f"{WORKLOAD}CHANGED = True\n")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name == "PERFLEDGER_LOCK_FOLDER" or not name.startswith(("PERFLEDGER_", "GITHUB_"))
    }

    def start(*options):
        words = ["check", "--save-bundle", str(tmp_path / "bundle.json"), *options]
        return subprocess.Popen(
            [sys.executable, *PROGRAM, *words],
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment
            | {"XDG_STATE_HOME": str(tmp_path / "state"), "TMPDIR": str(tmp_path / "temporary")},
        )

    return start


def end_after(process, pairs, number):
    """Send the signal when so many pairs are done; return what the check said last."""
    with process:
        for line in process.stderr:
            if re.match(rf"\s*{pairs} pairs?:", line):
                process.send_signal(number)
                break
        return process.stderr.read()


def test_a_check_that_is_ended_twice_goes_on_where_it_was(command, tmp_path):
    first = command()
    words = end_after(first, 1, signal.SIGTERM)
    second = command("--resume")
    end_after(second, 2, signal.SIGKILL)
    third = command("--resume")
    _, errors = third.communicate()

    assert first.returncode == 143
    assert "to continue with them: perfledger check --save-bundle" in words
    assert words.rstrip().endswith("--resume")
    assert second.returncode == -signal.SIGKILL
    assert third.returncode in {0, 3}, errors
    bundle = read_bundle((tmp_path / "bundle.json").read_bytes())
    saved = next(note for note in bundle.notes if "was interrupted" in note)
    assert int(saved.split("after its first ")[1].split()[0]) >= 2
    assert not list((tmp_path / "state" / "perfledger" / "interrupted").iterdir())
    assert not list((tmp_path / "temporary").glob("perfledger-*"))
    assert_is_valid(bundle)


def assert_is_valid(bundle):
    pairs = len(bundle.plan.order)
    assert bundle.plan.order == pair_order(bundle.plan.seed, pairs)
    assert pairs in bundle.plan.looks
    assert Counter((run.pair, run.side) for run in bundle.runs) == {
        (pair, side): 1 for pair in range(pairs) for side in Side
    }
    assert sorted(run.process for run in bundle.runs) == list(range(2 * pairs))
    verdicts = {verdict.metric.name: verdict for verdict in judge_bundle(bundle)}
    assert Outcome.NOT_MEASURED not in {verdict.outcome for verdict in verdicts.values()}
    assert verdicts[STEP_TIME.name].estimate is not None  # CPU time may lack pairs under load


def test_another_change_is_not_resumed(command, tmp_path):
    end_after(command(), 1, signal.SIGKILL)
    (tmp_path / "repository" / "bench" / "sums.py").write_text(f"{WORKLOAD}CHANGED = False\n")

    again = command("--resume")
    _, errors = again.communicate()

    assert again.returncode == 2
    assert "no interrupted check like this one is saved" in errors
    assert "head was " in errors
