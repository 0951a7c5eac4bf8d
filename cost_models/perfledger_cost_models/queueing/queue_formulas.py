"""Computes waiting times with queueing formulas.

Rates are per second, times in seconds. GPU jobs are heavy-tailed and start in gangs: the formula
for general arrivals and services is an approximation, marked as screening. Simulate to confirm it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger.rounding import for_programs

# The recursion takes one multiplication per server; no organisation has more accelerators.
MAX_SERVERS = 10_000_000


class QueueError(ValueError):
    """Invalid parameters of a queue, or a queue that grows without bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWaits:
    """Mean figures of a queue in its steady state."""

    utilization: float  # of the servers, 0 to 1
    chance_of_waiting: float
    wait_s: float  # before service, including arrivals that do not wait
    time_s: float  # wait and service
    queue_length: float  # L = lambda W (Little 1961)
    number_in_system: float
    is_screening: bool = False  # an approximation to confirm by simulation


def erlang_b(servers: int, load: float) -> float:
    """Return the probability that all servers are busy in a system without a queue.

    B_0 = 1, B_k = a B_{k-1} / (k + a B_{k-1}), with a the offered load in erlangs (Erlang 1917).
    """
    _check_servers(servers)
    _check("load", load)
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked


def erlang_c(servers: int, load: float) -> float:
    """Return the probability of waiting: C = B / (1 - rho (1 - B)), rho = load / servers.

    Raises QueueError for a load of at least the number of servers: the queue grows without bound.
    """
    blocked = erlang_b(servers, load)
    share = _stable_share(load, servers)
    return blocked / (1 - share * (1 - blocked))


def mmc(*, arrivals_per_s: float, service_s: float, servers: int) -> QueueWaits:
    """Return the waits of M/M/c: random arrivals, exponential services, c servers.

    Wq = C / (c mu - lambda). One server is M/M/1. Raises QueueError.
    """
    load = _load(arrivals_per_s, service_s)
    chance = erlang_c(servers, load)
    wait_s = chance * service_s / (servers - load)
    return _waits(
        arrivals_per_s, service_s, load / servers, chance_of_waiting=chance, wait_s=wait_s
    )


def mmc_chance_above(
    seconds: float, *, arrivals_per_s: float, service_s: float, servers: int
) -> float:
    """Return the probability of waiting longer than `seconds`: C exp(-(c mu - lambda) t)."""
    _check("seconds", seconds)
    load = _load(arrivals_per_s, service_s)
    return erlang_c(servers, load) * math.exp(-(servers - load) * seconds / service_s)


def mmc_quantiles_s(
    shares: Sequence[float], *, arrivals_per_s: float, service_s: float, servers: int
) -> tuple[float, ...]:
    """Return the waits that these shares of all arrivals do not exceed.

    t = ln(C / (1 - share)) / (c mu - lambda), or 0 if that share does not wait. Raises QueueError.
    """
    if not all(0 <= share < 1 for share in shares):
        msg = f"the quantile shares are {shares}: use shares from 0 up to but not including 1"
        raise QueueError(msg)
    load = _load(arrivals_per_s, service_s)
    chance = erlang_c(servers, load)
    each_s = service_s / (servers - load)
    return tuple(
        0.0 if chance <= 1 - share else math.log(chance / (1 - share)) * each_s for share in shares
    )


def ggc(
    *, arrivals_per_s: float, arrival_cv2: float, service_s: float, service_cv2: float, servers: int
) -> QueueWaits:
    """Approximate the waits of G/G/c: those of M/M/c times (ca2 + cs2) / 2 (Allen & Cunneen).

    Exact only for M/M/c and M/G/1 (Pollaczek 1930, Khinchine 1932), so it is marked as screening.
    """
    _check("arrival_cv2", arrival_cv2)
    _check("service_cv2", service_cv2)
    exact = mmc(arrivals_per_s=arrivals_per_s, service_s=service_s, servers=servers)
    return _waits(
        arrivals_per_s,
        service_s,
        exact.utilization,
        chance_of_waiting=exact.chance_of_waiting,
        wait_s=(arrival_cv2 + service_cv2) / 2 * exact.wait_s,
        is_screening=True,
    )


def fewest_servers(
    *, arrivals_per_s: float, service_s: float, longest_wait_s: float, share: float
) -> int:
    """Return the fewest servers with which `share` of the arrivals wait no longer than this.

    M/M/c. Raises QueueError if more than MAX_SERVERS would be needed.
    """
    _check("longest_wait_s", longest_wait_s)
    if not 0 < share < 1:
        msg = f"the share is {share}: use one between 0 and 1"
        raise QueueError(msg)
    load = _load(arrivals_per_s, service_s)
    blocked, servers = 1.0, 0
    while load < MAX_SERVERS > servers:  # fewer servers than the load are never enough
        servers += 1
        blocked = load * blocked / (servers + load * blocked)
        if servers <= load:
            continue
        chance = blocked / (1 - load / servers * (1 - blocked))
        if chance * math.exp(-(servers - load) * longest_wait_s / service_s) <= 1 - share:
            return servers
    msg = f"more than {MAX_SERVERS} servers would be needed: allow longer waits"
    raise QueueError(msg)


def _waits(
    arrivals_per_s: float,
    service_s: float,
    utilization: float,
    *,
    chance_of_waiting: float,
    wait_s: float,
    is_screening: bool = False,
) -> QueueWaits:
    return QueueWaits(
        utilization=utilization,
        chance_of_waiting=chance_of_waiting,
        wait_s=wait_s,
        time_s=wait_s + service_s,
        queue_length=arrivals_per_s * wait_s,
        number_in_system=arrivals_per_s * (wait_s + service_s),
        is_screening=is_screening,
    )


def _load(arrivals_per_s: float, service_s: float) -> float:
    _check("arrivals_per_s", arrivals_per_s)
    _check("service_s", service_s)
    if service_s == 0:
        msg = "service_s is 0: use a service time above 0"
        raise QueueError(msg)
    return arrivals_per_s * service_s


def _stable_share(load: float, servers: int) -> float:
    if load >= servers:
        msg = f"{servers} servers cannot carry a load of {for_programs(load)}: add servers"
        raise QueueError(msg)
    return load / servers


def _check_servers(servers: int) -> None:
    if not 1 <= servers <= MAX_SERVERS:
        msg = f"the number of servers is {servers}: use 1 to {MAX_SERVERS}"
        raise QueueError(msg)


def _check(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        msg = f"{name} is {value}: use a finite number of at least 0"
        raise QueueError(msg)
