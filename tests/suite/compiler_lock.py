"""Lets one process of a test run compile at a time, with numba: the next one finds its cache."""

import fcntl
import os
from pathlib import Path
from threading import RLock

from numba.core.event import Event, Listener, register


class CompilerLock(Listener):
    """Lock on a file, held while numba loads or compiles a function.

    A second thread waits for the first one: opened by both, the file would lock this process out.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = RLock()
        self._file = -1
        self._depth = 0  # compiling a function compiles those that it calls

    def on_start(self, event: Event) -> None:  # noqa: ARG002 - numba's signature
        """Wait for the lock."""
        self._thread.acquire()
        if self._depth == 0:
            self._file = os.open(self._path, os.O_RDONLY)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._depth += 1

    def on_end(self, event: Event) -> None:  # noqa: ARG002 - numba's signature
        """Release the lock."""
        self._depth -= 1
        if self._depth == 0:
            os.close(self._file)
        self._thread.release()


def compile_in_turns(path: Path) -> None:
    """Let numba compile in one process at a time of those that name this file."""
    register("numba:compiler_lock", CompilerLock(path))
