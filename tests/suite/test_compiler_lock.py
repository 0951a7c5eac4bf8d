"""One process at a time compiles, until the outermost function is compiled."""

import fcntl

import pytest
from numba.core.event import Event

from tests.suite.compiler_lock import CompilerLock

EVENT = Event("numba:compiler_lock", "START", data=None)


def test_the_file_is_locked_until_the_outermost_function_is_compiled(tmp_path):
    path = tmp_path / "loops.py"
    path.touch()
    lock = CompilerLock(path)
    lock.on_start(EVENT)
    lock.on_start(EVENT)
    lock.on_end(EVENT)

    with path.open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

        lock.on_end(EVENT)

        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
