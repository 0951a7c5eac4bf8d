"""Gives measured code room on CPython's stack, so that its calls take as long at any depth.

CPython keeps the frames of Python functions in chunks of 16 KiB, and gives a chunk back to the
system as soon as it is empty (Python/pystate.c, push_chunk and _PyThreadState_PopFrame). If the
last frame before a step fills a chunk, each call in the step gets a new one from the system, and
takes a hundred times as long. Which depth that is depends on the harness, on pytest and its
plugins, and on each function in between: one more call in head could look like a regression.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

# A frame of this size needs a chunk of its own, of 1 MiB: the next power of two. What is left of it
# is enough for several thousand frames.
STACK_SLOTS = 70_000

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def with_stack_room(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return the function with a new chunk of the stack below it."""

    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=STACK_SLOTS)
    return wraps(function)(call)
