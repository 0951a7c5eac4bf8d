"""Servers and a load become the latencies that its requests have, point by point.

All requests wait in one line, in the order in which they were to begin; a server takes the first
when it is free. A latency runs from when its request was to begin, not from when the server came
to it: whoever measures from there leaves out all who waited behind a slow one ("coordinated
omission": Tene, "How NOT to measure latency", 2013; wrk2 measures as we do). In an open loop those
times are fixed beforehand; a late server finds all who have come meanwhile, and they count.
"""

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import Protocol, Self

from perfledger.load import MAX_CONCURRENCY, MAX_REQUESTS, MIN_GAIN, Load, Mode, Served

# Of the largest closed-loop throughput: with random services one waits a third of a service at the
# first, nine of them at the last (M/M/1), and the bend lies in between.
SHARES = (0.25, 0.5, 0.7, 0.8, 0.9)
# Of an open point's seconds, before those that count: an empty queue is no steady state.
RAMP = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """What driving reads of the host; tests script it."""

    now: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep

    def wait_until(self, due: float) -> None:
        """Sleep until then; the host wakes a little late, which counts as latency."""
        while (left := due - self.now()) > 0:
            self.sleep(left)


@dataclass(frozen=True, slots=True)
class Server:
    """A step that is set up and warm: `run` returns when the device has finished one."""

    run: Callable[[], object]
    placed: Callable[[], AbstractContextManager[object]]  # entered by its thread for each point


class Line(Protocol):
    """Where requests wait for a server."""

    def take(self) -> float | None:
        """Return when the next request is to begin; None when there is none any more."""
        ...

    def give(self, due: float, start: float, end: float) -> None:
        """Hear that the request due then was served from `start` to `end`."""
        ...

    def close(self) -> None:
        """Have no further request: a server failed."""
        ...


