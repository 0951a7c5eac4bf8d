import importlib
import sys

import numpy
import pytest

from perfledger.meters.foreign_arrays import (
    MIN_ELEMENTS,
    UNKNOWN_LIBRARIES,
    foreign_arrays,
)
from perfledger.meters.torch_work import count_torch_work

LARGE = numpy.ones(MIN_ELEMENTS)


class OwnArray:
    __module__ = "framework.arrays"
    dtype = "f4"
    shape = (MIN_ELEMENTS,)


class OwnSubclass(OwnArray):
    """The user's array, which extends the framework's."""


class Wrapper:
    """An array of another library that computes with the framework's operators."""

    dtype = "f4"
    shape = (MIN_ELEMENTS,)

    @classmethod
    def __framework_function__(cls):
        raise NotImplementedError


class Variable:
    """A value of another library that the framework takes for an array of its own."""

    dtype = "f4"
    shape = (MIN_ELEMENTS,)

    def __framework_array__(self):
        raise NotImplementedError


class LazyArray:
    dtype = "f4"

    @property
    def shape(self):
        raise RuntimeError


class UnknowableKind(type):
    def __getattr__(cls, name):
        raise RuntimeError(name)


class Unknowable(metaclass=UnknowableKind):
    """An object whose type cannot be asked for attributes."""


class Unlistable(dict[str, object]):
    """A namespace, as of a class's body, whose values cannot be listed."""

    def values(self):
        raise RuntimeError


def seen_libraries(step):
    with foreign_arrays("framework") as libraries:
        step()
    return list(libraries)


def local():
    values = numpy.arange(MIN_ELEMENTS)
    return values[0]


def parameter(values):
    return values[0]


def is_pair(one, other):
    return one is not other


def has_first(array):
    return array is not None


@pytest.mark.parametrize(
    "step",
    [
        local,
        lambda: parameter(LARGE),
        lambda: LARGE @ LARGE,
        lambda: numpy.arange(MIN_ELEMENTS),
        lambda: numpy.arange(MIN_ELEMENTS).sum(),
        lambda: parameter(numpy.ones((10, MIN_ELEMENTS // 10)).view(numpy.matrix)),
    ],
)
def test_a_large_array_that_a_function_handles_is_seen(step):
    assert seen_libraries(step) == ["numpy"]


@pytest.mark.parametrize(
    "step",
    [
        lambda: parameter(numpy.arange(MIN_ELEMENTS - 1)),
        lambda: numpy.sqrt(64),
        lambda: has_first(OwnArray()),
        lambda: has_first(OwnSubclass()),
        lambda: has_first(Wrapper()),
        lambda: has_first(Variable()),
        lambda: parameter([1.0] * MIN_ELEMENTS),
        lambda: parameter([LazyArray()]),
    ],
)
def test_small_arrays_and_the_frameworks_own_are_not_foreign(step):
    assert seen_libraries(step) == []


def test_an_object_that_cannot_be_examined_does_not_end_the_step():
    results = []

    assert seen_libraries(lambda: results.append(parameter([1, Unknowable()]))) == []
    assert seen_libraries(lambda: results.append(has_first(Unknowable()))) == []
    assert seen_libraries(lambda: results.append(is_pair(Unknowable(), LARGE))) == ["numpy"]
    assert (
        seen_libraries(lambda: exec("results.append(2)", {"results": results}, Unlistable())) == []
    )
    assert results == [1, True, True, 2]


def test_arrays_in_the_frameworks_own_functions_are_its_work():
    names = {"__name__": "framework.inside", "large": LARGE}
    exec("def inside():\n    return large[0]", names)

    assert seen_libraries(names["inside"]) == []


def test_an_array_that_does_not_know_its_shape_is_left_out():
    def handles(array):
        return array is None

    assert seen_libraries(lambda: handles(LazyArray())) == []


def test_the_profile_function_of_others_is_restored():
    def other(*_):
        return None

    sys.setprofile(other)
    try:
        seen_libraries(local)
        after = sys.getprofile()
    finally:
        sys.setprofile(None)

    assert after is other


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("is_real", [True, False])
def test_counts_of_a_step_that_also_computes_with_numpy_are_lower_bounds(torch, is_real):
    def set_up():
        large = numpy.ones((64, 64))
        x = torch.ones(8, 8)

        def step():
            y = x @ x
            return float(y.sum()) if is_real else y, large @ large

        return step

    counted = count_torch_work(torch, importlib.import_module, set_up)

    assert not any(each.is_complete for each in counted.counts)
    assert counted.limits[-1] == (
        "the work of libraries whose arrays the step uses beside torch's is not counted: numpy"
    )


@pytest.mark.parametrize("hook", [None, lambda *_: None])
def test_after_a_profiler_of_the_steps_own_the_libraries_are_unknown(hook):
    before = sys.getprofile()

    assert seen_libraries(lambda: sys.setprofile(hook)) == [UNKNOWN_LIBRARIES]
    assert sys.getprofile() is before
