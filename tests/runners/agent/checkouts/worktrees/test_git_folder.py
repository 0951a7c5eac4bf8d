"""A checkout's git knows the user's history, and leads to no file of the user's checkout."""

import subprocess

import pytest


def said_by_git(folder, *words):
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(theirs, tmp_path):
    theirs.commit("one", a="1")
    theirs.git("tag", "v1")
    theirs.git("config", "remote.origin.url", "https://me:secret@example.org/o/n.git")
    theirs.git("config", "http.https://example.org/.extraheader", "AUTHORIZATION: basic secret")
    theirs.git("update-ref", "refs/remotes/origin/main", "HEAD")
    theirs.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    sha = theirs.commit("two", a="2")
    with theirs.open().worktree(sha, tmp_path / "tree") as folder:
        yield folder


def test_its_folder_is_its_own(checkout):
    assert said_by_git(checkout, "rev-parse", "--absolute-git-dir") == f"{checkout}/.git"
    assert said_by_git(checkout, "rev-parse", "--git-common-dir") == ".git"


@pytest.mark.parametrize(
    "words",
    [
        ("rev-parse", "HEAD"),
        ("log", "--format=%H %s"),
        ("show", "HEAD~1:a.txt"),
        ("describe", "--tags", "--long"),
        ("for-each-ref",),
        ("symbolic-ref", "refs/remotes/origin/HEAD"),
        ("merge-base", "HEAD", "origin/main"),
    ],
)
def test_git_answers_as_in_the_users_checkout(theirs, checkout, words):
    assert said_by_git(checkout, *words) == said_by_git(theirs.root, *words)


def test_a_fresh_checkout_is_clean(checkout):
    assert said_by_git(checkout, "status", "--porcelain") == ""


def test_credentials_stay_in_the_users_folder(checkout):
    assert said_by_git(checkout, "remote", "get-url", "origin") == "https://example.org/o/n.git"
    assert "secret" not in (checkout / ".git/config").read_text()


def test_what_a_workload_commits_stays_in_its_checkout(theirs, checkout):
    before = theirs.state()
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")

    said_by_git(checkout, *identity, "commit", "--quiet", "--allow-empty", "--message", "three")

    assert theirs.state() == before
