"""Finds files of a commit whose content a checkout lacks.

Of a file in Git LFS the clone may have the pointer alone, and a sparse checkout leaves files out.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from perfledger_runners.checkouts.source_tree import first_few
from perfledger_runners.safe_text import clean_text

ATTRIBUTES = ".gitattributes"
LFS_FILTER = b"filter=lfs"
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
MAX_POINTER_BYTES = 1024  # by the specification, a pointer is no larger
MAX_ATTRIBUTES_BYTES = 2**20
LFS_ADVICE = "`git lfs install` and `git lfs pull` in this clone get the content"


@dataclass(frozen=True, slots=True)
class MissingContent:
    """Files of a commit that a checkout has as pointers of Git LFS, and those that it leaves out.

    A step would work on the pointers, or without the files.
    """

    pointers: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()

    def notes(self) -> tuple[str, ...]:
        """Return the notes on both, with what gets the content."""
        notes: list[str] = []
        if self.pointers:
            notes.append(
                f"{_names_of(self.pointers)}: in Git LFS, and the checkouts have only the "
                f"pointers: {LFS_ADVICE}"
            )
        if self.left_out:
            notes.append(
                f"{_names_of(self.left_out)}: left out, because this clone is a sparse checkout: "
                "both sides ran without them; `git sparse-checkout add` gets a folder"
            )
        return tuple(notes)


def missing_content(checkout: Path, paths: Collection[str]) -> MissingContent:
    """Return which files of a commit a checkout lacks.

    `paths` are the files of the commit; none is examined for Git LFS if nothing declares it.
    """
    left_out = frozenset(path for path in paths if not os.path.lexists(checkout / path))
    if not any(_declares_lfs(checkout / path) for path in paths if _is_attributes(path)):
        return MissingContent(left_out=left_out)
    pointers = frozenset(path for path in paths if _is_pointer(checkout / path))
    return MissingContent(pointers=pointers, left_out=left_out)


def _names_of(paths: Collection[str]) -> str:
    return first_few([clean_text(path) for path in sorted(paths)])


def _is_attributes(path: str) -> bool:
    return PurePosixPath(path).name == ATTRIBUTES


def _declares_lfs(path: Path) -> bool:
    return LFS_FILTER in _beginning(path, MAX_ATTRIBUTES_BYTES)


def _is_pointer(path: Path) -> bool:
    return _beginning(path, MAX_POINTER_BYTES).startswith(POINTER)


def _beginning(path: Path, count: int) -> bytes:
    """Return the first bytes of a file of the commit; b"" for a link or a submodule's folder."""
    try:
        if path.is_symlink():
            return b""
        with path.open("rb") as file:
            return file.read(count)
    except OSError:
        return b""
