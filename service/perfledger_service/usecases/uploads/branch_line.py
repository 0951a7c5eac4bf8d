"""Reads the default branch's first-parent line from GitHub, as far as needed.

Bundles claim which commits are on the branch, and arrive in any order: GitHub decides whether they
are on it, and where. Known parts are not requested again.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from perfledger_service.github.branch_commits import BranchCommits

# A page has a hundred commits if history is linear; the walk for one upload stops here.
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
    """Return the unknown parts of the branch's line that lead to the claimed commits.

    `known_commits` are on the line, oldest first. If there are none, the line is read from the tip
    down to the last claimed commit. Commits that are not on the branch lead to nothing. Raises
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
        return ()  # further from the known commits than the limit
    lines = [BranchLine(newest, is_newest=True)]
    if missing and is_connected:
        oldest = walk.line(known_commits[0], stops=frozenset(), missing=missing)
        lines.append(BranchLine(oldest, is_newest=False))
    return tuple(lines)


class _Walk:
    """A walk from child to first parent, requesting a page whenever a parent is unknown."""

    def __init__(self, commits: BranchCommits, repository: str) -> None:
        self._commits = commits
        self._repository = repository
        self._parents: dict[str, str] = {}
        self._requests = 0
        self.is_at_root = False

    def line(self, start: str, *, stops: Collection[str], missing: set[str]) -> tuple[str, ...]:
        """Return the commits from `start` back, oldest first, and take them out of `missing`.

        The walk ends at a commit of `stops`, which it includes; at the root; at the limit; and,
        unless it has to reach one of `stops`, once nothing is missing.
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
