"""Reads the default branch's first-parent line from GitHub, as far as it is needed.

Bundles claim which commits are on the branch, and arrive in any order: GitHub decides whether they
are on it, and where. What is known already is not asked again.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from perfledger_service.github.branch_commits import BranchCommits

# Of a hundred commits each, where history is linear; the walk of one upload ends here.
MAX_REQUESTS = 100


@dataclass(frozen=True, slots=True)
class BranchLine:
    """Neighbouring commits of the branch, oldest first; `is_newest`: up to its tip."""

    commits: tuple[str, ...]
    is_newest: bool


def read_branch_lines(
    commits: BranchCommits,
    repository: str,
    *,
    known_commits: Sequence[str],
    claimed_commits: Iterable[str],
) -> tuple[BranchLine, ...]:
    """Return the parts of the branch's line that are not known and lead to the claimed commits.

    `known_commits` are of the line, oldest first. Without any, the line is read from the tip down
    to the last claimed commit. Commits that the branch does not have lead to nothing. Raises
    GitHubError.
    """
    known_set = frozenset(known_commits)
    branch = commits.default_branch(repository)
    missing = {
        sha
        for sha in claimed_commits
        if sha not in known_set and commits.is_ancestor(repository, sha, branch)
    }
    if not missing:
        return ()
    walk = _Walk(commits, repository)
    newest = walk.line(branch, stops=known_set, missing=missing)
    is_connected = bool(newest) and newest[0] in known_set
    if known_commits and not (is_connected or walk.is_at_root):
        return ()  # further from what is known than the limit
    lines = [BranchLine(newest, is_newest=True)]
    if missing and is_connected:
        oldest = walk.line(known_commits[0], stops=frozenset(), missing=missing)
        lines.append(BranchLine(oldest, is_newest=False))
    return tuple(lines)


class _Walk:
    """A walk from child to first parent, which asks for a page where it does not know a parent."""

    def __init__(self, commits: BranchCommits, repository: str) -> None:
        self._commits = commits
        self._repository = repository
        self._parents: dict[str, str] = {}
        self._requests = 0
        self.is_at_root = False

    def line(self, start: str, *, stops: Collection[str], missing: set[str]) -> tuple[str, ...]:
        """Return the commits from `start` back, oldest first, and take them out of `missing`.

        The walk ends at a commit of `stops`, which it includes, where nothing is missing, unless it
        has to reach one of them, at the root, and at the limit.
        """
        page = self._page(start)
        line: list[str] = []
        sha = next(iter(page), "")
        while sha:
            line.append(sha)
            missing.discard(sha)
            if sha in stops or not (missing or stops):
                break
            if sha not in self._parents and not self._page(sha):
                break
            sha = self._parents.get(sha, "")
            self.is_at_root = not sha
        return tuple(reversed(line))

    def _page(self, revision: str) -> dict[str, str]:
        if self._requests >= MAX_REQUESTS:
            return {}
        self._requests += 1
        page = self._commits.first_parents(self._repository, revision)
        self._parents.update(page)
        return page
