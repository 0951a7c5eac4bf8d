"""Checkouts come and go; the user's own state and work trees stay."""

import os
import shutil
import threading
import time

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import UnknownRevisionError


def test_a_worktree_holds_the_commit_and_is_gone_afterwards(theirs, tmp_path):
    old = theirs.commit("one", a="1")
    theirs.commit("two", a="2")
    before = theirs.state()

    with theirs.open().worktree(old, tmp_path / "tree") as folder:
        assert (folder / "a.txt").read_text() == "1"
        (folder / "litter").write_text("of a workload")

    assert not (tmp_path / "tree").exists()
    assert theirs.state() == before


def test_a_worktree_is_removed_after_an_exception_too(theirs, tmp_path):
    sha = theirs.commit("one")

    with pytest.raises(ZeroDivisionError), theirs.open().worktree(sha, tmp_path / "tree"):
        raise ZeroDivisionError

    assert not (tmp_path / "tree").exists()
    assert len(theirs.git("worktree", "list").splitlines()) == 1


def test_a_worktree_that_someone_deleted_is_forgotten(theirs, tmp_path):
    sha = theirs.commit("one", a="1")

    with theirs.open().worktree(sha, tmp_path / "tree") as folder:
        folder.rename(tmp_path / "moved away")

    assert len(theirs.git("worktree", "list").splitlines()) == 1


def test_a_worktree_leaves_the_users_other_ones_alone(theirs, tmp_path):
    sha = theirs.commit("one")
    theirs.git("worktree", "add", "--quiet", str(tmp_path / "unplugged"), "-b", "other")
    (tmp_path / "unplugged").rename(tmp_path / "drive")

    with theirs.open().worktree(sha, tmp_path / "tree"):
        pass

    assert "unplugged" in theirs.git("worktree", "list")


def test_a_folder_that_exists_is_not_taken_over(theirs, tmp_path):
    sha = theirs.commit("one")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")

    tree = theirs.open().worktree(sha, tmp_path / "mine")
    with pytest.raises(RepositoryError, match="exists already"), tree:
        pass

    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_only_a_hash_can_be_checked_out(theirs, tmp_path):
    theirs.commit("one")

    tree = theirs.open().worktree("main", tmp_path / "tree")
    with pytest.raises(UnknownRevisionError, match="not a commit's hash"), tree:
        pass


def test_a_hash_that_is_not_there_leaves_nothing_behind(theirs, tmp_path):
    theirs.commit("one")

    tree = theirs.open().worktree("deadbeef" * 5, tmp_path / "tree")
    with pytest.raises(RepositoryError, match="git worktree failed"), tree:
        pass

    assert not (tmp_path / "tree").exists()


@pytest.mark.slow
def test_two_checks_at_once_do_not_collide(theirs, tmp_path):
    theirs.commit("one", a="1")
    theirs.write("a.txt", "2")
    records: list[str] = []

    def check(number: int) -> None:
        repository = theirs.open()
        sha = repository.snapshot().sha
        with repository.worktree(sha, tmp_path / f"check-{number}" / "head") as folder:
            records.append((folder / "a.txt").read_text())

    for number in range(4):
        (tmp_path / f"check-{number}").mkdir()
    threads = [threading.Thread(target=check, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert records == ["2"] * 4
    assert len(theirs.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize(("hours", "remain"), [(25, 1), (23, 2)])
def test_the_record_of_a_killed_check_is_removed_the_next_day(theirs, tmp_path, hours, remain):
    """Until then it may be that of a check on another machine that shares the repository."""
    sha = theirs.commit("here")
    killed = tmp_path / "perfledger-check-abcdefgh" / "checkout"
    theirs.git("worktree", "add", "--detach", "--quiet", str(killed), sha)
    theirs.git("worktree", "add", "--detach", "--quiet", str(tmp_path / "drive"), sha)
    shutil.rmtree(killed.parent)
    shutil.rmtree(tmp_path / "drive")
    long_ago = time.time() - hours * 3600
    for record in (theirs.root / ".git" / "worktrees").glob("*/gitdir"):
        os.utime(record, (long_ago, long_ago))

    with theirs.open().worktree(sha, tmp_path / "new"):
        pass

    names = {path.name for path in (theirs.root / ".git" / "worktrees").iterdir()}
    assert "drive" in names
    assert len(names) == remain
