"""Compiles inner loops with numba if it is installed, and runs them as Python if not.

Both use the same source, so they cannot differ. Plain Python is fastest on lists and compiled code
needs arrays: `as_vector` converts to the right one.
"""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any, TypeVar, cast

from perfledger_baselines.estimation.arrays import FloatArray

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiler(name: str = "numba") -> Callable[..., Any] | None:
    """Return the compiler of loops, or None if it is not installed.

    It is imported when the first loop is compiled. numba caches compiled code beside the source:
    each machine compiles once, not each process.
    """
    if find_spec(name) is None:
        return None

    def compile_now(loop: Callable[..., Any]) -> Callable[..., Any]:
        compiled_loop: Callable[..., Any] = import_module(name).njit(loop, cache=True)
        return compiled_loop

    return compile_now


COMPILER = compiler()


class DeferredLoop:
    """A loop that is compiled when any of all loops is first called.

    The compiler takes tens of megabytes, which a process that searches no history does not need.
    """

    def __init__(
        self,
        loop: Callable[..., Any],
        compile_now: Callable[..., Any],
        all_loops: list["DeferredLoop"],
    ) -> None:
        update_wrapper(self, loop)
        self.loop = loop
        self.compiled: Callable[..., Any] | None = None
        self._compile_now = compile_now
        self._all = all_loops
        self._all.append(self)

    def __call__(self, *arguments: object) -> Any:  # noqa: ANN401 - the loop's own result
        """Run the compiled loop."""
        with _COMPILING:
            if self.compiled is None:
                self._compile_all()
        return cast("Callable[..., Any]", self.compiled)(*arguments)

    def _compile_all(self) -> None:
        """Compile all loops, and let each find the compiled others by their names."""
        for one in self._all:
            one.compiled = one.compiled or self._compile_now(one.loop)
        for one in self._all:
            names = one.loop.__globals__
            replaced = {
                name: value.compiled
                for name, value in names.items()
                if isinstance(value, DeferredLoop) and value.compiled is not None
            }
            names.update(replaced)


_COMPILING = Lock()
_LOOPS: list[DeferredLoop] = []


def compile_loop(loop: Loop) -> Loop:
    """Return the loop, which will be compiled if numba is installed."""
    return loop if COMPILER is None else cast("Loop", DeferredLoop(loop, COMPILER, _LOOPS))


def as_vector(values: FloatArray) -> Sequence[float]:
    """Return (N,) values in the form that the loops take."""
    vector = values.tolist() if COMPILER is None else values
    return cast("Sequence[float]", vector)
