"""Shares the test files among the processes of a run, before each collects all of them.

In the first run of a clone every process would rewrite the assertions of every file.
"""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def import_a_share(folders: list[Path], *, tests: Path = TESTS) -> None:
    """Import the share of this process, so that the others find the bytecode.

    Where not all tests are collected, nothing is imported.
    """
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if count == 1 or folders != [tests]:
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    for path in sorted(tests.rglob("test_*.py"))[number::count]:
        name = ".".join(path.relative_to(tests.parent).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):  # collecting the file shows the error
            import_module(name)
