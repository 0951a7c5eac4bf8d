"""Files of tests are read for the fixture `benchmark`, and not imported."""

import pytest

from perfledger.process.benchmark_sources import (
    may_have_benchmarks,
    uncollected_files,
    unrelated_notes,
)

TEST = "def test_sum(\n    numbers, benchmark\n):\n    benchmark(sum, numbers)\n"


def test_a_file_with_benchmarks_that_pytest_does_not_know_is_named_with_what_to_do(tmp_path):
    for name in ("tests/bench.py", "tests/test_known.py", ".venv/test_hidden.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TEST)
    (tmp_path / "plain.py").write_text("def test_plain(numbers): ...\ndef benchmark(): ...\n")
    (tmp_path / "nowhere.py").symlink_to(tmp_path / "gone")

    (file,) = uncollected_files(tmp_path, collected={tmp_path / "tests" / "test_known.py"})

    assert file.name == "tests/bench.py"
    assert "does not collect this file" in file.reason
    assert "PERFLEDGER_PATHS='[\"tests/bench.py\"]'" in file.reason


@pytest.mark.parametrize(
    ("text", "is_possible"),
    [
        (TEST, True),
        ("from helpers import *\n", True),
        ("from tests.test_base import TestBase\n", True),
        ("class TestMine(Base):\n    numbers = ()\n", True),
        ("class Mine(\n    TestBase,\n):\n    numbers = ()\n", True),
        ("class SortBench(Base):\n    numbers = ()\n", True),
        ("import bson\n\ndef test_load():\n    class Color(Enum):\n        RED = 1\n", False),
        ("import yaml\n\ndef test_load():\n    assert yaml\n", False),
        ("import yaml\n\nclass TestMine:\n    def test_load(self): ...\n", False),
        ("", True),
    ],
)
def test_a_file_that_does_not_mention_the_fixture_has_no_benchmarks(text, is_possible, tmp_path):
    (tmp_path / "test_a.py").write_text(text)

    assert may_have_benchmarks(tmp_path / "test_a.py") is is_possible


def test_a_file_that_cannot_be_read_may_have_benchmarks(tmp_path):
    assert may_have_benchmarks(tmp_path)


def test_a_note_names_the_first_files_without_benchmarks():
    assert unrelated_notes(()) == ()
    (note,) = unrelated_notes(("a.py", "b.py", "c.py", "d.py"))
    assert note.startswith("pytest cannot collect a.py, b.py, c.py and 1 more: nothing is missing")
