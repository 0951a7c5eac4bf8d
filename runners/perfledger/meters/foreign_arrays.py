"""Finds the arrays of other libraries that a step handles, such as NumPy's.

A framework counts its own operators. What a step computes with NumPy is in none of its counts, and
NumPy does not report its calls. But large arrays are in the variables of the functions that use
them, or receive the calls of their methods.
"""

import sys
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, cast

# Elements of an array whose work counts: smaller ones hold shapes, indices and constants.
MIN_ELEMENTS = 1000
OWN_PACKAGE = "perfledger"
PROTOCOLS = ("function", "array")  # of torch and of JAX, with the package's name before
UNKNOWN_LIBRARIES = "unknown, because the step uses a profiler of its own"

Foreign = Any  # an object of the user's code


@contextmanager
def foreign_arrays(*packages: str, traced_in: str = "") -> Generator[Collection[str]]:
    """Yield the libraries of large arrays in the variables of the functions that run meanwhile.

    Arrays and functions of the framework's `packages` do not count. Only this thread is watched.
    `traced_in` is the framework's module that traces functions: what a traced function handles is
    part of its program from then on, and no work of the steps.
    """
    libraries: dict[str, None] = {}
    before = sys.getprofile()

    def look(frame: FrameType, event: str, argument: Foreign) -> None:
        with suppress(Exception):  # a boundary: an error here would be raised in the user's step
            look_at(frame, event, argument)

    def look_at(frame: FrameType, event: str, argument: Foreign) -> None:
        match event:
            case "return" if not _is_of(frame, packages):
                values = (*frame.f_locals.values(), argument, *_globals_of(frame))
            case "c_call" if not _is_of(frame, packages):
                values = (getattr(argument, "__self__", None),)
            case _:
                return
        names = dict.fromkeys(_libraries(values, packages))
        if names and not _is_traced(frame, traced_in):
            libraries.update(names)

    sys.setprofile(look)
    try:
        yield libraries.keys()
    finally:
        if sys.getprofile() is not look:  # what was called since is not known
            libraries[UNKNOWN_LIBRARIES] = None
        sys.setprofile(before)


def _is_of(frame: FrameType, packages: Collection[str]) -> bool:
    return _module(frame).partition(".")[0] in packages


def _is_traced(frame: FrameType, tracer: str) -> bool:
    """Return whether the framework's tracer called a frame, after the harness called the step."""
    outer: FrameType | None = frame
    while tracer and outer is not None and _module(outer).partition(".")[0] != OWN_PACKAGE:
        if _module(outer) == tracer:
            return True
        outer = outer.f_back
    return False


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _globals_of(frame: FrameType) -> Iterable[object]:
    """Return the values of the global names that a function uses."""
    names = frame.f_globals
    return [names[name] for name in frame.f_code.co_names if name in names]


def _libraries(values: Iterable[object], packages: Collection[str]) -> Iterable[str]:
    for value in values:
        library = ""
        with suppress(Exception):  # a boundary: a type may not answer
            library = _library_of(type(value), packages)
        if library not in {"", *packages} and _elements(value) >= MIN_ELEMENTS:
            yield library


def _library_of(kind: type, packages: Collection[str]) -> str:
    """Return the library of an array's type, or of the type that it extends; "" for no array.

    A type with the framework's protocol (`__torch_function__`, `__jax_array__`) computes with the
    framework's operators: linear_operator's, tensordict's, Keras's. Look-ups on the type are
    static: attributes of a foreign object may run its code.
    """
    if not (hasattr(kind, "dtype") and hasattr(kind, "shape")):
        return ""
    for package in packages:
        if any(hasattr(kind, f"__{package}_{name}__") for name in PROTOCOLS):
            return package
    bases = [base for base in kind.__mro__ if hasattr(base, "dtype")]
    return bases[-1].__module__.partition(".")[0]


def _elements(value: Foreign) -> int:
    total = 1
    try:
        for length in cast("Iterable[Any]", value.shape):
            total *= int(length)
    except Exception:  # a boundary: a lazy array may not know its shape
        return 0
    return total
