"""What drives a step as a server's clients would, and what became of their requests, as values."""

from dataclasses import dataclass
from enum import StrEnum

BATCH_PARAMETER = "batch"  # of a workload's function: how many items one request holds
MAX_REQUESTS = 20_000  # of a point: their times fit one line of the protocol
MAX_CONCURRENCY = 1_024
MAX_SERVERS = 64
MAX_POINTS = 100


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
    rates: tuple[float, ...] = ()  # Poisson arrivals a second
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
