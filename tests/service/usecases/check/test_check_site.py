"""Checkouts of both revisions, side by side, for as long as a check takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from perfledger.records import Side
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.measuring.measured_pair import NoProgress
from perfledger_service.usecases.check.check_site import check_out_revisions
from perfledger_service.usecases.check.revisions import configuration_of, resolve_revisions

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")


class NoStages(NoProgress):
    def stage(self, name):
        pass


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
