"""Compiles inner loops with numba if it is installed, and runs them as Python if not.

Both use the same source, so they cannot differ. Plain Python is fastest on lists and compiled code
needs arrays: `as_vector` converts to the right one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, TypeVar, cast

from perfledger_baselines.estimation.arrays import FloatArray

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiler(name: str = "numba") -> Callable[..., Any] | None:
    """Return the compiler of loops, or None if it is not installed.

    numba caches compiled code beside the source: each machine compiles once, not each process.
    """
    try:
        module = import_module(name)
    except ModuleNotFoundError:
        return None
    return partial(module.njit, cache=True)


COMPILER = compiler()


def compile_loop(loop: Loop) -> Loop:
    """Return the loop, compiled if numba is installed."""
    if COMPILER is None:
        return loop
    compiled_loop: Loop = COMPILER(loop)
    return compiled_loop


def as_vector(values: FloatArray) -> Sequence[float]:
    """Return (N,) values in the form that the loops take."""
    vector = values.tolist() if COMPILER is None else values
    return cast("Sequence[float]", vector)
