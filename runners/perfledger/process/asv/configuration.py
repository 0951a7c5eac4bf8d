"""Finds the folders with a repository's asv benchmarks."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from perfledger.process.discovery import ImportFailure
from perfledger.records import FailureReason

# asv's names for its file.
CONFIGURATIONS = ("asv.conf.json", "asv.conf.jsonc")
# Levels of folders below the top one in which its file is looked for.
MAX_DEPTH = 3
# The file is JSON with comments and other extensions, which only asv's own parser reads.
_COMMENT = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_FOLDER = re.compile(r"""\bbenchmark_dir["']?\s*:\s*["']([^"']+)["']""")
USUAL_FOLDER = "benchmarks"
MAX_CONFIGURATION_BYTES = 1_000_000  # asv's own has some kilobytes


def benchmark_folders(
    root: Path, paths: Sequence[str]
) -> tuple[tuple[Path, ...], list[ImportFailure]]:
    """Return the folders or files of `paths`; without `paths`, those that asv's own file names.

    A path that does not exist is a failure, as is a repository with neither such a file nor such a
    folder.
    """
    folders = (
        [root / path for path in paths] or list(_configured_folders(root)) or [root / USUAL_FOLDER]
    )
    top = root.resolve()
    present = list(dict.fromkeys(each.resolve() for each in folders))
    absent = [each for each in present if not (each.exists() and each.is_relative_to(top))]
    failures = [
        ImportFailure(
            path=str(each.relative_to(top)) if each.is_relative_to(top) else str(each),
            detail="there is no folder of asv benchmarks here: set `paths` in perfledger.toml or "
            f"`benchmark_dir` in {CONFIGURATIONS[0]}",
            reason=FailureReason.MISSING,
        )
        for each in absent
    ]
    return tuple(each for each in present if each not in absent), failures


def import_root(start: Path, root: Path) -> Path:
    """Return the folder above the package that asv imports a folder `benchmarks`, or a file, as."""
    if start.is_dir():
        return start.parent
    package = start.parent
    while package != root and (package.parent / "__init__.py").is_file():
        package = package.parent
    return package.parent


def asv_configurations(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of a repository's paths that are asv's files, the ones of upper folders first.

    Hidden folders, and folders further down than MAX_DEPTH, have none.
    """
    files = (PurePosixPath(path) for path in paths)
    configurations = (
        (len(file.parts), str(file))
        for file in files
        if file.name in CONFIGURATIONS
        and len(file.parts) <= MAX_DEPTH + 1
        and not any(part.startswith(".") for part in file.parts[:-1])
    )
    return tuple(path for _, path in sorted(configurations))


def _configured_folders(root: Path) -> Iterator[Path]:
    """Yield the folders named by the files in the top folder and the folders below it."""
    for path in asv_configurations(_paths(root)):
        file = root / path
        if file.is_file() and file.stat().st_size <= MAX_CONFIGURATION_BYTES:
            yield file.parent / named_folder(file.read_text(encoding="utf-8", errors="replace"))


def _paths(root: Path) -> Iterator[str]:
    for folder, names, files in os.walk(root):
        here = Path(folder).relative_to(root)
        is_deepest = len(here.parts) == MAX_DEPTH
        names[:] = [] if is_deepest else [name for name in names if not name.startswith(".")]
        yield from ((here / name).as_posix() for name in CONFIGURATIONS if name in files)


def named_folder(configuration: str) -> str:
    """Return the benchmark folder that a configuration names, else asv's default."""
    match = _FOLDER.search(_COMMENT.sub(lambda match: match[1] or "", configuration))
    return match[1] if match else USUAL_FOLDER
