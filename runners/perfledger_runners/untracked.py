"""A work tree's untracked files in, those that belong into a snapshot of it out."""

import os
from collections.abc import Mapping
from pathlib import Path

from perfledger_runners.git import RepositoryError, git

# A snapshot stores every new file in the repository's objects: data and models are not meant.
MAX_UNTRACKED_BYTES = 200_000_000
# Marks the top folder of a virtual environment (PEP 405).
ENVIRONMENT_MARK = "pyvenv.cfg"


def untracked_files(root: Path, *, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the new files of the work tree at `root` that .gitignore does not name.

    Virtual environments and repositories inside it are left out. `environment` names the index to
    compare with. Raises RepositoryError when the files have more than MAX_UNTRACKED_BYTES in all.
    """
    listing = git(root, "ls-files", "-z", "--others", "--exclude-standard", environment=environment)
    names = [os.fsdecode(name) for name in listing.split(b"\0") if name]
    paths = [name for name in names if not name.endswith("/")]  # with one: another repository
    environments = _environments(paths)
    chosen = tuple(path for path in paths if not path.startswith(environments))
    _check_size(root, chosen)
    return chosen


def _environments(paths: list[str]) -> tuple[str, ...]:
    """Return the folders, each with its slash, that are virtual environments."""
    folders = [path.removesuffix(ENVIRONMENT_MARK) for path in paths]
    return tuple(
        folder
        for folder, path in zip(folders, paths, strict=True)
        if folder != path and folder.endswith("/")
    )


def _check_size(root: Path, paths: tuple[str, ...]) -> None:
    sizes = {path: _size(root / path) for path in paths}
    total = sum(sizes.values())
    if total <= MAX_UNTRACKED_BYTES:
        return
    largest = max(sizes, key=sizes.__getitem__)
    msg = (
        f"{root} has {total / 1e6:.0f} MB of files that are neither committed nor ignored, and a "
        f"snapshot holds at most {MAX_UNTRACKED_BYTES / 1e6:.0f} MB: add what is no source to "
        f".gitignore; the largest is {largest!r} with {sizes[largest] / 1e6:.0f} MB"
    )
    raise RepositoryError(msg)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # gone since it was listed: git says so, if it matters
        return 0
