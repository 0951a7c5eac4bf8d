"""Fetches the commits of a job, and refuses those that a runner must not run.

A fork's code runs on a machine of the project only after somebody with write access to the
repository allowed that exact commit. The service knows who allowed what; the runner checks itself
whether a commit is on a branch of the repository.
"""

from dataclasses import dataclass

from perfledger_runners.checkouts.git import GitFailedError, git
from perfledger_runners.checkouts.repository import SHA, Repository
from perfledger_runners.jobs.runner_job import RunnerJob

BRANCHES = "refs/remotes/origin"


class JobRefusedError(Exception):
    """A job that this runner must not or cannot run, no matter who asks."""


@dataclass(frozen=True, slots=True)
class JobCommits:
    """The commits of a job; without a base, the check chooses one."""

    base: str
    head: str


def fetch_commits(repository: Repository, job: RunnerJob) -> JobCommits:
    """Fetch origin's branches and return the job's commits.

    If the job names none, they are the default branch's current ones. Raises JobRefusedError, and
    RepositoryError if origin does not answer.
    """
    branches = f"+refs/heads/*:{BRANCHES}/*"
    git(repository.root, "fetch", "--quiet", "--prune", "--no-tags", "origin", branches)
    if not job.head_sha:
        newest = repository.resolve(repository.default_branch()).sha
        return JobCommits(base=newest if job.kind.is_of_device else "", head=newest)
    if not _is_on_branch(repository, job.head_sha):
        _fetch_allowed_fork(repository, job)
    if job.base_sha and not _is_on_branch(repository, job.base_sha):
        msg = f"the base {job.base_sha} is on no branch of origin"
        raise JobRefusedError(msg)
    return JobCommits(base=job.base_sha, head=job.head_sha)


def _fetch_allowed_fork(repository: Repository, job: RunnerJob) -> None:
    """Fetch a pull request's head from a fork; raise JobRefusedError unless it is allowed."""
    if not job.allows_fork or job.pull_request is None:
        msg = (
            f"{job.head_sha} is on no branch of origin: a fork's commit runs only after "
            "`/perfledger allow COMMIT` by somebody with write access"
        )
        raise JobRefusedError(msg)
    git(
        repository.root,
        "fetch",
        "--quiet",
        "--no-tags",
        "origin",
        f"refs/pull/{job.pull_request}/head",
    )
    newest = git(repository.root, "rev-parse", "FETCH_HEAD").decode().strip()
    if newest != job.head_sha:
        msg = f"pull request #{job.pull_request} has a newer head: {newest}"
        raise JobRefusedError(msg)


def _is_on_branch(repository: Repository, sha: str) -> bool:
    if not SHA.fullmatch(sha):
        msg = f"{sha[:80]!r} is not a commit's hash (40 hex digits)"
        raise JobRefusedError(msg)
    try:
        refs = git(repository.root, "for-each-ref", "--count=1", "--contains", sha, BRANCHES)
    except GitFailedError:  # no such object here
        return False
    return bool(refs.strip())
