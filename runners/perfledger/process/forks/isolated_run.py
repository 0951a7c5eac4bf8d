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
from perfledger.process.forks.process_end import ProcessEnd
from perfledger.process.message_channel import MessageChannel

# Time limit, in seconds, of the exit functions of a workload that has answered.
MAX_EXIT_S = 15


def run_in_fork(
    channel: MessageChannel,
    task: Callable[[], object],
    *,
    end: ProcessEnd,
    objects: process_memory.PageRanges = (),
) -> None:
    """Run the task in a fork, which answers on the channel; return when the task is done.

    If the fork ends early, end this process in the same way, with its exit status or signal. The
    fork first copies the pages of `objects`: only a measured task needs its own. `end` is that of
    the task's workload, if it measures one.
    """
    flush_output()
    pages = process_memory.file_pages()
    with mmap.mmap(-1, 1) as is_done:
        process = quiet_fork()
        if process == 0:
            _run_and_leave(channel, task, is_done, pages, end=end, objects=objects)
        _, status = os.waitpid(process, 0)
        child_processes.kill_all()  # daemons of a fork that was killed
        if not is_done[0]:
            _end_like(os.waitstatus_to_exitcode(status))


def leave(status: int) -> NoReturn:
    """Run the registered exit functions, then end the process and those that it left running.

    No object is freed: with torch imported, freeing every object takes a second or more in each
    child of a check.
    """
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - there is no public function
    flush_output()
    child_processes.kill_all()
    os._exit(status)


def flush_output() -> None:
    """Flush standard output and error; the workload may have closed them."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _run_and_leave(
    channel: MessageChannel,
    task: Callable[[], object],
    is_done: mmap.mmap,
    pages: process_memory.PageRanges,
    *,
    end: ProcessEnd,
    objects: process_memory.PageRanges,
) -> NoReturn:
    try:
        channel.answer_from_fork()
        _forget_exit_functions()
        child_processes.adopt_orphans()  # a fork inherits neither
        child_processes.end_with_parent()
        process_memory.map_pages(pages)
        if objects:
            process_memory.copy_objects(objects)
        task()
    except BaseException:  # a boundary: the harness fails, such as without its agent
        traceback.print_exc()
        os._exit(1)
    is_done[0] = 1
    _limit_time()
    end.finish(channel.send)
    leave(0)


def _forget_exit_functions() -> None:
    """Leave the parent's exit functions, such as removing its files, to the parent.

    weakref's and multiprocessing's functions stay: they clean up what this process creates. The
    latter knows which process it runs in; the former's existing entries are marked as the parent's.
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
    """End with this exit status, or with a signal if it is negative."""
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
