"""Measures what a process does for its workload after the last step, until it ends."""

import atexit
import gc
import math
import os
import sys
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn, Self

from perfledger.measuring.core_use import other_threads_s, process_cpu_s, queued_s
from perfledger.protocol import MessageType
from perfledger.step_evidence import EndCost

# A thread at its own pace never stops. In this time, steps of .75 s are known to have left a share.
MAX_WAIT_CPU_S = 0.5
# Beside other programs a thread needs longer for that, by chance more or less so.
MAX_WAIT_S = 5.0
POLL_S = 0.01
# Looks at which no other thread was ready. A thread that has just been woken may not be yet.
MIN_PAUSES = 2
OBSTACLE = "its imports have functions or finalizers for the end of a process"

Send = Callable[[MessageType, Mapping[str, object]], object]
# Returns the largest figures of all ranks, None if one of them is unknown.
LargestCost = Callable[[EndCost], EndCost | None]


@dataclass(slots=True)
class ProcessEnd:
    """The CPU time of a process after its steps: teardowns, exit functions and finalizers.

    A step may leave them work, which is no gain. Finalizers are those of classes below `root`, the
    checkout: a process of the harness frees no other object.
    """

    root: Path
    workload: str = ""  # the one that was measured; "" without one
    steps: int = 0  # calls of its step
    _cpu_s: float = 0.0
    _asleep_s: float = 0.0
    _registered: int = 0  # exit functions of the checkout's code

    def watch(self) -> None:
        """Count the exit functions that the checkout's code registers from now on."""
        register = atexit.register

        def count_and_register(
            function: Callable[..., object], /, *args: object, **options: object
        ) -> object:
            caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - as `logging` does
            self._registered += self._is_own(caller.f_code.co_filename)
            return register(function, *args, **options)

        setattr(atexit, "register", count_and_register)  # noqa: B010 - a module's function

    def obstacle(self) -> str:
        """Return why forks of this process would not end as a process does, "" if they would.

        A fork must not run what its parent registered, such as removing a folder: the next fork
        needs it.
        """
        is_own = self._registered or any(self._finalize_functions()) or any(self._finalizers())
        return OBSTACLE if is_own else ""

    def begin(self, workload: str, *, steps: int) -> None:
        """Note the workload whose steps have ended, and how often its step ran."""
        self.workload, self.steps = workload, steps

    @contextmanager
    def teardowns(self) -> Generator[ExitStack]:
        """Collect the teardowns of a workload, and add their time when they are called at last."""
        stack = ExitStack()
        try:
            yield stack
        finally:
            self.close(stack)

    def close(self, teardowns: ExitStack) -> None:
        """Call the teardowns so far, and add their time."""
        with self.stopwatch():
            teardowns.close()

    @contextmanager
    def stopwatch(self) -> Generator[Callable[[], None]]:
        """Add the CPU time of what is done inside, and that in which its thread sleeps.

        The function that is yielded does so earlier, if that never ends.
        """
        began = _Clocks.read()
        is_open = True

        def stop() -> None:
            nonlocal is_open
            if is_open:
                cpu_s, asleep_s = began.until(_Clocks.read())
                self._cpu_s, self._asleep_s = self._cpu_s + cpu_s, self._asleep_s + asleep_s
            is_open = False

        try:
            yield stop
        finally:
            stop()

    def finish(self, send: Send, *, largest: LargestCost = lambda cost: cost) -> None:
        """Run the exit functions and the finalizers of a measured process, and send their time.

        `largest` compares it with that of other ranks.
        """
        if not self.workload:
            return
        tasks = len(other_threads_s())
        with (
            self.stopwatch() as stop,
            _before_exit(stop, partial(self._send, send, tasks, largest)),
        ):
            atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - see `leave`
            for finalizer in [*self._finalizers()]:
                with suppress(BaseException):  # a boundary, as where Python calls it
                    finalizer()
            if any(map(self._has_own_code, gc.callbacks)):
                gc.collect()  # as the interpreter does
        asleep_s = self._asleep_s  # without this process's own wait for others
        with self.stopwatch():
            _await_others()
        self._asleep_s = asleep_s
        self._send(send, tasks, largest)

    def _send(self, send: Send, tasks: int, largest: LargestCost) -> None:
        cost = EndCost(steps=self.steps, cpu_s=self._cpu_s, tasks=tasks, asleep_s=self._asleep_s)
        most = largest(cost)
        if most is not None and math.isfinite(most.cpu_s):
            with suppress(OSError):  # the user's code may have closed every descriptor
                send(MessageType.ENDED, {"workload": self.workload, "end_cost": asdict(most)})

    def _is_own(self, file: str) -> bool:
        return file.startswith(f"{self.root}{os.sep}")

    def _has_own_code(self, function: object) -> bool:
        code = getattr(function, "__code__", None)
        return self._is_own(getattr(code, "co_filename", ""))

    def _finalize_functions(self) -> Iterator[object]:
        """Yield the checkout's functions that `weakref.finalize` calls at exit."""
        entries = getattr(weakref.finalize, "_registry", {})
        for each in tuple(entries.values()):
            if each.atexit and self._has_own_code(each.func):
                yield each.func

    def _finalizers(self) -> Iterator[Callable[[], object]]:
        """Yield the finalizers of all objects whose class has one in the checkout."""
        if not any(self._has_own_code(vars(each).get("__del__")) for each in _classes()):
            return
        objects: list[object] = gc.get_objects()
        for each in objects:
            finalizer = getattr(type(each), "__del__", None)
            if finalizer is not None and self._has_own_code(finalizer):
                yield finalizer.__get__(each)


