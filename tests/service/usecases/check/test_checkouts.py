"""Checkouts of both revisions, side by side, for as long as a check takes."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger.records import Side
from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.measuring.rounds.progress import NoProgress
from perfledger_service.usecases.check.checkouts import (
    CLOSING_S,
    CLOSING_WORK_S,
    MAX_CLOSING_SHARE,
    check_out_revisions,
    closing_seconds,
)
from perfledger_service.usecases.check.revisions import configuration_of, resolve_revisions

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")


class NoStages(NoProgress):
    def stage(self, name):
        pass


class Stages(NoProgress):
    def __init__(self):
        self.names = []

    def stage(self, name):
        self.names.append(name)


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "main")
    (tmp_path / "perfledger.toml").write_text(f'python = "{sys.executable}"\n')
    (tmp_path / "code.py").write_text("BASE\n")
    git("add", "-A")
    git("commit", "-q", "-m", "base")
    (tmp_path / "code.py").write_text("HEAD\n")
    return Repository.open(tmp_path)


def test_each_side_has_its_own_files_and_nothing_stays(repository):
    sides = resolve_revisions(repository, base="", head="")
    configuration = configuration_of(repository, sides, flags={})

    with check_out_revisions(repository, sides, configuration, NoStages()) as site:
        roots = {side: Path(request.root) for side, request in site.requests.items()}
        code = {side: (root / "code.py").read_text() for side, root in roots.items()}

    assert code == {Side.BASE: "BASE\n", Side.HEAD: "HEAD\n"}
    assert not any(root.exists() for root in roots.values())


def test_checkouts_are_removed_when_a_check_fails(repository):
    sides = resolve_revisions(repository, base="", head="")
    configuration = configuration_of(repository, sides, flags={})
    roots = []

    def fail():
        with check_out_revisions(repository, sides, configuration, NoStages()) as site:
            roots.extend(Path(request.root) for request in site.requests.values())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert len(roots) == 2
    assert not any(root.exists() for root in roots)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("build", "words"), [("true", ["data.bin: in Git LFS"]), ("cp code.py data.bin", [])]
)
def test_large_files_that_a_build_gets_are_no_pointers(repository, build, words):
    folder = repository.root
    (folder / ".gitattributes").write_text("*.bin filter=lfs\n")
    (folder / "data.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
    with (folder / "perfledger.toml").open("a") as file:
        file.write(f'build = "{build}"\n')
    off = ("-c", "filter.lfs.clean=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=0")
    subprocess.run(["git", *off, "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", *IDENTITY, *off, "commit", "-qm", "data"], cwd=folder, check=True)
    sides = resolve_revisions(repository, base="HEAD", head="HEAD")
    configuration = configuration_of(repository, sides, flags={})

    with check_out_revisions(repository, sides, configuration, NoStages()) as site:
        notes = [note.partition(",")[0] for note in site.notes]

    assert notes == words


@pytest.mark.slow
def test_the_second_side_is_not_built_after_a_build_that_hung(repository):
    sides = resolve_revisions(repository, base="HEAD", head="")
    flags = {"build": "exec sleep 3600", "build_timeout": 3}
    configuration = configuration_of(repository, sides, flags=flags)
    stages = Stages()

    with check_out_revisions(repository, sides, configuration, stages) as site:
        failures = {side: str(error) for side, error in site.code.failures.items()}

    assert failures == {
        Side.BASE: "`exec sleep 3600` failed: it did not end within 3 s",
        Side.HEAD: "it was not built, because the build of the other side did not end in time",
    }
    assert stages.names == ["building base, for at most 3 s"]


def test_an_environment_that_head_commits_is_refused(repository):
    (repository.root / ".venv").mkdir()
    (repository.root / ".venv" / "pyvenv.cfg").write_text("")
    for command in (["add", "--force", ".venv"], ["commit", "-q", "-m", "environment"]):
        subprocess.run(["git", *IDENTITY, *command], cwd=repository.root, check=True)
    sides = resolve_revisions(repository, base="HEAD~1", head="HEAD")
    configuration = configuration_of(repository, sides, flags={})

    with (
        pytest.raises(RepositoryError, match=r"head commits \.venv"),
        check_out_revisions(repository, sides, configuration, NoStages()),
    ):
        pass


@pytest.mark.parametrize(
    ("ran_s", "queued_s", "seconds"),
    [
        (2.0, 0.0, CLOSING_S),
        (2.0, math.nan, CLOSING_S),  # not known here
        (0.0, 1.0, CLOSING_S),
        (2.0, 10.0, CLOSING_S + 5 * CLOSING_WORK_S),  # six times as long as on a quiet machine
        (2.0, 2000.0, MAX_CLOSING_SHARE * 100.0),
    ],
)
def test_what_follows_the_last_pair_has_time_in_the_budget(ran_s, queued_s, seconds):
    assert closing_seconds(100.0, ran_s=ran_s, queued_s=queued_s) == pytest.approx(seconds)


def test_children_end_before_the_budget_does(repository):
    sides = resolve_revisions(repository, base="", head="")
    configuration = configuration_of(repository, sides, flags={})

    with check_out_revisions(repository, sides, configuration, NoStages()) as site:
        assert site.harness.ends_at == math.inf
        within = site.within(100.0, began=50.0)

    assert 150.0 - MAX_CLOSING_SHARE * 100.0 <= within.harness.ends_at <= 150.0 - CLOSING_S
