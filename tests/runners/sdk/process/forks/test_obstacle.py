import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfledger.process.forks.obstacle import (
    NO_LIST,
    READ_FIRST,
    READ_FIRST_BY,
    StartSettings,
    late_settings,
    open_state,
    start_settings,
)
from perfledger.protocol import Command
from perfledger.records import Framework

# Runs the lines of a user's import, and prints what stands in the way of independent forks.
PROGRAM = """
from perfledger.process.forks.obstacle import fork_obstacle, open_state
before = open_state()
{lines}
print(fork_obstacle(before))
"""


def run_alone(program: str, *options: str) -> str:
    """Run it in a process of its own: other tests of this one may have left children or threads."""
    done = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def obstacle_after(lines: str, *options: str) -> str:
    return run_alone(PROGRAM.format(lines=lines), *options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "obstacle"),
    [
        ("import json; VALUE = bytearray(2**20)", ""),
        (
            "from threading import *; Thread(target=Event().wait, daemon=True).start()",
            "its imports leave 1 thread running",
        ),
        ("import os; at = os.pipe()", "its imports leave a file or a connection open"),
        ("import os; copy = os.dup(2)", ""),
        ("import mmap; shared = mmap.mmap(-1, 8)", "its imports leave memory that processes share"),
        ("import mmap; own = mmap.mmap(-1, 8, mmap.MAP_PRIVATE)", ""),
        (
            "from subprocess import *; import atexit; atexit.register(Popen(['sleep', '60']).kill)",
            "its imports leave a process running",
        ),
    ],
)
def test_what_forks_would_share_or_lose_is_an_obstacle(lines, obstacle):
    assert obstacle_after(lines) == obstacle


@pytest.mark.slow
def test_the_threads_of_openblas_which_end_at_a_fork_are_none():
    pytest.importorskip("numpy")
    lines = "import numpy as np; np.ones((300, 300)) @ np.ones((300, 300))"

    assert obstacle_after(lines, "-W", "error") == ""


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_parallel_region_of_torch_leaves_threads_and_an_import_does_not():
    region = "torch.set_num_threads(2); torch.ones(2_000_000).add(1).mul(2)"

    assert obstacle_after("import torch", "-W", "error") == ""
    assert "thread" in obstacle_after(f"import torch; {region}")


@pytest.mark.slow(ci_only=True)
def test_the_backend_of_jax_leaves_threads_and_an_import_does_not():
    pytest.importorskip("jax")

    assert obstacle_after("import jax.numpy", "-W", "error") == ""
    assert "thread" in obstacle_after("import jax.numpy as jnp; X = jnp.ones(3)")


@pytest.mark.slow
def test_a_system_that_lists_nothing_has_an_obstacle(tmp_path):
    program = (
        "from pathlib import Path\n"
        "from perfledger.process.forks import obstacle\n"
        f"obstacle.PROCESS = Path({str(tmp_path)!r})\n"
        "print(obstacle.fork_obstacle(obstacle.open_state()))\n"
    )

    assert run_alone(program) == NO_LIST


def test_files_are_told_apart_by_what_they_are_and_not_by_their_numbers():
    before = open_state()
    with Path(os.devnull).open(encoding="utf-8") as file:
        during = open_state()
        copy = os.dup(file.fileno())
        with_copy = open_state()
        os.close(copy)

    assert len(during.files - before.files) <= 1  # standard input may be the same file
    assert with_copy == during


@pytest.mark.slow
@pytest.mark.parametrize("command", [Command.MEASURE, Command.COUNT])
def test_a_child_with_an_obstacle_runs_nothing_and_says_why(write, run_child, command):
    text = (
        "import os, perfledger\nLEFT = os.pipe()\n@perfledger.workload\ndef work():\n"
        "    return lambda: None\n"
    )
    answer = run_child(write({"benchmarks/b.py": text}), command, is_forking=True)

    assert [each["event"] for each in answer.messages] == ["no_fork", "done"]
    assert answer.messages[0]["reason"] == "its imports leave a file or a connection open"
    assert answer.messages[0]["workloads"] == ["benchmarks.b:work"]


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({}, ""),
        ({"PYTEST_NEW": "1"}, ""),
        ({"LEFT": "2", "LD_LIBRARY_PATH": "/left", "XLA_FLAGS": "1"}, ""),
        ({"KMP_DUPLICATE_LIB_OK": "True", "KMP_INIT_AT_FORK": "FALSE"}, ""),
        ({"TORCH_LEFT": None}, "its imports set TORCH_LEFT, which torch may have read before"),
        (
            {"TORCH_LEFT": "2", "LEFT": "2", "OMP_B": "1"},
            "its imports set OMP_B, TORCH_LEFT, which torch may have read before",
        ),
        (
            {f"MKL_{letter}": "1" for letter in "EDCBA"},
            "its imports set MKL_A, MKL_B, MKL_C and 2 more, which torch may have read before",
        ),
    ],
)
def test_a_variable_that_is_set_after_the_framework_was_imported_is_told(
    monkeypatch, changes, clause
):
    monkeypatch.setenv("TORCH_LEFT", "1")
    before = start_settings()
    for name, value in changes.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)

    assert late_settings(before, [Framework.TORCH]) == clause
    assert late_settings(None, [Framework.TORCH]) == ""


# Imports a framework in an empty environment and prints what os.environ is asked for meanwhile.
READS = """
import os
variables, names = type(os.environ), set()
get, contains = variables.__getitem__, variables.__contains__
variables.__getitem__ = lambda self, name: (names.add(name), get(self, name))[1]
variables.__contains__ = lambda self, name: (names.add(name), contains(self, name))[1]
import {framework}
print(*sorted(names))
"""
# Of every process, and where Python's own files are.
OF_PYTHON = ("HOME", "PATH", "PYTHON", "_PYTHON")


@pytest.mark.slow
@pytest.mark.parametrize(
    "framework", [pytest.param(Framework.TORCH, marks=pytest.mark.torch), Framework.JAX]
)
def test_what_a_framework_reads_when_it_is_imported_counts(framework):
    pytest.importorskip(framework)
    environment = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-P", "-c", READS.format(framework=framework)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    names = {name for name in done.stdout.split() if not name.startswith(OF_PYTHON)}

    assert names
    unknown = {
        name for name in names if not name.startswith((*READ_FIRST, *READ_FIRST_BY[framework]))
    }
    assert unknown == set()


@pytest.mark.parametrize(
    ("framework", "name", "counts"),
    [
        (Framework.TORCH, "JAX_ENABLE_X64", False),
        (Framework.JAX, "JAX_ENABLE_X64", True),
        (Framework.JAX, "TORCH_LOGS", False),
        (Framework.JAX, "TF_CPP_MIN_LOG_LEVEL", False),
        (Framework.JAX, "XLA_FLAGS", True),
    ],
)
def test_a_variable_counts_where_its_framework_was_imported(monkeypatch, framework, name, counts):
    before = start_settings()
    monkeypatch.setenv(name, "changed")

    assert bool(late_settings(before, [framework])) is counts


def test_cores_that_are_chosen_after_the_framework_was_imported_are_told():
    now = start_settings()
    before = StartSettings(now.environment, now.cores | {1_000_000})

    clause = "its imports choose the cores, which jax and torch counted before"
    assert late_settings(before, [Framework.TORCH, Framework.JAX]) == clause
