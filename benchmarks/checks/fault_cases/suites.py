"""Faults and controls of existing benchmarks, of pytest-benchmark and of asv."""

from functools import partial

from fault_cases.case import NOT_MEASURED, REGRESSED, SILENT, WORK, FaultCase, replaced
from fault_cases.code import PACKAGE, SLOW_PACKAGE, install

UNPROVEN = "cannot tell whether head still does the work"
PYTEST = ("--pytest",)
ASV = ("--asv",)
TEST = f"""
import pytest
{WORK}
def test_work(benchmark):
    benchmark(work)
"""
PEDANTIC = replaced(TEST, "benchmark(work)", "benchmark.pedantic(work, setup=lambda: ((), {}))")
SUITE = f"""
{WORK}
class Suite:
    params = [[1, 2]]
    param_names = ["n"]
    def setup(self, n):
        self.rounds = 30_000 * n
    def time_work(self, n):
        work(self.rounds)
"""
CACHED = f"""
{WORK}
class Cached:
    def setup_cache(self):
        return 30_000
    def time_work(self, rounds):
        work(rounds)
"""
PACKAGE_TEST = "from mypkg import work\ndef test_work(benchmark):\n    benchmark(work)\n"
# As a test's file may do, so that the package is found from any folder.
PATH_OF_COPY = """
import os, sys
for name in [name for name in sys.modules if name == "mypkg"]:
    del sys.modules[name]
sys.meta_path[:] = [one for one in sys.meta_path if "perfledger" not in type(one).__module__]
sys.path.insert(0, os.environ["PYTHONPATH"].split(":")[-1])
"""


def pytest_case(
    name: str, head: str, expected: str, words: str = "", base: str = TEST
) -> FaultCase:
    """Return a case whose head changes the file of the tests."""
    return FaultCase(
        name=f"pytest: {name}",
        group="suites",
        base={"tests/test_b.py": base},
        head={"tests/test_b.py": head},
        options=PYTEST,
        expected=expected,
        words=words,
    )


def asv_case(name: str, head: str, expected: str, words: str = "", base: str = SUITE) -> FaultCase:
    """Return a case whose head changes asv's benchmarks."""
    return FaultCase(
        name=f"asv: {name}",
        group="suites",
        base={"benchmarks/__init__.py": "", "benchmarks/b.py": base},
        head={"benchmarks/b.py": head},
        options=ASV,
        expected=expected,
        words=words,
    )


