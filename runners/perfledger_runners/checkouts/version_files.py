"""Supplies the version files that a build writes and that are not in git.

Builds with setuptools-scm, hatch-vcs and PDM write a module with a package's version, which the
package imports. A checkout gets a copy from the user's clone, where an installation wrote it;
without it, such a package could not be imported.
"""

import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from perfledger_runners.checkouts.git import git
from perfledger_runners.checkouts.package_layout import calls, strings, table, texts

MAX_BYTES = 100_000  # a version file has a dozen lines
# Where each tool's configuration names the file, in pyproject.toml.
KEYS = (
    ("setuptools_scm", "write_to"),
    ("setuptools_scm", "version_file"),
    ("hatch", "build", "hooks", "vcs", "version-file"),
    ("pdm", "version", "write_to"),
)
SETUP_ARGUMENT = "use_scm_version"
NOTE = "{} is written by a build and not in git: the copy in this clone was used"


def supply_version_files(
    clone: Path, checkout: Path, *, commits: Collection[str]
) -> tuple[str, ...]:
    """Copy the version files that the checkout lacks from the user's clone; return notes on them.

    The checkout's project files name them. Only a module that mentions a version is copied, and
    none that is in git, in the clone or at one of the compared `commits`: a side that lacks it
    would be measured with the other side's code. Raises RepositoryError.
    """
    return tuple(
        NOTE.format(path)
        for path in _named_paths(checkout)
        if _is_missing(clone, checkout, path, commits) and _copy(clone, checkout, path)
    )


def _named_paths(checkout: Path) -> Iterator[str]:
    """Yield the paths that the checkout's project files name."""
    tool = table(_document(checkout / "pyproject.toml"), "tool")
    for *tables, key in KEYS:
        yield from strings(table(tool, *tables).get(key))
    for call in calls(_content(checkout / "setup.py")):
        for keyword in call.keywords:
            if keyword.arg == SETUP_ARGUMENT:
                yield from texts(keyword.value)


def _is_missing(clone: Path, checkout: Path, path: str, commits: Collection[str]) -> bool:
    """Return whether the checkout lacks a module of the clone that no commit has.

    A path that the system rejects names none.
    """
    pure = PurePosixPath(path)
    if pure.suffix != ".py":
        return False
    try:
        target = checkout / pure
        if target.exists() or not target.parent.is_dir():
            return False
        source, target = (clone / pure).resolve(strict=True), target.resolve()
        paths = {
            one.relative_to(root.resolve()) for one, root in ((source, clone), (target, checkout))
        }
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a link to itself
        return False
    # In its own folder, which may be a submodule.
    if git(source.parent, "ls-files", "-z", "--", source.name):
        return False
    names = sorted(map(str, paths))
    return not any(git(clone, "ls-tree", "-z", "--full-tree", sha, "--", *names) for sha in commits)


def _copy(clone: Path, checkout: Path, path: str) -> bool:
    """Copy a version module; return whether it was copied."""
    content = _content(clone / path)
    if b"version" not in content:
        return False
    (checkout / path).write_bytes(content)
    return True


def _document(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(_content(path).decode(errors="replace"))
    except (ValueError, RecursionError):
        return {}


def _content(path: Path) -> bytes:
    """Return a file's content, b"" if it is missing, too large or not regular."""
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return b""
    return path.read_bytes()
