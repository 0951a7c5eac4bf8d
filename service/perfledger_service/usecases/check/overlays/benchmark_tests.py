"""Finds the tests of a source of workloads that use pytest-benchmark's fixture."""

import re
from contextlib import suppress
from pathlib import PurePosixPath

from perfledger.process.benchmark_sources import BENCHMARK_TEST, MAX_FILE_BYTES
from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.source_tree import is_below
from perfledger_runners.checkouts.workload_overlay import WorkloadSource

FIXTURE = "benchmark"
# In names of folders that hold tests, and what these import from beside them; not as a part of
# another word: `fastest` and `benchkit` are packages, whose change must not be hidden.
TEST_FOLDER = re.compile(
    r"(?<![a-z])(?:tests?|testing|bench)(?![a-z])|(?:tests|bench(?:es|mark(?:s|ing)?))(?![a-z])",
    re.IGNORECASE,
)


def paths_of_tests(source: WorkloadSource) -> tuple[str, ...]:
    """Return the folders of tests with the fixture; a test outside of such a folder is its file.

    A folder is the outermost one that is named after tests or benchmarks, since its tests share
    their conftest.py. () if no test uses the fixture.
    """
    files = (path for path in source.files_with(FIXTURE) if _has_test(source, path))
    tops = dict.fromkeys(map(_top_of, files))
    return tuple(
        top for top in tops if not any(top != other and is_below(top, other) for other in tops)
    )


def _has_test(source: WorkloadSource, path: str) -> bool:
    with suppress(RepositoryError):  # too large for a file of tests
        content = source.read_file(path, max_bytes=MAX_FILE_BYTES) or b""
        return BENCHMARK_TEST.search(content) is not None
    return False


def _top_of(path: str) -> str:
    folders = reversed(PurePosixPath(path).parents)
    return next((str(each) for each in folders if TEST_FOLDER.search(each.name)), path)