SUITES = (
    pytest_case("three times the work", replaced(TEST, "(work)", "(work, 90_000)"), REGRESSED),
    pytest_case("other names", TEST.replace("total", "amount"), SILENT),
    pytest_case(
        "a mark that skips the test",
        replaced(TEST, "def test_", "@pytest.mark.skip(reason='slow')\ndef test_"),
        NOT_MEASURED,
        "slow",
    ),
    pytest_case(
        "a test that no longer measures",
        replaced(TEST, "benchmark(work)", "work()"),
        NOT_MEASURED,
        "did not call benchmark",
    ),
    pytest_case(
        "a test that expects to fail",
        replaced(TEST, "def test_", "@pytest.mark.xfail\ndef test_").replace(
            "benchmark(work)", "benchmark(work, None)"
        ),
        NOT_MEASURED,
        "tests.test_b:test_work",
    ),
    pytest_case(
        "a fixture that is not pytest-benchmark's",
        TEST + "\n@pytest.fixture\ndef benchmark():\n    return lambda call: call()\n",
        NOT_MEASURED,
        "did not call benchmark",
    ),
    pytest_case(
        "work that moves into the preparation",
        replaced(PEDANTIC, "work, setup=lambda: ((), {})", "str, setup=lambda: ((work(),), {})"),
        NOT_MEASURED,
        UNPROVEN,
        base=PEDANTIC,
    ),
    pytest_case(
        "a coroutine that nobody awaits, on both sides",
        replaced(
            TEST,
            "    benchmark(work)",
            "    async def run():\n        work(90_000)\n    benchmark(lambda: run())",
        ),
        NOT_MEASURED,
        UNPROVEN,
        base=replaced(
            TEST,
            "    benchmark(work)",
            "    async def run():\n        work()\n    benchmark(lambda: run())",
        ),
    ),
    pytest_case(
        "a generator that nobody runs, on both sides",
        replaced(
            TEST,
            "    benchmark(work)",
            "    def run():\n        yield work(90_000)\n    benchmark(lambda: run())",
        ),
        NOT_MEASURED,
        UNPROVEN,
        base=replaced(
            TEST,
            "    benchmark(work)",
            "    def run():\n        yield work()\n    benchmark(lambda: run())",
        ),
    ),
    FaultCase(
        name="pytest: a conftest.py that ignores the file",
        group="suites",
        base={"tests/test_b.py": TEST},
        head={"tests/conftest.py": "collect_ignore = ['test_b.py']\n"},
        options=PYTEST,
        expected=NOT_MEASURED,
        words="tests.test_b:test_work",
    ),
    FaultCase(
        name="pytest: a file that pytest no longer collects",
        group="suites",
        base={"tests/test_b.py": TEST},
        head={"tests/test_b.py": None, "tests/b.py": TEST},
        options=PYTEST,
        expected=NOT_MEASURED,
        words="tests.test_b:test_work",
    ),
    FaultCase(
        name="pytest: a conftest.py that puts a copy first",
        group="suites",
        base={
            "tests/test_b.py": PACKAGE_TEST,
            "tests/conftest.py": PATH_OF_COPY,
            "src/mypkg/__init__.py": PACKAGE,
        },
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        options=PYTEST,
        prepare=partial(install, name="src/mypkg"),
        expected=NOT_MEASURED,
        words="the installed copy of mypkg .* ran, not this commit",
    ),
    FaultCase(
        name="pytest: import mode importlib, an installed copy",
        group="suites",
        base={
            "tests/test_b.py": PACKAGE_TEST,
            "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
            "src/mypkg/__init__.py": PACKAGE,
        },
        head={"src/mypkg/__init__.py": SLOW_PACKAGE},
        options=PYTEST,
        prepare=partial(install, name="src/mypkg"),
        expected=REGRESSED,
    ),
    FaultCase(
        name="pytest: a project in a folder, an installed copy",
        group="suites",
        base={
            "bindings/pyproject.toml": "[project]\nname = 'mypkg'\nversion = '1'\n"
            "[tool.pytest.ini_options]\npythonpath = '.'\n",
            "bindings/tests/test_b.py": PACKAGE_TEST,
            "bindings/mypkg/__init__.py": PACKAGE,
        },
        head={"bindings/mypkg/__init__.py": SLOW_PACKAGE},
        options=PYTEST,
        prepare=partial(install, name="bindings/mypkg"),
        expected=REGRESSED,
    ),
    asv_case("three times the work", replaced(SUITE, "30_000 * n", "90_000 * n"), REGRESSED),
    asv_case("other names", SUITE.replace("total", "amount"), SILENT),
    asv_case(
        "a set-up that skips",
        replaced(
            SUITE, "        self.rounds", "        raise NotImplementedError\n        self.rounds"
        ),
        NOT_MEASURED,
        "NotImplementedError",
    ),
    asv_case(
        "a timer of its own",
        replaced(
            SUITE,
            "class Suite:",
            "from time import process_time\nclass Suite:\n    timer = process_time",
        ),
        NOT_MEASURED,
        "its own timer",
    ),
    asv_case(
        "a point of the grid that is gone",
        replaced(SUITE, "[[1, 2]]", "[[1]]"),
        NOT_MEASURED,
        "n=2",
    ),
    asv_case(
        "a time that becomes a tracked number",
        replaced(SUITE, "time_work", "track_work"),
        NOT_MEASURED,
        "time_work",
    ),
    asv_case(
        "the result in setup_cache",
        replaced(CACHED, "return 30_000", "return work(30_000)").replace(
            "        work(rounds)", "        rounds"
        ),
        NOT_MEASURED,
        UNPROVEN,
        base=CACHED,
    ),
    FaultCase(
        name="asv: a configuration that names another folder",
        group="suites",
        base={
            "bench/asv.conf.json": '{"version": 1, "benchmark_dir": "suite"}\n',
            "bench/suite/__init__.py": "",
            "bench/suite/b.py": SUITE,
        },
        head={
            "bench/asv.conf.json": '{"version": 1, "benchmark_dir": "other"}\n',
            "bench/other/__init__.py": "",
            "bench/other/c.py": SUITE,
        },
        options=ASV,
        expected=NOT_MEASURED,
        words="suite.b:Suite.time_work",
    ),
)
