"""Reads which lines of a file one commit changed against another."""

import re
from pathlib import Path

from perfledger_runners.checkouts.git import RepositoryError, git

_HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def changed_lines(repository: Path, base: str, head: str, path: str) -> tuple[range, ...]:
    """Return the lines of head's file that base's file lacks, from 1; none for the same file.

    `base` and `head` are commits. Removed lines mark nothing in head. If git cannot compare the
    commits, no line is known to have changed.
    """
    return tuple(filter(None, _hunks(repository, base, head, path)))


def changed_places(repository: Path, base: str, head: str, path: str) -> tuple[range, ...]:
    """Return the same lines, and for removed lines that which precedes them in head's file."""
    hunks = _hunks(repository, base, head, path)
    return tuple(lines or range(max(1, lines.start), max(1, lines.start) + 1) for lines in hunks)


def _hunks(repository: Path, base: str, head: str, path: str) -> tuple[range, ...]:
    """Return head's lines of each hunk; of removed lines an empty range, which starts before."""
    options = ("--unified=0", "--no-ext-diff", "--no-textconv")
    try:
        patch = git(repository, "diff", *options, base, head, "--", path)
    except RepositoryError:
        return ()
    starts = ((int(start), int(count or 1)) for start, count in _HUNK.findall(patch))
    return tuple(range(start, start + count) for start, count in starts)
