import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from inspect import unwrap
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perfledger_baselines.history.segmentation import compiled_loops
from perfledger_baselines.history.segmentation.compiled_loops import (
    as_vector,
    compile_loop,
    compiler,
)
from perfledger_baselines.history.segmentation.pruning import ChangeCriteria, prune
from perfledger_baselines.history.segmentation.two_sample_tests import PrefixSums

RULES = ChangeCriteria(need=4.0, floor=0.003, jump=0.05)


class StandIn(ModuleType):
    """A compiler that does nothing but note what it compiles."""

    compiled: list[tuple[object, bool]]

    def njit(self, function, *, cache):
        self.compiled.append((function, cache))
        return function


@pytest.fixture
def stand_in(monkeypatch):
    module = StandIn("stand_in_compiler")
    module.compiled = []
    module.__spec__ = ModuleSpec("stand_in_compiler", None)
    monkeypatch.setitem(sys.modules, "stand_in_compiler", module)
    return module


def test_without_a_compiler_there_is_none():
    assert compiler("no_such_compiler") is None


def test_kernels_stay_as_they_are_without_a_compiler(monkeypatch):
    monkeypatch.setattr(compiled_loops, "COMPILER", None)

    assert compile_loop(len) is len
    assert as_vector(np.array([1.0, 2.0])) == [1.0, 2.0]


def double(value):
    return add(value, value)


def add(first, second):
    return first + second


def test_loops_are_compiled_together_at_the_first_call_once_for_all_processes(
    monkeypatch, stand_in
):
    monkeypatch.setattr(compiled_loops, "COMPILER", compiler("stand_in_compiler"))
    monkeypatch.setattr(compiled_loops, "_LOOPS", [])
    plain_loops: dict[str, Callable[..., Any]] = {"double": double, "add": add}
    for name, loop in plain_loops.items():
        monkeypatch.setitem(globals(), name, compile_loop(loop))
    deferred = double
    assert stand_in.compiled == []

    assert deferred(2.0) == 4.0
    assert deferred(3.0) == 6.0

    assert stand_in.compiled == [(plain_loops["double"], True), (plain_loops["add"], True)]
    assert (double, add) == (
        plain_loops["double"],
        plain_loops["add"],
    )  # as the stand-in compiled them
    assert hasattr(as_vector(np.array([1.0, 2.0])), "dtype")


@pytest.mark.slow
def test_the_compiler_is_not_imported_before_a_loop_is_called():
    pytest.importorskip("numba", reason="numba is not installed: nothing is compiled")
    program = (
        "import sys, perfledger_baselines.history.segmentation.changepoints\n"
        "sys.exit('numba' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def row_of(make, seed):
    logs = make.noise(200, seed=seed)
    logs[60:] += 0.02
    logs[120:] -= 0.04
    weights = np.resize([0.5, 1.0, 2.0], 200)
    sums = np.zeros((5, 201))
    columns = (logs, logs * np.arange(200), weights, weights * logs, weights * logs**2)
    for number, values in enumerate(columns):
        np.cumsum(values, out=sums[number, 1:])
    levels, moments, weights_sum, weighted, squares = (as_vector(row) for row in sums)
    row = PrefixSums(levels, moments, weights_sum, weighted, squares, sd=0.01, dependence=0.2)
    return row, np.arange(5, 200, 5)


@pytest.mark.slow
def test_compiled_kernels_answer_as_plain_ones(make):
    pytest.importorskip("numba", reason="numba is not installed: compiled kernels go untested")
    for seed in range(50):
        row, places = row_of(make, seed)

        interpreted = unwrap(prune)(row, places, RULES)

        assert prune(row, places, RULES) == interpreted


def test_places_too_near_each_other_do_not_both_stand(make):
    row, _ = row_of(make, 1)

    assert len(prune(row, np.array([60, 61, 120]), RULES)) == 2
