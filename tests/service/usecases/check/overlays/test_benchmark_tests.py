"""Which paths hold a source's tests with the fixture; test_workloads_from lays them over."""

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_service.usecases.check.overlays.benchmark_tests import paths_of_tests

TEST = "def test_it(benchmark):\n    pass\n"


class Source:
    """A source with these files."""

    name = "main"

    def __init__(self, files):
        self.files = files

    def files_with(self, word):
        return tuple(path for path, text in self.files.items() if word in text)

    def read_file(self, path, *, max_bytes):
        if len(self.files[path]) > max_bytes:
            raise RepositoryError(path)
        return self.files[path].encode()

    def paths(self):
        return tuple(self.files)

    def overlay(self, paths):
        pytest.fail(f"{paths} are laid over, although only their folders were asked for")


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], ()),
        (["test_it.py"], ("test_it.py",)),
        (["Benchmarks/a/test_it.py", "Benchmarks/b/test_it.py"], ("Benchmarks",)),
        (["src/mine/tests/deep/test_it.py"], ("src/mine/tests",)),
        (["mine/test_it.py", "mine/tests/test_it.py"], ("mine/test_it.py", "mine/tests")),
        (["tests/test_it.py", "tests/deep/test_it.py"], ("tests",)),
        (["perf_test/test_it.py", "microbenchmarks/test_it.py"], ("perf_test", "microbenchmarks")),
        (["UnitTests/test_it.py", "bench-v2/test_it.py"], ("UnitTests", "bench-v2")),
        (["fastest/tests/test_it.py", "latest/test_it.py"], ("fastest/tests", "latest/test_it.py")),
        (
            ["benchkit/bench/test_it.py", "attest/test_it.py"],
            ("benchkit/bench", "attest/test_it.py"),
        ),
    ],
)
def test_a_test_is_in_the_outermost_folder_that_is_named_after_tests(paths, expected):
    assert paths_of_tests(Source(dict.fromkeys(paths, TEST))) == expected


def test_a_word_alone_is_no_test_and_a_large_file_is_none():
    source = Source({"a.py": "benchmark = 1\n", "b.py": TEST + "#" * 1_000_000})

    assert paths_of_tests(source) == ()
