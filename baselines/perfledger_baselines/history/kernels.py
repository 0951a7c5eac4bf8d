"""Inner loops in, the same loops out: compiled if numba is installed, as they are if not.

There is one source for both, so that they cannot answer differently. Plain Python is quickest on
lists, compiled code needs arrays: `as_vector` gives a kernel what it takes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiler(name: str = "numba") -> Callable[..., Any] | None:
    """Return what compiles a kernel, or None if it is not installed.

    Compiled code is kept beside the source by numba: a machine compiles once, not each process.
    """
    try:
        module = import_module(name)
    except ModuleNotFoundError:
        return None
    return partial(module.njit, cache=True)


COMPILER = compiler()


def compiled(kernel: Kernel) -> Kernel:
    """Return the kernel compiled, if it can be."""
    if COMPILER is None:
        return kernel
    compiled_kernel: Kernel = COMPILER(kernel)
    return compiled_kernel


def as_vector(values: NDArray[np.float64]) -> Sequence[float]:
    """Return (N,) values as kernels take them."""
    vector = values.tolist() if COMPILER is None else values
    return cast("Sequence[float]", vector)
