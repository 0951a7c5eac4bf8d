"""Latencies measured at some rates into the latency at any rate, with how sure that is.

Between points a queue's shape fills in: P99(r) = (D + A g(r / C)) / (1 - e(r)), with
g(u) = u^(sqrt(2 (c + 1)) - 1) / (1 - u), how waits of G/G/c grow with use (Sakasegawa 1977; exact
for M/M/1). Capacity C, servers c and the scales D and A are whatever the measurements allow: every
C and c of a grid counts by its likelihood. What no queue of this shape explains is e, a Gaussian
process, so that a curve goes through points that are measured well whatever the server is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from perfledger.load import MIN_GAIN
from perfledger_cost_models.load_curve import LoadMode, LoadPoint

# Fewer points leave nothing to check a shape against.
MIN_CHECKED = 3
MAX_CHECKED = 30  # each is a fit of its own
# Servers of the shape: beyond the last a queue is either empty or without end.
SERVERS = np.array([1, 2, 4, 8, 16, 32, 64, 128], dtype=np.float64)
# How far from the shape a server may be, relative: as good as not, up to a fifth.
MISFITS = (0.005, 0.02, 0.06, 0.2)
# Of the highest rate: a misfit at one rate says little of rates further away than this.
REACH = 0.25
# The use of the highest rate that was kept up with: a tenth up to all but.
LEAST_USE, MOST_USE = 0.1, 0.998
GRID = 40  # capacities, at first and once more between the likely ones
# Of a curve: the first tells how full its servers are, and so the noise that the second goes by.
REFITS = 2
# Of the logarithm of service times: beyond it a P99 is a thousand medians.
MOST_SIGMA = 3.0
# Shapes with less than this of the likeliest's weight are left out.
NEGLIGIBLE = 1e-3
# So many of the others stand for all, each for as much of the likelihood: a hundredth is two.
SHAPES = 256
# A throughput that was measured is the capacity, or at most it, within this (one deviation).
CAPACITY_SPREAD = 0.02
# Twice as many requests at once that give less than this more throughput: it is the most there is,
# within as much. A sweep of `perfledger load` ends there.
SATURATED = 1 + MIN_GAIN
# D and A of the shape are of the lowest latency's size: mean and deviation, relative to it.
PRIOR_MEAN = np.array([0.5, 0.5])
PRIOR_SPREAD = np.array([1.0, 2.0])
# A misfit makes a latency no more times larger or smaller than this.
MOST_OFF = 5.0
# However many requests: a machine's P99 differs by more from one run to the next.
LEAST_SPREAD = 1e-3
# Of a P99 nobody knows the noise of: as good as nothing is known of it but the shape.
UNKNOWN_SPREAD = 0.2
# Waits of successive requests are alike, the more the fuller the server is: as many times fewer
# independent ones there are as (1 + cv2) u / (1 - u)^2, the relaxation of a queue with services of
# that squared variation (Whitt 1989, Planning queueing simulations), times this, times the root of
# the waits' share of the P99. Simulated, one server at a use of 0.25 to 0.9: 1.5 to 2.5 times for
# services of variation 0.3 and 1, up to 6 times for one of 2 at a low use.
TAIL_CORRELATION = 2.0

_Z99 = 2.3263479  # of a standard normal

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatencyAt:
    """The P99 at one rate, as the mixture of all shapes; weights below 1: the rest never ends."""

    weights: FloatArray
    means_s: FloatArray
    spreads_s: FloatArray

    def chance_below(self, limit_s: float) -> float:
        """Return how likely the P99 is at most this."""
        return float(self.weights @ ndtr((limit_s - self.means_s) / self.spreads_s))

    def quantile_s(self, share: float) -> float | None:
        """Return what the P99 is below with this chance; None where the queue may have no end."""
        if share >= self.weights.sum():
            return None
        low, high = 0.0, float((self.means_s + 10 * self.spreads_s).max())
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if self.chance_below(middle) > share else (middle, high)
        return high


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Evidence:
    """What points say: arrays by point, and of the replica as a whole."""

    rates: FloatArray
    p99_s: FloatArray  # as it was measured
    expected_s: FloatArray  # what the noise is relative to
    spreads: FloatArray
    capacities: FloatArray  # throughputs that are the capacity
    capacity_spreads: FloatArray  # of their logarithms, one standard deviation
    largest: float  # a throughput that it is not below
    cv2: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cells:
    """The shapes that measurements allow, with their likelihoods: arrays by cell, then point."""

    log_weight: FloatArray
    misfit: NDArray[np.intp]  # which of MISFITS
    capacity: FloatArray
    servers: FloatArray
    scale: FloatArray  # (cells, 2): D and A
    covariance: FloatArray  # (cells, 2, 2), of the scale
    design: FloatArray  # (cells, n, 2), weighted by the inverse covariance of the points
    rest: FloatArray  # (cells, n): what D and A leave, weighted alike

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "_Cells":
        """Return those that are chosen."""
        return _Cells(
            log_weight=self.log_weight[chosen],
            misfit=self.misfit[chosen],
            capacity=self.capacity[chosen],
            servers=self.servers[chosen],
            scale=self.scale[chosen],
            covariance=self.covariance[chosen],
            design=self.design[chosen],
            rest=self.rest[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatencyFit:
    """What is known of a replica's P99 at any rate."""

    rates: FloatArray  # requests a second, of the points that kept up
    inverses: FloatArray  # (misfits, n, n): of the covariance of their ln P99
    cells: _Cells
    cv2: float  # of service times, squared: about that of the latencies at the lowest rate

    def at(self, rate: float) -> LatencyAt:
        """Return the P99 at so many requests a second, by the formulas of kriging with a trend."""
        cells = self.cells.only(self.cells.capacity > rate)
        share = np.full(len(cells.capacity), 1 / SHAPES)
        spread = np.array(MISFITS)[cells.misfit] ** 2  # of e, squared
        alike = np.exp(-(((rate - self.rates) / self.rates.max() / REACH) ** 2) / 2)
        row = np.stack([np.ones(len(share)), shape(rate / cells.capacity, cells.servers)], axis=-1)
        trend = (row * cells.scale).sum(axis=1)
        off = 1 / np.clip(1 - spread * (cells.rest @ alike), 1 / MOST_OFF, MOST_OFF)
        pull = (spread * trend * off)[:, None] * np.einsum("cnj,n->cj", cells.design, alike)
        slope = (row - pull) * off[:, None]
        known = np.einsum("n,mnk,k->m", alike, self.inverses, alike)[cells.misfit]
        variance = np.einsum("ci,cij,cj->c", slope, cells.covariance, slope)
        variance += (trend * off**2) ** 2 * spread * np.maximum(1 - spread * known, 0.0)
        mean = trend * off
        spreads = np.maximum(np.sqrt(np.maximum(variance, 0.0)), LEAST_SPREAD * mean)
        return LatencyAt(weights=share, means_s=mean, spreads_s=spreads)

    @property
    def capacity(self) -> float:
        """Return the most requests a second, as likely more as less."""
        return float(np.median(self.cells.capacity))

    def thinning(self, rate: float) -> float:
        """Return how many requests at this rate say as much of the P99 as an independent one."""
        use = np.minimum(rate / self.cells.capacity, MOST_USE)
        waits = self.cells.scale[:, 1] * shape(use, self.cells.servers)
        share = waits / (waits + self.cells.scale[:, 0])
        alike = TAIL_CORRELATION * np.sqrt(share) * (1 + self.cv2) * use / (1 - use) ** 2
        return float(1 + alike.mean())


