"""Tests with real repositories which commits a runner fetches, and which it refuses."""

import subprocess

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.jobs.commits import JobRefusedError, fetch_commits
from perfledger_runners.jobs.runner_job import RunnerJobKind


class Origin:
    """A bare repository at a forge, and a clone of it on a runner."""

    def __init__(self, folder):
        self.folder, self.work = folder / "origin", folder / "work"
        self.git(folder, "init", "--quiet", "--initial-branch=main", str(self.work))
        self.first = self.commit("first")
        self.git(folder, "clone", "--quiet", "--bare", str(self.work), str(self.folder))
        self.git(folder, "clone", "--quiet", str(self.folder), str(folder / "clone"))
        self.clone = Repository.open(folder / "clone")

    def git(self, folder, *words):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
        done = subprocess.run(
            ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, text):
        (self.work / "file").write_text(text)
        self.git(self.work, "add", ".")
        self.git(self.work, "commit", "--quiet", "--message", text)
        return self.git(self.work, "rev-parse", "HEAD")

    def push(self, text, ref="refs/heads/main"):
        sha = self.commit(text)
        self.git(self.work, "push", "--quiet", "--force", str(self.folder), f"HEAD:{ref}")
        return sha


@pytest.fixture
def origin(tmp_path):
    return Origin(tmp_path)


def test_commits_on_branches_are_fetched(origin, make_job):
    head = origin.push("second", "refs/heads/feature")
    commits = fetch_commits(origin.clone, make_job(base_sha=origin.first, head_sha=head))

    assert (commits.base, commits.head) == (origin.first, head)
    assert origin.clone.resolve(head).sha == head


@pytest.mark.parametrize("kind", [RunnerJobKind.NIGHTLY, RunnerJobKind.CANARY])
def test_without_commits_it_is_the_newest_one_of_the_default_branch(origin, make_job, kind):
    head = origin.push("second")
    commits = fetch_commits(origin.clone, make_job(kind=kind))

    assert commits.head == head
    assert commits.base == (head if kind is RunnerJobKind.CANARY else "")


def test_a_fork_runs_only_where_that_commit_is_allowed(origin, make_job):
    head = origin.push("foreign", "refs/pull/7/head")
    job = make_job(head_sha=head, pull_request=7)

    with pytest.raises(JobRefusedError, match="/perfledger allow COMMIT"):
        fetch_commits(origin.clone, job)
    allowed = make_job(head_sha=head, pull_request=7, allows_fork=True)
    assert fetch_commits(origin.clone, allowed).head == head


def test_an_allowance_ends_with_the_next_push(origin, make_job):
    allowed = make_job(
        head_sha=origin.push("foreign", "refs/pull/7/head"), pull_request=7, allows_fork=True
    )
    origin.push("worse", "refs/pull/7/head")

    with pytest.raises(JobRefusedError, match="newer head"):
        fetch_commits(origin.clone, allowed)


def test_an_allowance_is_of_the_head_and_not_of_any_base(origin, make_job):
    foreign = origin.push("foreign", "refs/pull/8/head")
    job = make_job(base_sha=foreign, head_sha=origin.first, pull_request=8, allows_fork=True)

    with pytest.raises(JobRefusedError, match="is on no branch of origin"):
        fetch_commits(origin.clone, job)


@pytest.mark.parametrize("sha", ["main", "--all", "f" * 40])
def test_what_is_no_commit_of_the_repository_is_refused(origin, make_job, sha):
    with pytest.raises(JobRefusedError):
        fetch_commits(origin.clone, make_job(head_sha=sha))


def test_an_origin_that_does_not_answer_is_no_refusal(origin, make_job):
    origin.folder.rename(origin.folder.with_name("elsewhere"))

    with pytest.raises(RepositoryError, match="git fetch failed"):
        fetch_commits(origin.clone, make_job())
