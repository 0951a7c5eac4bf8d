"""Finds which modules register a workload, and words for one that several register."""

import inspect
import sys
from collections.abc import Callable, Sequence

MODULE_BODY = "<module>"  # Python's name for the code of a module


def running_modules() -> tuple[str, ...]:
    """Return the names of the modules whose bodies are being run, innermost first."""
    names: dict[str, None] = {}
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == MODULE_BODY:
            names[str(frame.f_globals.get("__name__", ""))] = None
        frame = frame.f_back
    return tuple(names)


def registrar_of(function: Callable[..., object], registrars: Sequence[str]) -> str:
    """Return the module that registers a function: its own if the function is global there.

    Such a function is the same for every file that calls a helper which registers it. One that is
    made within a function is another one each time.
    """
    module = sys.modules.get(function.__module__)
    is_global = getattr(module, function.__qualname__, None) is function
    return str(function.__module__) if is_global else (*registrars, "")[0]


def repeated_line(
    first: Sequence[str],
    second: Sequence[str],
    *,
    functions: tuple[Callable[..., object], Callable[..., object]],
) -> str:
    """Return why a line cannot register a name a second time, "" if its module is imported again.

    `first` and `second` are the modules being imported at each time. An import makes new code, but
    a loop makes several functions of the same code, and so does a decorator.
    """
    modules = [(*each, "")[0] for each in (first, second)]
    if modules[0] != modules[1]:
        return second_registration(*modules)
    codes = [getattr(inspect.unwrap(each), "__code__", None) for each in functions]
    if functions[0] is functions[1] or codes[0] is not codes[1]:
        return ""
    return (
        "this line registers several functions of this name: use params, or give each function its "
        "own __name__ (in a decorator, with functools.wraps)"
    )


def second_registration(first: str, second: str) -> str:
    """Return why the second of two modules or files cannot register a workload of the first."""
    return f"{first} registers it already, and so does {second}: register it in one of them"
