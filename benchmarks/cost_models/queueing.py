"""Queues in, how far the formulas of their waits are from exact values out.

python benchmarks/cost_models/queueing.py

Erlang's B and C, and the waits of M/M/1 and M/M/c, against their definitions in exact fractions;
Erlang's B for up to 10,000 servers against scipy's Poisson distribution; G/G/c with random arrivals
at one server (M/G/1) against the formula of Pollaczek and Khinchine over scipy's moments of five
distributions of services. What is below 1e-300 is passed over, for floats have fewer digits there.
The limit is a relative difference of 1e-9.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

from scipy.stats import expon, gamma, lognorm, poisson, uniform

from perfledger_cost_models.queueing.queue_formulas import (
    erlang_b,
    erlang_c,
    ggc,
    mmc,
)

LIMIT = 1e-9
MIN_EXACT = Fraction(1, 10**300)
SHARES = tuple(Fraction(share, 1000) for share in (1, 100, 500, 700, 900, 990, 999))
SERVERS = (1, 2, 3, 8, 40, 100, 300)
MANY = (1000, 3000, 10_000)
SERVICE_S = Fraction(3, 4)
SERVICES = (expon(scale=0.75), uniform(0.5, 0.5), gamma(4, scale=0.1), gamma(0.3), lognorm(1.5))


def erlangs_b() -> Iterator[float]:
    for servers in SERVERS:
        for share in SHARES:
            terms = _terms(servers, share)
            yield from _apart(erlang_b(servers, float(share * servers)), terms[-1] / sum(terms))


def erlangs_b_of_many() -> Iterator[float]:
    for servers in MANY:
        for share in SHARES[2:]:
            load = float(share * servers)
            log_loss = poisson.logpmf(servers, load) - poisson.logcdf(servers, load)
            yield from _apart(erlang_b(servers, load), Fraction(math.exp(log_loss)))


def erlangs_c() -> Iterator[float]:
    for servers in SERVERS:
        for share in SHARES:
            yield from _apart(erlang_c(servers, float(share * servers)), _waiting(servers, share))


def waits_of(servers: tuple[int, ...]) -> Iterator[float]:
    for count in servers:
        for share in SHARES:
            rate = share * count / SERVICE_S
            queue_waits = mmc(arrivals_per_s=float(rate), service_s=float(SERVICE_S), servers=count)
            wait = _waiting(count, share) * SERVICE_S / (count * (1 - share))
            yield from _apart(queue_waits.wait_s, wait)
            yield from _apart(queue_waits.time_s, wait + SERVICE_S)
            yield from _apart(queue_waits.queue_length, rate * wait)
            yield from _apart(queue_waits.number_in_system, rate * (wait + SERVICE_S))


def waits_of_any_service() -> Iterator[float]:
    for service in SERVICES:
        mean, square = float(service.moment(1)), float(service.moment(2))
        for share in SHARES:
            rate = float(share) / mean
            queue_waits = ggc(
                arrivals_per_s=rate,
                arrival_cv2=1.0,
                service_s=mean,
                service_cv2=square / mean**2 - 1,
                servers=1,
            )
            yield from _apart(queue_waits.wait_s, Fraction(rate * square / (2 * (1 - rate * mean))))


def main() -> None:
    print("queue              cases  largest relative difference")
    for name, errors in (
        ("Erlang B", [*erlangs_b(), *erlangs_b_of_many()]),
        ("Erlang C", list(erlangs_c())),
        ("M/M/1", list(waits_of((1,)))),
        ("M/M/c", list(waits_of(SERVERS[1:]))),
        ("M/G/1", list(waits_of_any_service())),
    ):
        result = "held" if max(errors) <= LIMIT else "MISSED"
        print(f"{name:16} {len(errors):7}  {max(errors):27.1e}  {result}")


def _terms(servers: int, share: Fraction) -> list[Fraction]:
    """Return a^k / k! for each number of busy servers."""
    terms = [Fraction(1)]
    for k in range(1, servers + 1):
        terms.append(terms[-1] * share * servers / k)
    return terms


def _waiting(servers: int, share: Fraction) -> Fraction:
    """Return the chance of waiting, by its definition."""
    terms = _terms(servers, share)
    waiting = terms[-1] / (1 - share)
    return waiting / (sum(terms[:-1]) + waiting)


def _apart(value: float, exact: Fraction) -> Iterator[float]:
    """Yield the relative difference, nothing where the exact value is too small to tell."""
    if exact > MIN_EXACT:
        yield float(abs(Fraction(value) / exact - 1))


if __name__ == "__main__":
    main()
