"""One process at a time compiles, until the outermost function is compiled."""

import fcntl
from threading import Thread

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


def test_two_threads_that_wait_for_another_process_both_get_the_lock(tmp_path):
    path = tmp_path / "loops.py"
    path.touch()
    lock = CompilerLock(path)
    done = []

    def compile_one():
        lock.on_start(EVENT)
        lock.on_end(EVENT)
        done.append(True)

    threads = [Thread(target=compile_one, daemon=True) for _ in range(2)]
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()

    assert done == [True, True]
