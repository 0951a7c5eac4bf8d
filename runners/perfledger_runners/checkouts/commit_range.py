"""Lists the commits of a branch between two of its revisions."""

from perfledger.records import Revision, short_sha
from perfledger_runners.checkouts.git import RepositoryError, git
from perfledger_runners.checkouts.repository import MAX_SUBJECT, Repository
from perfledger_runners.safe_text import clean_text

MAX_COMMITS = 10_000  # between GOOD and BAD of a bisection


class CommitRangeError(RepositoryError):
    """Two revisions without a range of commits from one to the other."""


def commit_range(repository: Repository, good: str, bad: str) -> tuple[Revision, ...]:
    """Return the first-parent commits from `good` to `bad`, both included, the oldest first.

    A merge is one commit: the commits that it merged are not searched. Raises UnknownRevisionError,
    and CommitRangeError unless `good` is a first-parent ancestor of `bad`.
    """
    first, last = repository.resolve(good), repository.resolve(bad)
    if first.sha == last.sha:
        msg = (
            f"{good!r} and {bad!r} are the same commit ({short_sha(first.sha)}): there is no range"
        )
        raise CommitRangeError(msg)
    if repository.merge_base(good, bad) != first.sha:
        hint = (
            f"swap them: {bad!r} is the older one"
            if repository.merge_base(good, bad) == last.sha
            else f"their common ancestor is {short_sha(repository.merge_base(good, bad))}"
        )
        msg = f"{good!r} is not an ancestor of {bad!r}: {hint}"
        raise CommitRangeError(msg)
    lines = _first_parents(repository, f"{first.sha}..{last.sha}")
    if len(lines) > MAX_COMMITS:
        msg = f"{len(lines)} commits from {good!r} to {bad!r}: at most {MAX_COMMITS} are searched"
        raise CommitRangeError(msg)
    parents = lines[0].partition("\t")[0].split()[1:]
    if first.sha not in parents[:1]:
        advice = (
            f"give {short_sha(parents[0])}, the last commit of the branch before it"
            if parents
            else "no commit of the branch is before it; search the branch that it is on"
        )
        msg = f"{good!r} was merged into the branch of {bad!r} and is not on it: {advice}"
        raise CommitRangeError(msg)
    return (first, *map(_revision, lines[:-1]), last)


def merged_range(repository: Repository, sha: str) -> tuple[Revision, ...]:
    """Return the first-parent commits of the branch that a merge merged, the oldest first.

    The first one is the branch's commit before them, so that `commit_range` returns the same. ()
    for a commit that is no merge, or one of several branches or of a history of its own.
    """
    match git(repository.root, "rev-list", "--parents", "-1", sha).decode().split():
        case [_, before_merge, branch]:
            lines = _first_parents(repository, f"{before_merge}..{branch}")
        case _:
            return ()
    before = lines[0].partition("\t")[0].split()[1:2] if lines else []
    return (*(Revision(sha=each) for each in before), *map(_revision, lines)) if before else ()


def _first_parents(repository: Repository, revisions: str) -> list[str]:
    """Return the first-parent commits of a range: hash and parents, a tab, and the subject."""
    listing = git(
        repository.root,
        *("log", "--first-parent", "--reverse", "--no-show-signature", "-z"),
        *("--format=%H %P%x09%s", revisions),
    )
    return [line for line in listing.decode(errors="replace").split("\0") if line]


def _revision(line: str) -> Revision:
    shas, _, subject = line.partition("\t")
    return Revision(sha=shas.split()[0], subject=clean_text(subject)[:MAX_SUBJECT])
