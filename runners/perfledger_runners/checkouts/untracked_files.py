"""Lists the untracked files of a work tree that belong into a snapshot."""

import os
from collections.abc import Mapping
from pathlib import Path

from perfledger.rounding import integer
from perfledger_runners.checkouts.git import RepositoryError, git

# A snapshot stores every new file in the repository's objects; data and models do not belong there.
MAX_UNTRACKED_BYTES = 200_000_000
# Files in the top folder of an environment: a virtual one's (PEP 405), conda's, pixi's, mamba's.
ENVIRONMENT_MARKS = ("/pyvenv.cfg", "/conda-meta/history")


def untracked_files(root: Path, *, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the untracked files of the work tree at `root` that .gitignore does not name.

    Environments of venv and conda, and nested repositories, are left out. `environment` names the
    index to compare with. Raises RepositoryError when the files exceed MAX_UNTRACKED_BYTES.
    """
    listing = git(root, "ls-files", "-z", "--others", "--exclude-standard", environment=environment)
    names = [os.fsdecode(name) for name in listing.split(b"\0") if name]
    paths = [name for name in names if not name.endswith("/")]  # a slash marks a repository
    environments = _environments(paths)
    chosen = tuple(path for path in paths if not path.startswith(environments))
    _check_size(root, chosen)
    return chosen


def _environments(paths: list[str]) -> tuple[str, ...]:
    """Return the environments' folders, each with a trailing slash."""
    marked = ((path, mark) for path in paths for mark in ENVIRONMENT_MARKS if path.endswith(mark))
    return tuple(f"{path.removesuffix(mark)}/" for path, mark in marked)


def _check_size(root: Path, paths: tuple[str, ...]) -> None:
    sizes = {path: _size(root / path) for path in paths}
    total = sum(sizes.values())
    if total <= MAX_UNTRACKED_BYTES:
        return
    largest = max(sizes, key=sizes.__getitem__)
    msg = (
        f"{root} has {integer(total / 1e6)} MB of files that are neither committed nor ignored; a "
        f"snapshot holds at most {integer(MAX_UNTRACKED_BYTES / 1e6)} MB. Add data files to "
        f".gitignore: the largest is {largest!r} with {integer(sizes[largest] / 1e6)} MB"
    )
    raise RepositoryError(msg)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # deleted since the listing: git reports it if it matters
        return 0
