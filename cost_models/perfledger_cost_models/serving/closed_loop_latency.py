"""Estimates open-loop latency from service times measured in closed loop.

A replica that admits k requests is a queue of k servers, M/G/k, with the service times measured
while k requests were always in progress. The estimate ignores that fewer concurrent requests are
served faster. It is a rough estimate: confirm it by an open-loop measurement.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from perfledger_cost_models.queueing.queue_formulas import erlang_c
from perfledger_cost_models.serving.latency_model import (
    CAPACITY_SPREAD,
    MAX_SIGMA,
    MAX_USE,
    TAIL_CORRELATION,
    UNKNOWN_SPREAD,
    Z99,
    LatencyMixture,
)
from perfledger_cost_models.serving.load_curve import LoadPoint

# Standard deviation of these formulas' P99s from simulated ones, as a log. Difference of these
# formulas' P99s from simulated M/G/k: one standard deviation of the log, times cv2 / k if that is
# above one. With services of variation 2, one server is a third slower, 4 a tenth, 16 equal
# (benchmarks/cost_models/rightsizing.py).
SCREENING_SPREAD = 0.1
MIN_SIGMA = 1e-3  # of the logarithm of service times, for constant ones
_MAX_SDS = 8.0  # beyond this a normal distribution has no mass
HALVINGS = 40  # of an interval: a trillionth of it is left
# Gauss and Legendre's nodes on the interval from -1 to 1, enough for a smooth integrand.
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(48)
# Capacities around the measured one in standard deviations, weighted by the normal density.
_CAPACITIES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoopModel:
    """The latency model of a replica that admits a fixed number of concurrent requests."""

    concurrency: int
    capacity: float  # requests a second
    service_p50_s: float
    sigma: float  # of the logarithm of service times
    spread: float  # of ln P99, one standard deviation

    def at(self, rate: float) -> LatencyMixture:
        """Return the P99 at a rate of requests per second that arrive at random times."""
        weights: list[float] = []
        means: list[float] = []
        for each in _CAPACITIES:
            capacity = self.capacity * (1 + float(each) * CAPACITY_SPREAD)
            weights.append(math.exp(-(float(each) ** 2) / 2))
            means.append(self._p99_s(rate, capacity) if rate < capacity else math.inf)
        latencies = np.array(means)
        is_stable = np.isfinite(latencies)
        share = np.array(weights) / sum(weights)
        varied = max(1.0, math.expm1(self.sigma**2) / self.concurrency)
        spread = math.hypot(self.spread, SCREENING_SPREAD * varied)
        stable = latencies[is_stable]
        return LatencyMixture(weights=share[is_stable], means_s=stable, spreads_s=stable * spread)

    def thinning(self, rate: float) -> float:
        """Return how many requests at this rate are worth one independent request."""
        use = min(rate / self.capacity, MAX_USE)
        return 1 + TAIL_CORRELATION * math.exp(self.sigma**2) * use / (1 - use) ** 2

    def _p99_s(self, rate: float, capacity: float) -> float:
        """Return the P99 of the sum of wait and service.

        P(W > t) = C exp(-t / w), w = (1 + cv2) / 2 · s / (k - a), with Erlang's C at k servers and
        a load of a: exact for M/M/k, Allen and Cunneen's mean for M/G/k.
        """
        service_s = self.concurrency / capacity  # Little 1961
        load = rate * service_s
        chance = erlang_c(self.concurrency, load)
        cv2 = math.expm1(self.sigma**2)
        each_s = (1 + cv2) / 2 * service_s / (self.concurrency - load)
        low, high = 0.0, self.service_p50_s * math.exp(_MAX_SDS * self.sigma) + 50 * each_s
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            is_above = self._chance_above(middle, chance, each_s) > 0.01  # noqa: PLR2004 - P99
            low, high = (middle, high) if is_above else (low, middle)
        return high

    def _chance_above(self, seconds: float, chance: float, each_s: float) -> float:
        """Return P(S > x) + C · E[exp(-(x - S) / w); S <= x], over normal z = ln(S / P50) / s."""
        if seconds <= 0:
            return 1.0
        reached = math.log(seconds / self.service_p50_s) / self.sigma
        top, bottom = min(reached, _MAX_SDS), min(reached, 0.0) - _MAX_SDS
        z = (top + bottom) / 2 + (top - bottom) / 2 * _NODES
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        service = self.service_p50_s * np.exp(self.sigma * z)
        waits = density * np.exp(-(seconds - service) / each_s)
        return float(ndtr(-reached) + chance * (top - bottom) / 2 * (_NODE_WEIGHTS @ waits))


def closed_loop_model(point: LoadPoint) -> ClosedLoopModel:
    """Return the latency model of a point in closed loop.

    Service times are lognormal through the P50 and the P99; without a P50, through the mean by
    Little's law and the P99.
    """
    concurrency = point.concurrency or 1
    mean_s = concurrency / point.throughput_per_second
    middle_s = point.latency_p50_s or mean_s
    ratio = max(math.log(point.latency_p99_s) - math.log(middle_s), 0.0)
    sigma = ratio / Z99
    if point.latency_p50_s is None:  # ln(P99 / mean) = 2.33 s - s^2 / 2
        sigma = Z99 - math.sqrt(max(Z99**2 - 2 * ratio, 0.0))
    sigma = min(max(sigma, MIN_SIGMA), MAX_SIGMA)
    return ClosedLoopModel(
        concurrency=concurrency,
        capacity=point.throughput_per_second,
        service_p50_s=point.latency_p99_s * math.exp(-Z99 * sigma),
        sigma=sigma,
        spread=point.p99_spread or point.independent_spread or UNKNOWN_SPREAD,
    )
