"""Supplies the version files that a build writes, which git does not have.

setuptools-scm, hatch-vcs and PDM write a module with the version of a package, which the package
imports. A checkout gets that of the user's clone, where an installation wrote it: without it, no
package of this kind could be imported.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from perfledger_runners.checkouts.package_layout import calls, strings, table, texts

MAX_BYTES = 100_000
# Where each tool names the file, from the folder of pyproject.toml.
KEYS = (
    ("setuptools_scm", "write_to"),
    ("setuptools_scm", "version_file"),
    ("hatch", "build", "hooks", "vcs", "version-file"),
    ("pdm", "version", "write_to"),
)
SETUP_ARGUMENT = "use_scm_version"
NOTE = "{} is written by a build, and git does not have it: the one of this clone was used"


def supply_version_files(clone: Path, checkout: Path) -> tuple[str, ...]:
    """Copy the version files that the checkout lacks from the user's clone; return notes on them.

    A project file of the checkout names them; only a module that speaks of a version is copied.
    """
    return tuple(NOTE.format(path) for path in _named(checkout) if _copy(clone, checkout, path))


def _named(checkout: Path) -> Iterator[str]:
    """Yield the paths that the checkout's project files name."""
    tool = table(_document(checkout / "pyproject.toml"), "tool")
    for *tables, key in KEYS:
        yield from strings(table(tool, *tables).get(key))
    for call in calls(_content(checkout / "setup.py")):
        for keyword in call.keywords:
            if keyword.arg == SETUP_ARGUMENT:
                yield from texts(keyword.value)


def _copy(clone: Path, checkout: Path, path: str) -> bool:
    """Copy a module about the version, unless the checkout has it; return whether it was copied."""
    pure = PurePosixPath(path)
    source, target = clone / pure, checkout / pure
    if pure.suffix != ".py" or target.exists() or not target.parent.is_dir():
        return False
    is_inside = _is_below(source, clone) and _is_below(target, checkout)
    content = _content(source) if is_inside else b""
    if b"version" not in content:
        return False
    target.write_bytes(content)
    return True


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _document(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(_content(path).decode(errors="replace"))
    except (ValueError, RecursionError):
        return {}


def _content(path: Path) -> bytes:
    """Return a file's content, nothing of one that is missing, too large or not regular."""
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return b""
    return path.read_bytes()