class Crew:
    """Servers with a thread each; the first one has that of its maker.

    What a set-up changes for its own thread (gradients off, a default device) is then in force when
    its step runs. They are set up one after the other: two at once would share random states.
    """

    def __init__(self, set_up: Callable[[], Server], count: int) -> None:
        with ExitStack() as stack:
            self._threads = [
                stack.enter_context(ThreadPoolExecutor(1, "perfledger-server"))
                for _ in range(count - 1)
            ]
            self._servers = [set_up()]
            self._servers += [thread.submit(set_up).result() for thread in self._threads]
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Return the crew, ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads."""
        self._stack.close()

    def serve(self, line: Line, timer: Timer, *, most: int = MAX_CONCURRENCY) -> None:
        """Have at most so many servers take requests until there are none; raise what one does."""
        first, *others = self._servers[:most]
        working = [
            thread.submit(_serve, server, line, timer)
            for thread, server in zip(self._threads, others, strict=False)
        ]
        try:
            _serve(first, line, timer)
        finally:
            for each in working:
                each.result()


def drive(load: Load, crew: Crew, timer: Timer, *, tell: Callable[[Served], None]) -> None:
    """Tell what became of each point of the load when it is done."""
    if load.is_sweep:
        _sweep(load, crew, timer, tell)
    for clients in load.concurrency:
        tell(_closed_loop(clients, crew, timer, seconds=load.seconds))
    for place, rate in enumerate(load.rates):
        tell(_poisson(rate, place, load, crew, timer))
    if load.arrivals_s:
        span = load.arrivals_s[-1]
        tell(_open_loop(load.arrivals_s, load, crew, timer, seconds=span))


def _sweep(load: Load, crew: Crew, timer: Timer, tell: Callable[[Served], None]) -> None:
    clients, best, is_enough = 1, 0.0, False
    while clients <= MAX_CONCURRENCY and not is_enough:
        served = _closed_loop(clients, crew, timer, seconds=load.seconds)
        tell(served)
        is_enough = served.per_second < (1 + MIN_GAIN) * best
        best = max(best, served.per_second)
        clients *= 2
    for place, share in enumerate(SHARES):
        tell(_poisson(share * best, place, load, crew, timer))


def _closed_loop(clients: int, crew: Crew, timer: Timer, *, seconds: float) -> Served:
    """Have so many clients that each send their next request when they have the last one's answer.

    The first answer of each is left out: they all came at once. In the end each request under way
    is answered, so that a stall there counts for all whom it held up.
    """
    line = _Clients(clients, seconds=seconds, now=timer.now())
    crew.serve(line, timer, most=clients)
    return line.served()


def _poisson(rate: float, place: int, load: Load, crew: Crew, timer: Timer) -> Served:
    """Have requests come at random, `rate` a second, whatever becomes of the others.

    Their number is fixed; given it, a Poisson process's times are independent and uniform. So the
    rate is the one asked for, and not another by chance. A ramp before them is not counted. A rate
    that comes again has other times: `place` is its place among the rates.
    """
    seconds = min(load.seconds, MAX_REQUESTS / rate)
    count = max(1, round(rate * seconds))
    draw = random.Random(f"{load.seed} {place} {rate}")  # noqa: S311 - repeatable arrivals, not a secret
    ramp = [draw.uniform(-RAMP * seconds, 0.0) for _ in range(round(RAMP * count))]
    counted = [draw.uniform(0.0, seconds) for _ in range(count)]
    return _open_loop(sorted(ramp + counted), load, crew, timer, seconds=seconds)


def _open_loop(
    arrivals_s: Sequence[float], load: Load, crew: Crew, timer: Timer, *, seconds: float
) -> Served:
    """Have requests begin at these times; those before 0 are served and not counted.

    Those that no server came to within `load.seconds` after the last of `seconds` are given up.
    """
    line = _Arrivals(arrivals_s, seconds=seconds, patience=load.seconds, timer=timer)
    crew.serve(line, timer)
    return line.served()


def _serve(server: Server, line: Line, timer: Timer) -> None:
    with server.placed():
        try:
            while (due := line.take()) is not None:
                timer.wait_until(due)
                start = timer.now()
                server.run()
                line.give(due, start, timer.now())
        except BaseException:
            line.close()
            raise


class _Clients:
    """The requests of a closed loop; each is due when its client has the answer to its last."""

    def __init__(self, clients: int, *, seconds: float, now: float) -> None:
        self._clients, self._seconds = clients, seconds
        self._due = deque([now] * clients)
        self._first = clients  # answers that are left out
        self._latencies: list[float] = []
        self._services: list[float] = []
        self._start = self._end = now
        self._answered = 0
        self._is_over = False
        self._lock = Lock()

    def take(self) -> float | None:
        with self._lock:
            return self._due.popleft() if self._due else None

    def give(self, due: float, start: float, end: float) -> None:
        with self._lock:
            if self._first > 0:
                self._first -= 1
                self._start = end
            else:
                self._latencies.append(end - due)
                self._services.append(end - start)
            if not self._is_over:
                self._end, self._answered = end, len(self._latencies)
                is_full = self._answered + self._clients > MAX_REQUESTS
                is_long = self._answered > 0 and end - self._start >= self._seconds
                self._is_over = is_full or is_long
            if not self._is_over:
                self._due.append(end)

    def close(self) -> None:
        with self._lock:
            self._is_over = True
            self._due.clear()

    def served(self) -> Served:
        return Served(
            mode=Mode.CLOSED,
            concurrency=self._clients,
            offered_per_second=None,
            latencies_s=tuple(self._latencies),
            services_s=tuple(self._services),
            seconds=self._end - self._start,
            answered=self._answered,
        )


class _Arrivals:
    """The requests of an open loop: they come when they come."""

    def __init__(
        self, arrivals_s: Sequence[float], *, seconds: float, patience: float, timer: Timer
    ) -> None:
        self._seconds, self._now = seconds, timer.now
        self._start = timer.now() - min(0.0, arrivals_s[0])
        self._end = self._start + seconds
        self._give_up_at = self._end + patience
        self._due = deque(self._start + each for each in arrivals_s)
        self._latencies: list[float] = []
        self._services: list[float] = []
        self._offered = sum(0 <= each < seconds for each in arrivals_s)
        self._answered = 0
        self._lock = Lock()

    def take(self) -> float | None:
        with self._lock:
            is_over = not self._due or self._now() > self._give_up_at
            return None if is_over else self._due.popleft()

    def give(self, due: float, start: float, end: float) -> None:
        with self._lock:
            if due >= self._start:
                self._latencies.append(end - due)
                self._services.append(end - start)
            if self._start < end <= self._end:  # of those of the ramp too, whose place others take
                self._answered += 1

    def close(self) -> None:
        with self._lock:
            self._due.clear()

    def served(self) -> Served:
        return Served(
            mode=Mode.OPEN,
            concurrency=None,
            offered_per_second=self._offered / self._seconds,
            latencies_s=tuple(self._latencies),
            services_s=tuple(self._services),
            seconds=self._seconds,
            answered=self._answered,
            unserved=len(self._due),
        )
