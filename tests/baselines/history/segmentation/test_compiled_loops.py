import sys
from types import ModuleType

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
    monkeypatch.setitem(sys.modules, "stand_in_compiler", module)
    return module


def test_without_a_compiler_there_is_none():
    assert compiler("no_such_compiler") is None


def test_kernels_stay_as_they_are_without_a_compiler(monkeypatch):
    monkeypatch.setattr(compiled_loops, "COMPILER", None)

    assert compile_loop(len) is len
    assert as_vector(np.array([1.0, 2.0])) == [1.0, 2.0]


def test_kernels_are_compiled_once_for_all_processes_if_they_can_be(monkeypatch, stand_in):
    monkeypatch.setattr(compiled_loops, "COMPILER", compiler("stand_in_compiler"))
    vector = np.array([1.0, 2.0])

    kernel, as_given = compile_loop(len), as_vector(vector)

    assert kernel is len
    assert stand_in.compiled == [(len, True)]
    assert hasattr(as_given, "dtype")


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

        interpreted = getattr(prune, "py_func", prune)(row, places, RULES)

        assert prune(row, places, RULES) == interpreted


def test_places_too_near_each_other_do_not_both_stand(make):
    row, _ = row_of(make, 1)

    assert len(prune(row, np.array([60, 61, 120]), RULES)) == 2