def shape(use: FloatArray | float, servers: FloatArray) -> FloatArray:
    """Return how a wait grows with the use of c servers: u^(sqrt(2 (c + 1)) - 1) / (1 - u)."""
    grown: FloatArray = use ** (np.sqrt(2 * (servers + 1)) - 1) / (1 - use)
    return grown


def fit_latency(points: Sequence[LoadPoint]) -> LatencyFit:
    """Fit what points of one batch say; at least one in open loop must have kept up.

    Points that did not keep up, and closed loops whose throughput grows no more, say what the
    capacity is. Noise is relative. It is first taken of what was measured, which believes a P99
    the more the lower it came out by chance (with a deviation s the curve is 2 s^2 too low); then
    once more of what that fit expects there.
    """
    kept = sorted(
        (point for point in points if point.mode is LoadMode.OPEN and point.keeps_up),
        key=lambda point: point.offered_per_second or 0.0,
    )
    rates = np.array([point.offered_per_second for point in kept])
    p99_s = np.array([point.latency_p99_s for point in kept])
    capacities, capacity_spreads, largest = _capacity_evidence(points)
    known = _Evidence(
        rates=rates,
        p99_s=p99_s,
        expected_s=p99_s,
        spreads=_spreads(kept, np.ones(len(kept))),
        capacities=capacities,
        capacity_spreads=capacity_spreads,
        largest=largest,
        cv2=_service_cv2(kept[0]),
    )
    found = _fit(known)
    for _ in range(REFITS):
        thinning = np.array([found.thinning(float(rate)) for rate in rates])
        expected = [found.at(float(rate)).quantile_s(0.5) for rate in rates]
        expected_s = np.array([one or own for one, own in zip(expected, p99_s, strict=True)])
        found = _fit(replace(known, expected_s=expected_s, spreads=_spreads(kept, thinning)))
    return found


