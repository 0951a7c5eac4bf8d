"""Arrivals, service times and servers into waits: the queues that have an exact answer.

Rates are per second, times in seconds. GPU jobs are heavy-tailed and start in gangs: the formulas
for general arrivals and services are an approximation, marked as a screening; a simulation decides.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# The recursion is one multiplication a server; nobody has more accelerators than this.
MAX_SERVERS = 10_000_000


class QueueError(ValueError):
    """A queue that is none, or one that grows without end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What those who arrive at a queue in its steady state find, on average."""

    utilization: float  # of the servers, 0 to 1
    chance_of_waiting: float
    wait_s: float  # before service, of everybody, those who do not wait included
    time_s: float  # waiting and being served
    queue_length: float  # L = lambda W (Little 1961)
    number_in_system: float
    is_screening: bool = False  # an approximation: confirm by simulation


def erlang_b(servers: int, load: float) -> float:
    """Return the chance that all servers are busy where nobody waits.

    B_0 = 1, B_k = a B_{k-1} / (k + a B_{k-1}), with a the offered load in erlangs (Erlang 1917).
    """
    _check_servers(servers)
    _check("load", load)
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked


def erlang_c(servers: int, load: float) -> float:
    """Return the chance of having to wait: C = B / (1 - rho (1 - B)), rho = load / servers.

    Raises QueueError where the load is as large as the servers are many: that queue never ends.
    """
    blocked = erlang_b(servers, load)
    share = _stable_share(load, servers)
    return blocked / (1 - share * (1 - blocked))


def mmc(*, arrivals_per_s: float, service_s: float, servers: int) -> Waits:
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
    """Return the chance to wait longer than `seconds`: C exp(-(c mu - lambda) t)."""
    _check("seconds", seconds)
    load = _load(arrivals_per_s, service_s)
    return erlang_c(servers, load) * math.exp(-(servers - load) * seconds / service_s)


def mmc_quantiles_s(
    shares: Sequence[float], *, arrivals_per_s: float, service_s: float, servers: int
) -> tuple[float, ...]:
    """Return the waits that these shares of all arrivals do not exceed.

    t = ln(C / (1 - share)) / (c mu - lambda), and 0 where so many do not wait. Raises QueueError.
    """
    if not all(0 <= share < 1 for share in shares):
        msg = f"quantiles at {shares}: give shares from 0 up to, but not, 1"
        raise QueueError(msg)
    load = _load(arrivals_per_s, service_s)
    chance = erlang_c(servers, load)
    each_s = service_s / (servers - load)
    return tuple(
        0.0 if chance <= 1 - share else math.log(chance / (1 - share)) * each_s for share in shares
    )


def mg1(*, arrivals_per_s: float, service_s: float, service_cv2: float) -> Waits:
    """Return the waits of M/G/1: random arrivals, any services, one server.

    Wq = (1 + cv2) / 2 rho / (1 - rho) service time (Pollaczek 1930, Khinchine 1932); `service_cv2`
    is the squared coefficient of variation of the service times: 0 constant, 1 exponential.
    """
    _check("service_cv2", service_cv2)
    share = _stable_share(_load(arrivals_per_s, service_s), 1)
    wait_s = (1 + service_cv2) / 2 * share / (1 - share) * service_s
    return _waits(arrivals_per_s, service_s, share, chance_of_waiting=share, wait_s=wait_s)


def ggc(
    *,
    arrivals_per_s: float,
    arrival_cv2: float,
    service_s: float,
    service_cv2: float,
    servers: int,
) -> Waits:
    """Return about the waits of G/G/c: M/M/c's times (ca2 + cs2) / 2 (Allen & Cunneen).

    Exact for M/M/c and M/G/1 only, and so marked as a screening.
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

    M/M/c. Raises QueueError where more than MAX_SERVERS would be needed.
    """
    _check("longest_wait_s", longest_wait_s)
    if not 0 < share < 1:
        msg = f"a share of {share}: give one between 0 and 1"
        raise QueueError(msg)
    load = _load(arrivals_per_s, service_s)
    blocked, servers = 1.0, 0
    while servers < MAX_SERVERS:
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
) -> Waits:
    return Waits(
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
        msg = "a service that takes no time has no queue: give service_s above zero"
        raise QueueError(msg)
    return arrivals_per_s * service_s


def _stable_share(load: float, servers: int) -> float:
    if load >= servers:
        msg = f"a load of {load:g} on {servers} servers: the queue grows without end; add servers"
        raise QueueError(msg)
    return load / servers


def _check_servers(servers: int) -> None:
    if not 1 <= servers <= MAX_SERVERS:
        msg = f"{servers} servers: give 1 to {MAX_SERVERS}"
        raise QueueError(msg)


def _check(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        msg = f"{name} is {value}: give a number that is not negative"
        raise QueueError(msg)
