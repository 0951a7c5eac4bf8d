"""Finds the files of a checkout that were read, by any process and in any way.

The kernel keeps a file's access time. It covers what a hook in Python cannot: child processes,
native code, memory maps and started programs. A file system that is mounted without access times
(`noatime`) or read-only shows no access at all: then nothing may be concluded. A copy made inside
the kernel (`copy_file_range`) leaves no access time on some file systems.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath
from tempfile import NamedTemporaryFile

# Older than any modification time: the kernel's default (`relatime`) then records the next access.
WATCHED_SINCE_NS = 0
BYTECODE_FOLDER = "__pycache__"


def watch_files(root: Path) -> None:
    """Begin to watch the files below a folder; raise OSError if their times cannot be set."""
    for path in _files(root):
        _watch(path)


def records_accesses(folder: Path) -> bool:
    """Return whether a folder's file system records reads of its files.

    Raises OSError if no file can be written there.
    """
    with NamedTemporaryFile(dir=folder, prefix="perfledger-", buffering=0) as file:
        file.write(b"x")
        path = Path(file.name)
        _watch(path)
        path.read_bytes()
        return path.stat().st_atime_ns != WATCHED_SINCE_NS


def _watch(path: Path) -> None:
    times_ns = (WATCHED_SINCE_NS, path.lstat().st_mtime_ns)
    os.utime(path, ns=times_ns, follow_symlinks=False)


def accessed_files(root: Path) -> frozenset[str]:
    """Return the paths of the files that were read, or are new, since `watch_files`."""
    return frozenset(
        str(path.relative_to(root))
        for path in _files(root)
        if path.lstat().st_atime_ns != WATCHED_SINCE_NS
    )


def loaded_sources(accesses: frozenset[str]) -> frozenset[str]:
    """Return the Python files whose source or bytecode was read, pytest's bytecode included."""
    sources = {path for path in accesses if path.endswith(".py")}
    for path in filter(_is_bytecode, map(PurePosixPath, accesses)):
        parts = path.stem.split(".")  # NAME.cpython-312, and NAME may have dots of its own
        names = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        sources |= {str(path.parent.parent / f"{name}.py") for name in names}
    return frozenset(sources)


def _is_bytecode(path: PurePath) -> bool:
    return path.suffix == ".pyc" and path.parent.name == BYTECODE_FOLDER


def _files(root: Path) -> Iterator[Path]:
    """Yield the files below a folder, without links: their targets are read at their own paths."""
    for here, _, names in os.walk(root):
        paths = (Path(here, name) for name in names)
        yield from (path for path in paths if not path.is_symlink())
