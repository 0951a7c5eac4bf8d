"""Generates load on a step and measures the latencies of its requests.

All requests wait in one queue, ordered by due time; a free server takes the first. A latency runs
from the request's due time, not from the start of its service: that would leave out the time spent
waiting behind a slow request ("coordinated omission": Tene, "How NOT to measure latency", 2013;
wrk2 measures the same way). In an open loop due times are fixed in advance, and requests that
arrive while a server is late count too.
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

from perfledger.load import MAX_CONCURRENCY, MAX_REQUESTS, MIN_GAIN, Load, LoadResult, LoopKind

# Offered loads, as shares of the largest closed-loop throughput. Shares of the largest closed-loop
# throughput: with random service times the wait is a third of a service time at the first and nine
# at the last (M/M/1), and the knee lies between.
SHARES = (0.25, 0.5, 0.7, 0.8, 0.9)
# Length of an open point's ramp, as a share of its seconds: an empty queue is not a steady state.
RAMP = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTimer:
    """The host's clock and sleep; tests script them."""

    now: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep

    def wait_until(self, due: float) -> None:
        """Sleep until `due`; the host wakes a little late, which counts as latency."""
        while (left := due - self.now()) > 0:
            self.sleep(left)


@dataclass(frozen=True, slots=True)
class StepServer:
    """A warm step: `run` returns when the device has finished it."""

    run: Callable[[], object]
    device_context: Callable[[], AbstractContextManager[object]]  # entered per point


class RequestQueue(Protocol):
    """A queue of requests that wait for a server."""

    def take(self) -> float | None:
        """Remove the next request and return its due time, None if there are no more."""
        ...

    def record(self, due: float, start: float, end: float) -> None:
        """Record that the request due at `due` was served from `start` to `end`."""
        ...

    def close(self) -> None:
        """Drop all further requests, because a server failed."""
        ...


class Workers:
    """Servers with a thread each; the first one uses the caller's thread.

    Thread-local settings of a set-up (gradients off, a default device) therefore apply when its
    step runs. Set-ups run one after another, because concurrent ones would share random states.
    """

    def __init__(self, set_up: Callable[[], StepServer], count: int) -> None:
        with ExitStack() as stack:
            self._threads = [
                stack.enter_context(ThreadPoolExecutor(1, "perfledger-server"))
                for _ in range(count - 1)
            ]
            self._servers = [set_up()]
            self._servers += [thread.submit(set_up).result() for thread in self._threads]
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Return the workers."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads."""
        self._stack.close()

    def serve(self, queue: RequestQueue, timer: LoadTimer, *, most: int = MAX_CONCURRENCY) -> None:
        """Serve the queue with at most `most` servers until it is empty; raise a server's error."""
        first_server, *other_servers = self._servers[:most]
        working = [
            thread.submit(_serve, server, queue, timer)
            for thread, server in zip(self._threads, other_servers, strict=False)
        ]
        try:
            _serve(first_server, queue, timer)
        finally:
            for each in working:
                each.result()


def run_load(
    load: Load, workers: Workers, timer: LoadTimer, *, report: Callable[[LoadResult], None]
) -> None:
    """Run each point of the load and report its result."""
    if load.is_sweep:
        _sweep(load, workers, timer, report)
    for clients in load.concurrency:
        report(_closed_loop(clients, workers, timer, seconds=load.seconds))
    for index, rate in enumerate(load.rates):
        report(_poisson(rate, index, load, workers, timer))
    if load.arrivals_s:
        span = load.arrivals_s[-1]
        report(_open_loop(load.arrivals_s, load, workers, timer, seconds=span))


def _sweep(
    load: Load, workers: Workers, timer: LoadTimer, report: Callable[[LoadResult], None]
) -> None:
    clients, best, is_enough = 1, 0.0, False
    while clients <= MAX_CONCURRENCY and not is_enough:
        result = _closed_loop(clients, workers, timer, seconds=load.seconds)
        report(result)
        is_enough = result.per_second < (1 + MIN_GAIN) * best
        best = max(best, result.per_second)
        clients *= 2
    for index, share in enumerate(SHARES):
        report(_poisson(share * best, index, load, workers, timer))


def _closed_loop(clients: int, workers: Workers, timer: LoadTimer, *, seconds: float) -> LoadResult:
    """Run `clients` clients, each of which sends a request when its previous one is answered.

    The first answer of each is left out, because they all start at once. At the end each pending
    request is answered, so that a stall there counts for every request it delays.
    """
    queue = _Clients(clients, seconds=seconds, now=timer.now())
    workers.serve(queue, timer, most=clients)
    return queue.result()


def _poisson(rate: float, place: int, load: Load, workers: Workers, timer: LoadTimer) -> LoadResult:
    """Send requests at random times, `rate` per second, independent of the answers.

    Their number is fixed; given it, the times of a Poisson process are independent and uniform, so
    the rate is exactly the requested one. A ramp before them is not counted. `place` is the rate's
    place among the rates, so that a repeated rate gets other times.
    """
    seconds = min(load.seconds, MAX_REQUESTS / rate)
    count = max(1, round(rate * seconds))
    draw = random.Random(f"{load.seed} {place} {rate}")  # noqa: S311 - repeatable arrivals, not a secret
    ramp = [draw.uniform(-RAMP * seconds, 0.0) for _ in range(round(RAMP * count))]
    counted = [draw.uniform(0.0, seconds) for _ in range(count)]
    return _open_loop(sorted(ramp + counted), load, workers, timer, seconds=seconds)


def _open_loop(
    arrivals_s: Sequence[float], load: Load, workers: Workers, timer: LoadTimer, *, seconds: float
) -> LoadResult:
    """Send requests at these times; those before 0 are served but not counted.

    Requests that no server takes within `load.seconds` after the end of `seconds` are abandoned.
    """
    queue = _Arrivals(arrivals_s, seconds=seconds, patience=load.seconds, timer=timer)
    workers.serve(queue, timer)
    return queue.result()


def _serve(server: StepServer, queue: RequestQueue, timer: LoadTimer) -> None:
    with server.device_context():
        try:
            while (due := queue.take()) is not None:
                timer.wait_until(due)
                start = timer.now()
                server.run()
                queue.record(due, start, timer.now())
        except BaseException:
            queue.close()
            raise


class _Clients:
    """The requests of a closed loop; each is due when its client's previous one is answered."""

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

    def record(self, due: float, start: float, end: float) -> None:
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

    def result(self) -> LoadResult:
        return LoadResult(
            mode=LoopKind.CLOSED,
            concurrency=self._clients,
            offered_per_second=None,
            latencies_s=tuple(self._latencies),
            services_s=tuple(self._services),
            seconds=self._end - self._start,
            answered=self._answered,
        )


class _Arrivals:
    """The requests of an open loop, with fixed due times."""

    def __init__(
        self, arrivals_s: Sequence[float], *, seconds: float, patience: float, timer: LoadTimer
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

    def record(self, due: float, start: float, end: float) -> None:
        with self._lock:
            if due >= self._start:
                self._latencies.append(end - due)
                self._services.append(end - start)
            if self._start < end <= self._end:  # including the ramp's, which displace others
                self._answered += 1

    def close(self) -> None:
        with self._lock:
            self._due.clear()

    def result(self) -> LoadResult:
        return LoadResult(
            mode=LoopKind.OPEN,
            concurrency=None,
            offered_per_second=self._offered / self._seconds,
            latencies_s=tuple(self._latencies),
            services_s=tuple(self._services),
            seconds=self._seconds,
            answered=self._answered,
            unserved=len(self._due),
        )
