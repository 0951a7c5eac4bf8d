"""Manages the private folders of checks, which last as long as their process, whatever ends it."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "perfledger-check-"
_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")  # as tempfile.mkdtemp names them


@contextmanager
def private_folder() -> Generator[Path]:
    """Create a folder that only this user may enter, and remove it at the end.

    A lock on the folder (flock(2), which the kernel frees when a process ends) marks it as in use.
    Folders that killed processes left are removed first.
    """
    remove_abandoned_folders()
    folder, descriptor = _create_locked()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove_abandoned_folders() -> None:
    """Remove this user's private folders that no process holds; what cannot be removed stays."""
    for folder in _folders():
        with suppress(OSError):
            descriptor = _open(folder)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def is_abandoned(path: Path) -> bool:
    """Return whether a path was in a private folder that no longer exists."""
    return any(_NAME.fullmatch(each.name) and not each.exists() for each in path.parents)


def _folders() -> list[Path]:
    with suppress(OSError):
        return [
            each for each in Path(tempfile.gettempdir()).iterdir() if _NAME.fullmatch(each.name)
        ]
    return []


def _create_locked() -> tuple[Path, int]:
    """Return a new folder and the descriptor that holds its lock.

    Until it is locked, another check may remove it.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            descriptor = _open(folder)
        except FileNotFoundError:
            continue
        with suppress(OSError):  # a file system without locks: nobody removes it then
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
