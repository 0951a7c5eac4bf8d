"""Pairs of real commits: which are built, which are left out, and why."""

import subprocess
import sys
from dataclasses import replace

import pytest

from perfledger_runners.checkouts.commit_range import commit_range
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.environments.build import BuildError
from perfledger_runners.machine.core_reservation import CoreReservation
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_runners.measuring.rounds.progress import NoProgress
from perfledger_service.errors import UsageError
from perfledger_service.usecases.check.checkouts import CheckoutFolder, open_checkouts
from perfledger_service.usecases.check.revisions import RevisionPair, configuration_of
from perfledger_service.usecases.history.commit_pairs import (
    CommitMeasurements,
    CommitPair,
    SkippedCommit,
)

pytestmark = pytest.mark.slow

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu", unit="{unit}")
def step():
    return lambda: sum(range(1000))
"""
GOOD = WORKLOAD.format(unit="steps")
TEXTS = (GOOD, "1 /", "", WORKLOAD.format(unit="tokens"), GOOD + "    # a comment\n", GOOD)


class Stages(NoProgress):
    """The stages that were reported."""

    def __init__(self):
        self.names = []

    def stage(self, name):
        self.names.append(name)


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "main")
    (tmp_path / "perfledger.toml").write_text(f'python = "{sys.executable}"\npaths = ["w.py"]\n')
    for text in TEXTS:
        (tmp_path / "w.py").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "a change")
    return Repository.open(tmp_path)


@pytest.fixture
def stages():
    return Stages()


@pytest.fixture
def measurements(repository, stages):
    """Return a function that opens the measurements of the commits to `bad`."""

    def open_to(bad):
        commits = commit_range(repository, f"HEAD~{len(TEXTS) - 1}", bad)
        sides = RevisionPair(base=commits[0], head=commits[-1])
        configuration = configuration_of(repository, sides, flags={})
        return open_checkouts(repository, sides, configuration, stages), commits

    return open_to


@pytest.mark.slow(ci_only=True)
def test_commits_are_built_once_and_left_out_with_a_reason(measurements, stages):
    opened, commits = measurements("HEAD")
    with (
        opened as checkouts,
        CommitMeasurements(
            checkouts=checkouts,
            commits=commits,
            workload="w:step",
            progress=stages,
            locks=DeviceLocks(folder="", waiting=stages.stage),
            cores=CoreReservation(),
            seed=1,
        ) as measured,
    ):
        broken, absent, other_unit = (measured.measure(0, commit) for commit in (1, 2, 3))
        pairs = [measured.measure(*ends) for ends in ((0, 4), (4, 5), (0, 5))]
        builds = measured.builds

    assert isinstance(broken, SkippedCommit)
    assert broken.commit == 1
    assert "does not register w:step (w.py: " in broken.reason
    assert absent == SkippedCommit(2, "does not register w:step")
    assert isinstance(other_unit, SkippedCommit)
    assert "1 tokens instead of 1 steps" in other_unit.reason
    assert all(isinstance(pair, CommitPair) for pair in pairs)
    # The last commit has the files of the first, and shares its checkout.
    assert builds == 3
    assert len([name for name in stages.names if name.startswith("checking out commit")]) == 5


@pytest.mark.slow(ci_only=True)
def test_an_end_that_cannot_be_measured_is_a_wrong_use(measurements, stages):
    opened, commits = measurements("HEAD~3")
    with (
        opened as checkouts,
        CommitMeasurements(
            checkouts=checkouts,
            commits=commits,
            workload="w:step",
            progress=stages,
            locks=DeviceLocks(folder="", waiting=stages.stage),
            cores=CoreReservation(),
            seed=1,
        ) as measured,
        pytest.raises(UsageError, match=r"the bad commit .* does not register .*--workloads-from"),
    ):
        measured.measure(0, 2)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("failed", [0, 1], ids=["base", "head"])
def test_a_commit_whose_environment_cannot_be_built_again_is_left_out(
    measurements, stages, failed, monkeypatch
):
    def not_again(_folder, *checkouts_and_stack):
        sides = list(checkouts_and_stack[:2])
        error = BuildError("the index has no such package any more")
        code = replace(sides[failed].code, failure=error)
        sides[failed] = replace(sides[failed], code=code)
        return tuple(sides)

    monkeypatch.setattr(CheckoutFolder, "comparable", not_again)
    opened, commits = measurements("HEAD")
    with (
        opened as checkouts,
        CommitMeasurements(
            checkouts=checkouts,
            commits=(*commits[:1], commits[4], commits[4], commits[5]),
            workload="w:step",
            progress=stages,
            locks=DeviceLocks(folder="", waiting=stages.stage),
            cores=CoreReservation(),
            seed=1,
        ) as measured,
    ):
        skipped = measured.measure(1, 2)

    assert skipped == SkippedCommit(1 + failed, "the index has no such package any more")
