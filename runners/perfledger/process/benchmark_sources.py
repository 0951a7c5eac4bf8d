"""Looks for the fixture `benchmark` in files of tests, without importing them."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from perfledger.process.command_context import LeftOutBenchmark
from perfledger.process.discovery import source_files
from perfledger.process.loaded_packages import open_unnoticed

# A test that asks for the fixture.
BENCHMARK_TEST = re.compile(rb"^[ \t]*def test\w*\([^)]*\bbenchmark\b", re.MULTILINE)
# A file may also inherit or import the tests of another one. pytest collects classes by their name,
# and unittest's by their base.
POSSIBLE_BENCHMARK = re.compile(
    rb"benchmark|import \*|^[ \t]*class \w*(?:[Tt]est|[Bb]ench)\w*\("
    rb"|^[ \t]*class \w+\([^)]*(?:[Tt]est|[Bb]ench)|^from [\w.]+ import .*\b[Tt]est",
    re.MULTILINE,
)
MAX_FILE_BYTES = 1_000_000  # more is generated code or data, not benchmarks
MAX_NAMED = 3  # files in a note
NOT_COLLECTED = (
    "pytest: its configuration does not collect this file (testpaths, python_files or an ignored "
    "folder): name it, PERFLEDGER_PATHS='[\"{}\"]', or in `paths` of perfledger.toml"
)


def uncollected_files(root: Path, *, collected: Collection[Path]) -> Iterator[LeftOutBenchmark]:
    """Yield the files below `root` with benchmarks that are not among those pytest knows."""
    for file in source_files(root):
        if file not in collected and BENCHMARK_TEST.search(_beginning(file)) is not None:
            path = file.relative_to(root).as_posix()
            yield LeftOutBenchmark(path, NOT_COLLECTED.format(path))


def may_have_benchmarks(file: Path) -> bool:
    """Return whether a test of the file may use the fixture; True if it cannot be read."""
    text = _beginning(file)
    return not text or POSSIBLE_BENCHMARK.search(text) is not None


def unrelated_notes(paths: Sequence[str]) -> tuple[str, ...]:
    """Return a note on files that pytest cannot collect and that have no benchmarks."""
    if not paths:
        return ()
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    note = (
        f"pytest cannot collect {', '.join(paths[:MAX_NAMED])}{more}: nothing is missing here, "
        "because the fixture `benchmark` is not mentioned there"
    )
    return (note,)


def _beginning(file: Path) -> bytes:
    """Return the beginning of a file, empty for a folder or a link that leads nowhere.

    The agent does not see this as a read by the tests.
    """
    try:
        with open(file, "rb", opener=open_unnoticed) as opened:
            return opened.read(MAX_FILE_BYTES)
    except OSError:
        return b""
