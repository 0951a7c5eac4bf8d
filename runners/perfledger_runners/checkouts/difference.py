"""Compares the files of two checkouts on disk, before anything has run in them."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from perfledger_runners.checkouts.python_code import LINE_NAMES, is_same_code

CHUNK_BYTES = 2**20
PROSE_SUFFIXES = (".md", ".rst")
GIT_FOLDER = ".git"  # of a checkout: it names the commit, and has times


class ContentDifference(StrEnum):
    """How the content of a file differs between the sides."""

    COMMENTS = "comments"  # a Python file with the same code
    PROSE = "prose"  # for people, or git's own
    CONTENT = "content"  # of any other file


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutDifference:
    """What differs between two checkouts, by paths below them.

    `kinds` are the paths that one side lacks, or that are another kind of file there: a folder, an
    executable, a link to another path. `line_readers` are head's Python files whose code may
    depend on line numbers.
    """

    kinds: tuple[str, ...] = ()
    contents: Mapping[str, ContentDifference] = field(default_factory=dict[str, ContentDifference])
    line_readers: frozenset[str] = frozenset()

    @property
    def comments(self) -> tuple[str, ...]:
        """Return the Python files that differ only in comments and layout."""
        return tuple(
            path for path, how in self.contents.items() if how is ContentDifference.COMMENTS
        )


def compare_checkouts(base: Path, head: Path) -> CheckoutDifference:
    """Return what differs between two checkouts. Raises OSError for a file that cannot be read."""
    before, after = dict(_kinds(base)), dict(_kinds(head))
    paths = sorted(before.keys() | after.keys())
    files = [path for path in paths if before.get(path) == after.get(path, "")]
    contents = {
        path: difference
        for path in files
        if after[path].startswith("file")
        and (difference := _content_difference(base / path, head / path)) is not None
    }
    sources = [path for path in files if path.endswith(".py") and after[path].startswith("file")]
    texts = {path: (head / path).read_bytes() for path in sources} if contents else {}
    return CheckoutDifference(
        kinds=tuple(path for path in paths if before.get(path) != after.get(path)),
        contents=contents,
        line_readers=frozenset(path for path, text in texts.items() if LINE_NAMES.search(text)),
    )


def _kinds(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths below a folder with their kinds; links are not followed."""
    for here, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(here, name)
            yield str(path.relative_to(root)), _kind(path)


def _kind(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"link {path.readlink()}"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file, executable" if mode & stat.S_IXUSR else "file"
    return f"other {stat.S_IFMT(mode)}"


def _content_difference(base: Path, head: Path) -> ContentDifference | None:
    if base.stat().st_size == head.stat().st_size and _has_same_bytes(base, head):
        return None
    if head.suffix == ".py" and is_same_code(base.read_bytes(), head.read_bytes()):
        return ContentDifference.COMMENTS
    is_prose = head.suffix in PROSE_SUFFIXES or GIT_FOLDER in head.parts
    return ContentDifference.PROSE if is_prose else ContentDifference.CONTENT


def _has_same_bytes(base: Path, head: Path) -> bool:
    with base.open("rb") as before, head.open("rb") as after:
        while True:
            chunk = before.read(CHUNK_BYTES)
            if chunk != after.read(CHUNK_BYTES):
                return False
            if not chunk:
                return True
