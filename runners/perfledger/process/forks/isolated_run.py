"""Runs a workload in a fork of the process that imported the user's code, and ends processes.

All forks of a process start from the same state, and what one of them leaves behind ends with it.
"""

import atexit
import mmap
import os
import resource
import signal
import sys
import traceback
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from perfledger.meters import child_processes, process_memory
from perfledger.process.forks.obstacle import quiet_fork
from perfledger.process.message_channel import MessageChannel

# Of the exit functions of a workload that has answered.
MAX_EXIT_S = 15


def run_in_fork(channel: MessageChannel, task: Callable[[], object]) -> None:
    """Run the task in a fork, which answers on the channel.

    Return when the task is done. Else end this process as the fork ended, by the same exit status
    or signal.
    """
    flush_output()
    pages = process_memory.file_pages()
    with mmap.mmap(-1, 1) as is_done:
        process = quiet_fork()
        if process == 0:
            _run_and_leave(channel, task, is_done, pages)
        _, status = os.waitpid(process, 0)
        child_processes.kill_all()  # daemons of a fork that was killed
        if not is_done[0]:
            _end_like(os.waitstatus_to_exitcode(status))


def leave(status: int) -> NoReturn:
    """Run the registered exit functions and end the process, and those that it left running.

    No object is freed: the interpreter would free every one, which with torch imported takes a
    second and more in each child of a check.
    """
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - there is no public function
    flush_output()
    child_processes.kill_all()
    os._exit(status)


def flush_output() -> None:
    """Write what standard output and error hold back; the workload may have closed them."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _run_and_leave(
    channel: MessageChannel,
    task: Callable[[], object],
    is_done: mmap.mmap,
    pages: process_memory.PageRanges,
) -> NoReturn:
    try:
        channel.answer_from_fork()
        _forget_exit_functions()
        child_processes.adopt_orphans()  # a fork does not inherit it
        process_memory.map_pages(pages)
        process_memory.give_back()  # copies the pages with objects, which a collection writes to
        task()
    except BaseException:  # a boundary: the harness's own failure, such as an agent that is gone
        traceback.print_exc()
        os._exit(1)
    is_done[0] = 1
    _limit_time()
    leave(0)


def _forget_exit_functions() -> None:
    """Leave what is to be done at the parent's exit to the parent, such as removing its files.

    weakref's and multiprocessing's functions stay: they end what this process makes. The latter
    knows its own process, the former is told what is the parent's.
    """
    atexit._clear()  # pyright: ignore[reportPrivateUsage] - there is no public function
    registry: dict[weakref.finalize[..., object], object]
    registry = getattr(weakref.finalize, "_registry", {})
    for each in tuple(registry):
        each.atexit = False
    for function in (
        getattr(weakref.finalize, "_exitfunc", None),
        getattr(sys.modules.get("multiprocessing.util"), "_exit_function", None),
    ):
        if function is not None:
            atexit.register(function)


def _limit_time() -> None:
    """Have the system end this process if its exit functions hang."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.alarm(MAX_EXIT_S)


def _end_like(exit_code: int) -> NoReturn:
    """End with this exit status, or by the signal of a negative one."""
    if exit_code < 0:
        number = -exit_code
        with suppress(OSError, ValueError):
            _, most = resource.getrlimit(resource.RLIMIT_CORE)
            resource.setrlimit(resource.RLIMIT_CORE, (0, most))  # the fork has left one
        with suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(exit_code if exit_code >= 0 else 1)
