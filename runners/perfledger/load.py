"""Holds the values of a load test: the requested load and the result of each point."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from perfledger.time_units import SECONDS_PER_HOUR

BATCH_PARAMETER = "batch"  # of a workload's function: items per request
MAX_REQUESTS = 20_000  # per point: their times fit one line of the protocol
MAX_CONCURRENCY = 1_024  # more clients only wait longer in the queue
MAX_SERVERS = 64  # each is a set-up with its own thread and memory
MAX_POINTS = 100
MAX_SECONDS = float(SECONDS_PER_HOUR)  # per point
# Least share of the offered load that a server must answer. A server that answers less than this
# share of the offered load falls behind: its queue grows, and its latencies with the length of the
# measurement. The throughput of one machine varies by as much from run to run, so a smaller
# shortfall does not show overload.
MIN_SERVED_SHARE = 0.98
# If twice the clients gain less than this, the servers are saturated.
MIN_GAIN = 0.05
# Tolerance in square roots of the number of requests, for random arrivals and for requests waiting
# at both ends.
COUNT_SDS = 2.0


class LoopKind(StrEnum):
    """What decides when a request begins."""

    CLOSED = "closed"  # the answer to the same client's previous request
    OPEN = "open"  # a fixed time, whatever the answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load to drive a step with, point by point; a request is one call of the step.

    Without concurrency, rates and arrivals it is a sweep: the number of clients is doubled until
    throughput no longer grows, then requests arrive as Poisson processes at shares of the largest
    throughput.
    """

    concurrency: tuple[int, ...] = ()  # clients that each wait for their answers
    rates: tuple[float, ...] = ()  # Poisson arrivals per second; a repeated rate extends its point
    arrivals_s: tuple[float, ...] = ()  # replayed, ascending, from 0
    seconds: float = 10.0  # per point, without its ramp
    servers: int = 1  # set-ups with a thread each; all serve one queue
    seed: int = 0  # of the arrivals

    @property
    def is_sweep(self) -> bool:
        """Return whether the points depend on the step's throughput."""
        return not (self.concurrency or self.rates or self.arrivals_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """The requests of one point, in the order of their answers.

    A latency runs from the request's due time, however late a server takes it; the service time is
    the part in which the step runs. All requests due within `seconds` are included, however late
    their answers; `answered` counts the answers within these seconds.
    """

    mode: LoopKind
    concurrency: int | None  # None: the loop is open
    offered_per_second: float | None  # None: the loop is closed
    latencies_s: tuple[float, ...]
    services_s: tuple[float, ...]
    seconds: float
    answered: int
    unserved: int = 0  # abandoned requests: more arrived than could be served

    @property
    def per_second(self) -> float:
        """Return the answered requests per second."""
        return self.answered / self.seconds


def pool_results(parts: Sequence[LoadResult]) -> LoadResult:
    """Pool the results of one load that was driven in several parts.

    Quantiles must come from all requests: the mean of the parts' quantiles is too low where a queue
    hardly empties within a part.
    """
    return replace(
        parts[0],
        latencies_s=tuple(chain.from_iterable(part.latencies_s for part in parts)),
        services_s=tuple(chain.from_iterable(part.services_s for part in parts)),
        seconds=math.fsum(part.seconds for part in parts),
        answered=sum(part.answered for part in parts),
        unserved=sum(part.unserved for part in parts),
    )


def has_served_offered_load(*, offered: float, served: float, completed: int | None) -> bool:
    """Return whether the served rate is about the offered one, with `completed` requests.

    Both rates have the same unit. The fewer the requests, the larger the tolerated difference; None
    means that the number of requests is unknown.
    """
    slack = 0.0 if completed is None else COUNT_SDS / math.sqrt(completed)
    return served >= (MIN_SERVED_SHARE - slack) * offered
