"""Finds Git LFS files of which a checkout has the pointer but not the content."""

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from perfledger_runners.checkouts.source_tree import first_few
from perfledger_runners.safe_text import clean_text

ATTRIBUTES = ".gitattributes"
LFS_FILTER = b"filter=lfs"
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
MAX_POINTER_BYTES = 1024  # by the specification, a pointer is no larger
MAX_ATTRIBUTES_BYTES = 2**20


def pointer_notes(checkout: Path, paths: Collection[str]) -> tuple[str, ...]:
    """Return the note on files whose content is missing: a step would work on their pointers.

    `paths` are the files of the commit; none is examined if nothing declares Git LFS.
    """
    if not any(_declares_lfs(checkout / path) for path in paths if _is_attributes(path)):
        return ()
    pointers = [clean_text(path) for path in sorted(paths) if _is_pointer(checkout / path)]
    if not pointers:
        return ()
    note = (
        f"{first_few(pointers)}: in Git LFS, and the checkouts have only the pointers: `git lfs "
        "install` and `git lfs pull` in this clone get the content"
    )
    return (note,)


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
