"""Records the programs that a process starts, and those that they start in turn.

A Python program records what it starts too, with this file, which its sitecustomize runs: so it
imports nothing of perfledger, and as little else as possible.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

EVENTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.exec", "os.system"})
PATH_VARIABLE = "PYTHONPATH"
# The variables that decide what a program runs and imports.
VARIABLES = (PATH_VARIABLE, "PATH")
MAX_PROGRAMS = 1000  # that one process starts: the others are like these
STARTS = "starts"  # the file, below the folder of a record
# Python runs the first sitecustomize on its search path; the program's own follows.
SITECUSTOMIZE = """
import sys
sys.path[:] = [each for each in sys.path if each != {folder!r}]
try:
    with open({source!r}, encoding="utf-8") as file:
        names = {{"__name__": "perfledger_program_starts"}}
        exec(compile(file.read(), {source!r}, "exec"), names)
    names["record"]({folder!r})
except Exception:
    pass
own = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError as error:
    if error.name != "sitecustomize":
        raise
finally:
    sys.modules.setdefault("sitecustomize", own)
"""

Hook = Callable[[str, "tuple[Any, ...]"], object]


def sitecustomize(folder: str) -> str:
    """Return what programs run at their start if they find the folder of a record."""
    return SITECUSTOMIZE.format(folder=folder, source=__file__)


def record(folder: str) -> None:
    """Add what this process starts from now on to the record in a folder."""
    sys.addaudithook(listener(folder))


def listener(folder: str) -> Hook:
    """Return an audit hook that adds started programs to the record in a folder."""
    path = os.path.join(folder, STARTS)  # noqa: PTH118 - a Path takes longer to import
    count = 0

    def hear(event: str, arguments: "tuple[Any, ...]") -> None:
        nonlocal count
        if event not in EVENTS or count >= MAX_PROGRAMS:
            return
        count += 1
        with suppress(Exception):  # a boundary: any object may be an argument
            line = json.dumps(_start_of(event, arguments)) + "\n"
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)  # no longer there: no record
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)

    return hear


def _start_of(event: str, arguments: "tuple[Any, ...]") -> "list[Any]":
    """Return the words, variables and folder of the program of an audit event.

    https://docs.python.org/3/library/audit_events.html
    """
    executable, folder, variables = None, None, None
    if event == "os.system":
        words: Any = ["sh", "-c", *arguments]
    elif event == "subprocess.Popen":
        executable, words, folder, variables = arguments
    else:
        executable, words, variables = arguments
    texts: list[Any] = [words] if isinstance(words, (str, bytes)) else list(words)
    names = [os.fsdecode(each) for each in texts]
    if executable is not None and names:
        names[0] = os.fsdecode(executable)
    mapping: Mapping[Any, Any] = os.environ if variables is None else variables
    texts_by_name = {os.fsdecode(name): os.fsdecode(value) for name, value in dict(mapping).items()}
    path_variables = {name: texts_by_name[name] for name in VARIABLES if name in texts_by_name}
    return [names, path_variables, os.path.abspath(os.fsdecode(folder or "."))]  # noqa: PTH100 - as above
