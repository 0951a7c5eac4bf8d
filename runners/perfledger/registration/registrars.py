"""Finds which modules register a workload, and words for one that several register."""

import inspect

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


def second_registration(first: str, second: str) -> str:
    """Return why the second of two modules or files cannot register a workload of the first."""
    return f"{first} registers it already, and so does {second}: register it in one of them"