@dataclass(frozen=True, slots=True)
class _Clocks:
    """The clocks of this process and thread, in seconds."""

    wall: float
    cpu: float
    queued: float

    @classmethod
    def read(cls) -> Self:
        """Return what they show now."""
        return cls(time.monotonic(), process_cpu_s(), queued_s())

    def until(self, end: Self) -> tuple[float, float]:
        """Return the CPU time until then, and the time in which this thread slept.

        Where other threads compute meanwhile, it may wait for them: that is no sleep.
        """
        used_s, waited_s = end.cpu - self.cpu, end.queued - self.queued
        # Of a child that ends unnoticed the time is lost, and the sum falls.
        cpu_s = used_s if math.isnan(used_s) else max(0.0, used_s)
        asleep_s = end.wall - self.wall - cpu_s - waited_s
        return cpu_s, 0.0 if math.isnan(asleep_s) else max(0.0, asleep_s)


@contextmanager
def _before_exit(*reports: Callable[[], None]) -> Generator[None]:
    """Call some functions if this process ends itself inside, by `os._exit`.

    Code that has imported the function itself is not noticed.
    """
    leave, process = os._exit, os.getpid()

    def report_and_leave(status: int) -> NoReturn:
        if os.getpid() == process:  # not a fork of it
            for report in reports:
                report()
        leave(status)

    setattr(os, "_exit", report_and_leave)  # noqa: B010 - a module's function
    try:
        yield
    finally:
        setattr(os, "_exit", leave)  # noqa: B010


def _await_others() -> None:
    """Wait while other threads or processes have work that was left to them, for a short time."""
    ends_at, pauses, used_s = time.monotonic() + MAX_WAIT_S, 0, 0.0
    while pauses < MIN_PAUSES and used_s < MAX_WAIT_CPU_S and time.monotonic() < ends_at:
        if any(each.is_ready for each in other_threads_s().values()):
            began_s = process_cpu_s()
            time.sleep(POLL_S)
            pauses, used_s = 0, used_s + process_cpu_s() - began_s
        else:
            time.sleep(0)
            pauses += 1


def _classes() -> Iterator[type]:
    """Yield all classes, in any order."""
    ids: set[int] = set()  # a metaclass may refuse to be hashed
    waiting: list[type] = [object]
    while waiting:
        subclasses: list[type] = type.__subclasses__(waiting.pop())
        for each in subclasses:
            if id(each) not in ids:
                ids.add(id(each))
                waiting.append(each)
                yield each