def _service_cv2(lowest: LoadPoint) -> float:
    """Return the squared variation of the lognormal through a P50 and P99; 1 without a P50."""
    if lowest.latency_p50_s is None:
        return 1.0
    sigma = (math.log(lowest.latency_p99_s) - math.log(lowest.latency_p50_s)) / _Z99
    return math.expm1(min(sigma, MOST_SIGMA) ** 2)


def _spreads(points: Sequence[LoadPoint], thinning: FloatArray) -> FloatArray:
    """Return the standard deviation of each point's ln P99.

    By its count, thinned, times what the intervals of all points together are wider than that. One
    point's own interval is not believed alone: a stretch without a long queue has a low P99 and
    little that varies, and would pull the curve down (simulated, the two correlate with 0.2 to
    0.8).
    """
    counted = [
        own and max(own * math.sqrt(thin), LEAST_SPREAD)
        for own, thin in zip(
            (point.independent_spread for point in points), thinning.tolist(), strict=True
        )
    ]
    wider = [
        (point.p99_spread / own) ** 2
        for point, own in zip(points, counted, strict=True)
        if point.p99_spread and own
    ]
    times = math.sqrt(max(sum(wider) / len(wider), 1.0)) if wider else 1.0
    found = [
        own * times if own else point.p99_spread or UNKNOWN_SPREAD
        for point, own in zip(points, counted, strict=True)
    ]
    return np.maximum(found, LEAST_SPREAD)


def left_out_errors(points: Sequence[LoadPoint]) -> tuple[float, ...]:
    """Return by how much, relative, the P99 of each open point is missed from the others alone.

    Empty for fewer points than MIN_CHECKED, of far more than MAX_CHECKED every so many; a point
    where the others allow no end is left out.
    """
    kept = [point for point in points if point.mode is LoadMode.OPEN and point.keeps_up]
    if len(kept) < MIN_CHECKED:
        return ()
    found: list[float] = []
    for point in kept[:: math.ceil(len(kept) / MAX_CHECKED)]:
        others = fit_latency([other for other in points if other is not point])
        expected = others.at(point.offered_per_second or 0.0).quantile_s(0.5)
        if expected is not None:
            found.append(expected / point.latency_p99_s - 1)
    return tuple(found)


def _capacity_evidence(points: Sequence[LoadPoint]) -> tuple[FloatArray, FloatArray, float]:
    """Return throughputs that are the capacity, their spreads, and one that it is not below."""
    closed = sorted(
        (point for point in points if point.mode is LoadMode.CLOSED),
        key=lambda point: point.concurrency or 0,
    )
    most = [point.throughput_per_second for point in points if not point.keeps_up]
    spreads = [CAPACITY_SPREAD] * len(most)
    # A smaller step tells nothing: one more of thirty brings 3 % where there is room for all.
    fewer = [
        point for point in closed if 2 * (point.concurrency or 0) <= (closed[-1].concurrency or 0)
    ]
    if fewer:
        last, before = (point.throughput_per_second for point in (closed[-1], fewer[-1]))
        if last < SATURATED * before:
            most.append(max(last, before))
            spreads.append(math.hypot(CAPACITY_SPREAD, max(last / before - 1, 0.0)))
    largest = max(point.throughput_per_second for point in points)
    return np.array(most), np.array(spreads), largest


