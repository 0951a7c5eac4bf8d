"""The harness of a repository's own Python, as its settings say."""

import sys

import pytest

from perfledger_runners.children.interpreter import InterpreterError
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.bench.repository_harness import repository_harness


def test_a_harness_has_the_limits_and_the_variables_of_the_settings(tmp_path):
    flags = {"python": sys.executable, "timeout": "7s", "env": ["MINE_*"]}
    settings, _ = check_settings(flags=flags, table={}, table_name="")

    with repository_harness(tmp_path, settings, launch="mpirun -n {devices}") as harness:
        limits = (harness.limits.workload_s, harness.limits.startup_s)
        assert limits == (7.0, 7.0)
        assert tuple(harness.variable_names) == ("MINE_*",)
        assert harness.default_launch == "mpirun -n {devices}"
        folder = harness.folder
        assert folder.is_dir()

    assert not folder.exists()


def test_without_its_python_there_is_no_harness(tmp_path):
    flags = {"python": str(tmp_path / "missing")}
    settings, _ = check_settings(flags=flags, table={}, table_name="")

    with pytest.raises(InterpreterError):
        repository_harness(tmp_path, settings)
