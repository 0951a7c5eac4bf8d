"""Finds files of requirements that other files include, whatever their names are."""

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from perfledger_runners.checkouts.package_layout import calls, join, strings, table, texts

# Of pip: another file of requirements, or of constraints.
INCLUDE = re.compile(r"^\s*(?:-[rc]|--requirement|--constraint)[\s=]*(\S+)", re.MULTILINE)
# In setup.py, which may read other files as well.
REQUIREMENT_NAME = re.compile(r"req|dep|constraint", re.IGNORECASE)
TEXT_SUFFIXES = frozenset({".txt", ".in", ".list", ".lst", ".pip", ".req", ""})
MAX_FILES = 100  # that others include, so that a circle ends


def included_files(
    texts_by_path: Mapping[str, bytes], hashes: Mapping[str, str], read: Callable[[str], bytes]
) -> dict[str, bytes]:
    """Return the tracked files that the dependency files include, with their contents.

    An included file may include others.
    """
    included: dict[str, bytes] = {}
    waiting = list(texts_by_path.items())
    while waiting and len(included) < MAX_FILES:
        path, content = waiting.pop()
        for name in _names(path, content):
            if name in hashes and name not in texts_by_path and name not in included:
                included[name] = read(name)
                waiting.append((name, included[name]))
    return included


def _names(path: str, content: bytes) -> Iterator[str]:
    folder = str(PurePosixPath(path).parent)
    match PurePosixPath(path).name:
        case "pyproject.toml":
            names = _of_pyproject(content)
        case "setup.py":
            names = _of_setup_py(content)
        case _:
            names = iter(INCLUDE.findall(content.decode(errors="replace")))
    yield from (posixpath.normpath(join(folder, name)) for name in names)


def _of_pyproject(content: bytes) -> Iterator[str]:
    try:
        document = tomllib.loads(content.decode(errors="replace"))
    except (ValueError, RecursionError):
        return
    dynamic = table(document, "tool", "setuptools", "dynamic")
    yield from strings(table(dynamic, "dependencies").get("file"))
    groups = table(dynamic, "optional-dependencies")
    for name in groups:
        yield from strings(table(groups, name).get("file"))


def _of_setup_py(content: bytes) -> Iterator[str]:
    """Yield the names of texts that calls receive and that sound like files of requirements."""
    for call in calls(content):
        for argument in call.args:
            for name in texts(argument):
                is_text = PurePosixPath(name).suffix in TEXT_SUFFIXES
                if is_text and REQUIREMENT_NAME.search(PurePosixPath(name).name):
                    yield name