def _fit(known: _Evidence) -> LatencyFit:
    gaps = (known.rates[:, None] - known.rates) / known.rates.max()
    alike = np.exp(-((gaps / REACH) ** 2) / 2)
    noise = np.diag(known.spreads**2)
    inverses = np.linalg.inv(np.array([misfit**2 * alike + noise for misfit in MISFITS]))
    low, high = (math.log(use / (1 - use)) for use in (LEAST_USE, MOST_USE))
    coarse = _cells(known, inverses, np.linspace(low, high, GRID))
    use = known.rates.max() / coarse.capacity
    logit, step = np.log(use / (1 - use)), (high - low) / GRID
    last = min(float(logit.max()) + step, high)
    finer: FloatArray = np.linspace(float(logit.min()) - step, last, GRID)
    cells = _cells(known, inverses, finer)
    return LatencyFit(rates=known.rates, inverses=inverses, cells=_thinned(cells), cv2=known.cv2)


def _cells(known: _Evidence, inverses: FloatArray, logits: FloatArray) -> _Cells:
    """Return the likely ones of all shapes: linear regression of D and A, on each of a grid."""
    top_use, servers = (each.ravel() for each in np.meshgrid(1 / (1 + np.exp(-logits)), SERVERS))
    capacity = known.rates.max() / top_use
    least_s = known.expected_s.min()
    prior = np.diag(1 / (PRIOR_SPREAD * least_s) ** 2)
    pulled = prior @ (PRIOR_MEAN * least_s)
    seen = known.p99_s / known.expected_s
    grown = shape(known.rates / capacity[:, None], servers[:, None])
    one = np.broadcast_to(1 / known.expected_s, grown.shape)
    design = np.stack([one, grown / known.expected_s], axis=-1)
    weighted = np.einsum("cnj,mnk->mckj", design, inverses, optimize=True)
    precision = np.einsum("cni,mcnj->mcij", design, weighted) + prior
    covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    scale = np.einsum(
        "mcij,mcj->mci", covariance, np.einsum("mcnj,n->mcj", weighted, seen) + pulled
    )
    log_weight = 0.5 * np.einsum("mci,mcij,mcj->mc", scale, precision, scale)
    log_weight -= 0.5 * np.log(np.linalg.det(precision))
    whole = np.einsum("n,mnk,k->m", seen, inverses, seen)
    log_weight += 0.5 * (np.linalg.slogdet(inverses)[1] - whole)[:, None]
    log_weight += _capacity_weight(capacity, known)
    log_weight[(scale <= 0).any(axis=-1)] = -np.inf  # waits do not shrink as rates grow
    rest = (inverses @ seen)[:, None] - np.einsum("mcnj,mcj->mcn", weighted, scale)
    misfit = np.broadcast_to(np.arange(len(MISFITS))[:, None], log_weight.shape)
    likely = log_weight > log_weight.max() + math.log(NEGLIGIBLE)
    return _Cells(
        log_weight=log_weight[likely],
        misfit=misfit[likely],
        capacity=np.broadcast_to(capacity, log_weight.shape)[likely],
        servers=np.broadcast_to(servers, log_weight.shape)[likely],
        scale=scale[likely],
        covariance=covariance[likely],
        design=weighted[likely],
        rest=rest[likely],
    )


def _thinned(cells: _Cells) -> _Cells:
    """Return SHAPES cells of equal weight, in even steps of the likelihood from low capacities."""
    order = np.argsort(cells.capacity, kind="stable")
    weight: FloatArray = np.exp(cells.log_weight - cells.log_weight.max())[order]
    steps = (np.arange(SHAPES) + 0.5) / SHAPES * weight.sum()
    grown = np.asarray(np.cumsum(weight), dtype=np.float64)
    found = np.asarray(np.searchsorted(grown, steps), dtype=np.intp)
    places = np.minimum(found, len(order) - 1)
    thinned = cells.only(order[places])
    return replace(thinned, log_weight=np.zeros(SHAPES))


def _capacity_weight(capacity: FloatArray, known: _Evidence) -> FloatArray:
    """Return the log-likelihood of capacities, by throughputs that are it or are below it."""
    off = np.log(capacity[:, None] / known.capacities) / known.capacity_spreads
    below = np.minimum(np.log(capacity / known.largest) / CAPACITY_SPREAD, 0)
    weight: FloatArray = -0.5 * (off**2).sum(axis=1) - 0.5 * below**2
    return weight
