"""Forks of a real child share what asv's setup_cache made."""

import pytest

from perfledger.protocol import BenchmarkSuite, Command

pytestmark = pytest.mark.slow

SHARED = """
import os, pathlib
LOG = pathlib.Path({log!r})

class Shared:
    def setup_cache(self):
        with LOG.open("a") as log:
            log.write("made ")
        if {fails}:
            raise ValueError("no data")
        pathlib.Path("data.txt").write_text("data")
        return {{"process": os.getpid()}}

    def time_first(self, cache):
        assert pathlib.Path("data.txt").read_text() == "data"
        assert cache["process"] == os.getpid()

    def time_second(self, cache):
        assert pathlib.Path("data.txt").read_text() == "data"
        assert cache["process"] != os.getpid()  # another fork
"""


@pytest.mark.parametrize(("fails", "calls"), [(False, 1), (True, 2)])
def test_setup_cache_runs_once_for_all_forks_of_a_process_unless_it_fails(
    write, run_child, tmp_path, fails, calls
):
    log = tmp_path / "calls.log"
    names = [f"benchmarks.shared:Shared.time_{each}" for each in ("first", "second")]
    root = write({"repository/benchmarks/shared.py": SHARED.format(log=str(log), fails=fails)})

    answer = run_child(
        root / "repository",
        Command.MEASURE,
        suite=BenchmarkSuite.ASV,
        paths=(),
        workloads=tuple(names),
        is_forking=True,
    )

    assert log.read_text() == "made " * calls
    assert [each["workload"] for each in answer.of("failed" if fails else "run")] == names
