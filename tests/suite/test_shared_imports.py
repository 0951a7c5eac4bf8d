"""Each process imports its share of the test files, and all of them together every file."""

import sys

import pytest

from tests.suite.shared_imports import import_a_share


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A folder with five test files, one of which does not import."""
    folder = tmp_path / "shared_suite"
    folder.mkdir()
    for name in "abcd":
        (folder / f"test_{name}.py").touch()
    (folder / "test_e.py").write_text("raise ValueError\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in imported():
        del sys.modules[f"shared_suite.test_{name}"]
    sys.modules.pop("shared_suite", None)


def imported():
    return [name for name in "abcde" if f"shared_suite.test_{name}" in sys.modules]


def test_each_process_imports_every_so_manieth_file(suite, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    import_a_share([suite], tests=suite)

    assert imported() == ["a", "d"]

    for worker in ("gw1", "gw2"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        import_a_share([suite], tests=suite)

    assert imported() == ["a", "b", "c", "d"]


def test_a_single_process_or_a_part_of_the_tests_needs_no_share(suite, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    import_a_share([suite / "test_a.py"], tests=suite)
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "1")
    import_a_share([suite], tests=suite)

    assert imported() == []
