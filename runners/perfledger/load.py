"""What drives a step as a server's clients would, and what became of their requests, as values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

BATCH_PARAMETER = "batch"  # of a workload's function: how many items one request holds
MAX_REQUESTS = 20_000  # of a point: their times fit one line of the protocol
MAX_CONCURRENCY = 1_024
MAX_SERVERS = 64
MAX_POINTS = 100
MAX_SECONDS = 3600.0  # of a point
# A server that answers less than this of what it is offered falls behind: its queue grows, and its
# latencies with the length of the measurement. Throughputs of one machine differ by as much from
# one run to the next, so that nearer to its capacity nothing tells which side a load is on.
KEPT_UP = 0.98
# Twice the clients that bring less than this only wait longer: the servers are busy all the time.
MIN_GAIN = 0.05
# Arrivals at random, and those who are just waiting at both ends, are so many times the root of the
# number of requests.
_COUNT_SDS = 2.0


class Mode(StrEnum):
    """What says when a request begins."""

    CLOSED = "closed"  # the answer to the same client's last one
    OPEN = "open"  # a time that was fixed before; no answer is waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to drive a step with, point after point; a request is one call of the step.

    With neither concurrency, nor rates, nor arrivals it is a sweep: twice the clients each time
    until that adds no throughput, then Poisson arrivals at shares of the largest throughput.
    """

    concurrency: tuple[int, ...] = ()  # clients that each wait for their answers
    rates: tuple[float, ...] = ()  # Poisson arrivals a second; the same again: more of that point
    arrivals_s: tuple[float, ...] = ()  # replayed, ascending, from 0
    seconds: float = 10.0  # of each point, after what is left out of its beginning
    servers: int = 1  # set-ups, each with a thread of its own; all serve one queue
    seed: int = 0  # of the arrivals

    @property
    def is_sweep(self) -> bool:
        """Whether the points depend on what the step can do."""
        return not (self.concurrency or self.rates or self.arrivals_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What became of the requests of one point, in the order in which they were answered.

    A latency runs from when the request was to begin, however late the server came to it; the
    service is the part in which the step ran. All that were to begin within `seconds` are here,
    however late they were answered; `answered` counts the answers within these seconds.
    """

    mode: Mode
    concurrency: int | None  # None: the loop is open
    offered_per_second: float | None  # None: the loop is closed
    latencies_s: tuple[float, ...]
    services_s: tuple[float, ...]
    seconds: float
    answered: int
    unserved: int = 0  # requests that were given up: more came than can be served

    @property
    def per_second(self) -> float:
        """Return how many requests were answered a second."""
        return self.answered / self.seconds


def pooled(parts: Sequence[Served]) -> Served:
    """Return what became of one load that was driven in several parts, one after the other.

    A quantile of the whole is that of all its requests: the mean of the parts' would be too low
    where a queue hardly empties within one of them.
    """
    return replace(
        parts[0],
        latencies_s=tuple(chain.from_iterable(part.latencies_s for part in parts)),
        services_s=tuple(chain.from_iterable(part.services_s for part in parts)),
        seconds=math.fsum(part.seconds for part in parts),
        answered=sum(part.answered for part in parts),
        unserved=sum(part.unserved for part in parts),
    )


def has_kept_up(*, offered: float, served: float, completed: int | None) -> bool:
    """Return whether about as much was served as was offered, `completed` requests in all.

    Both are rates in the same unit. With few requests less of a difference is believed; None is a
    number that nobody knows.
    """
    slack = 0.0 if completed is None else _COUNT_SDS / math.sqrt(completed)
    return served >= (KEPT_UP - slack) * offered
