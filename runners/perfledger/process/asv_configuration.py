"""Finds the folders with a repository's asv benchmarks."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfledger.process.discovery import ImportFailure
from perfledger.records import FailureReason

CONFIGURATION = "asv.conf.json"
# The file is JSON with comments and other extensions, which only asv's own parser reads.
_FOLDER = re.compile(r"""^[^/"']*["']?benchmark_dir["']?\s*:\s*["']([^"']+)["']""", re.MULTILINE)
USUAL_FOLDER = "benchmarks"
MAX_CONFIGURATION_BYTES = 1_000_000


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
            detail="there is no folder of asv benchmarks here: set `paths` in [tool.perfledger] or "
            f"`benchmark_dir` in {CONFIGURATION}",
            reason=FailureReason.MISSING,
        )
        for each in absent
    ]
    return tuple(each for each in present if each not in absent), failures


def _configured_folders(root: Path) -> Iterator[Path]:
    """Yield the folders named by the files at the top and one level below it."""
    for file in (root / CONFIGURATION, *sorted(root.glob(f"*/{CONFIGURATION}"))):
        if file.is_file() and file.stat().st_size <= MAX_CONFIGURATION_BYTES:
            yield file.parent / named_folder(file.read_text(encoding="utf-8", errors="replace"))


def named_folder(configuration: str) -> str:
    """Return the benchmark folder that a configuration names, else asv's default."""
    match = _FOLDER.search(configuration)
    return match[1] if match else USUAL_FOLDER
