"""Fits the latency at any rate, with its uncertainty, to latencies measured at some rates.

Between points the model is a queue: P99(r) = (D + A g(r / C)) / (1 - e(r)), with
g(u) = u^(sqrt(2 (c + 1)) - 1) / (1 - u), the growth of waits of G/G/c with use (Sakasegawa 1977;
exact for M/M/1). Every capacity C and number of servers c of a grid counts by its likelihood, with
scales D and A by regression. The remainder e is a Gaussian process, so that the curve goes through
precisely measured points of any server.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from perfledger.load import MIN_GAIN
from perfledger_cost_models.arrays import BoolArray, FloatArray
from perfledger_cost_models.serving.load_curve import LoadMode, LoadPoint

# With fewer points no point can be left out for a check.
MIN_CHECKED = 3
MAX_CHECKED = 30  # each check is a separate fit
# Servers of the model: with more, a queue is either empty or unbounded.
SERVERS = np.array([1, 2, 4, 8, 16, 32, 64, 128], dtype=np.float64)
# Relative misfits of a server to the model: from almost none to a fifth.
MISFITS = (0.005, 0.02, 0.06, 0.2)
# Correlation length of misfits, as a share of the highest rate.
REACH = 0.25
# Use at the highest rate that kept up: from a tenth to almost one.
MIN_USE, MAX_USE = 0.1, 0.998
GRID = 40  # capacities of the coarse grid, and of the fine grid between the likely ones
# The first fit estimates the use, and so the noise for the second fit.
REFITS = 2
# Of the logarithm of service times: beyond it a P99 is more than a thousand medians.
MAX_SIGMA = 3.0
# Cells below this share of the likeliest cell's weight are dropped.
NEGLIGIBLE = 1e-3
# The other cells are represented by this many of equal weight: two or three per percent.
SHAPES = 256
# Relative standard deviation of a measured throughput around the capacity.
CAPACITY_SPREAD = 0.02
# Gain of throughput by doubled concurrency below which it is the capacity. If doubling the
# concurrency raises the throughput by less than this, the throughput is the capacity, to within
# this share. A sweep of `perfledger bench load` ends there.
SATURATION_GAIN = 1 + MIN_GAIN
# Prior mean and standard deviation of D and A, relative to the lowest latency.
PRIOR_MEAN = np.array([0.5, 0.5])
PRIOR_SPREAD = np.array([1.0, 2.0])
# A misfit changes a latency by at most this factor.
MAX_MISFIT = 5.0
# A machine's P99 varies by more than this from run to run, however many requests there are.
MIN_SPREAD = 1e-3
# Of a P99 with unknown noise: the fit then relies on the model.
UNKNOWN_SPREAD = 0.2
# Waits of successive requests are correlated, more so at a higher use u. The number of independent
# requests is smaller by (1 + cv2) u / (1 - u)^2, the relaxation time of a queue whose services have
# that squared variation (Whitt 1989, Planning queueing simulations), times this constant, times the
# square root of the waits' share of the P99. Simulated constant for one server at a use of 0.25 to
# 0.9: 1.5 to 2.5 for services of variation 0.3 and 1, up to 6 for variation 2 at a low use.
TAIL_CORRELATION = 2.0
# Quantile of a standard normal: a lognormal's P99 is exp(2.33 s) times its median.
Z99 = 2.3263479
HALVINGS = 50  # of the seconds that may hold a quantile: to fifteen digits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatencyMixture:
    """The P99 at one rate as a mixture, of weight below 1 if the queue may be unbounded."""

    weights: FloatArray
    means_s: FloatArray
    spreads_s: FloatArray

    def chance_below(self, limit_s: float) -> float:
        """Return the probability that the P99 is at most a limit."""
        return float(self.weights @ ndtr((limit_s - self.means_s) / self.spreads_s))

    def quantile_s(self, share: float) -> float | None:
        """Return a quantile of the P99; None if the queue may be unbounded."""
        if share >= self.weights.sum():
            return None
        low, high = 0.0, float((self.means_s + 10 * self.spreads_s).max())
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.chance_below(middle) > share else (middle, high)
        return high


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Evidence:
    """The measurements as arrays by point, and the replica's own figures."""

    rates: FloatArray
    p99_s: FloatArray  # as measured
    expected_s: FloatArray  # the reference of the relative noise
    spreads: FloatArray
    capacities: FloatArray  # throughputs at capacity
    capacity_spreads: FloatArray  # one standard deviation of their logarithms
    largest: float  # a lower bound of the capacity
    cv2: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cells:
    """The likely parameters with their likelihoods: arrays by cell, then point."""

    log_weight: FloatArray
    misfit: NDArray[np.intp]  # index in MISFITS
    capacity: FloatArray
    servers: FloatArray
    scale: FloatArray  # (cells, 2): D and A
    covariance: FloatArray  # (cells, 2, 2), of the scale
    design: FloatArray  # (cells, n, 2), weighted by the inverse covariance of the points
    rest: FloatArray  # (cells, n): residuals of the regression, weighted likewise

    def select(self, indices: BoolArray | NDArray[np.intp]) -> "_Cells":
        """Return the cells at a mask or at indices."""
        return _Cells(
            log_weight=self.log_weight[indices],
            misfit=self.misfit[indices],
            capacity=self.capacity[indices],
            servers=self.servers[indices],
            scale=self.scale[indices],
            covariance=self.covariance[indices],
            design=self.design[indices],
            rest=self.rest[indices],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatencyFit:
    """A fitted model of a replica's P99 at any rate."""

    rates: FloatArray  # requests per second of the points that kept up
    inverses: FloatArray  # (misfits, n, n): of the covariance of their ln P99
    cells: _Cells
    cv2: float  # squared variation of service times, from latencies at the lowest rate

    def at(self, rate: float) -> LatencyMixture:
        """Return the P99 at a rate of requests per second, by kriging with a trend."""
        cells = self.cells.select(self.cells.capacity > rate)
        share = np.full(len(cells.capacity), 1 / SHAPES)
        spread = np.array(MISFITS)[cells.misfit] ** 2  # of e, squared
        alike = np.exp(-(((rate - self.rates) / self.rates.max() / REACH) ** 2) / 2)
        row = np.stack(
            [np.ones(len(share)), wait_shape(rate / cells.capacity, cells.servers)], axis=-1
        )
        trend = (row * cells.scale).sum(axis=1)
        off = 1 / np.clip(1 - spread * (cells.rest @ alike), 1 / MAX_MISFIT, MAX_MISFIT)
        pull = (spread * trend * off)[:, None] * np.einsum("cnj,n->cj", cells.design, alike)
        slope = (row - pull) * off[:, None]
        misfit_reduction = np.einsum("n,mnk,k->m", alike, self.inverses, alike)[cells.misfit]
        variance = np.einsum("ci,cij,cj->c", slope, cells.covariance, slope)
        variance += (trend * off**2) ** 2 * spread * np.maximum(1 - spread * misfit_reduction, 0.0)
        mean = trend * off
        spreads = np.maximum(np.sqrt(np.maximum(variance, 0.0)), MIN_SPREAD * mean)
        return LatencyMixture(weights=share, means_s=mean, spreads_s=spreads)

    @property
    def capacity(self) -> float:
        """Return the median capacity in requests per second."""
        return float(np.median(self.cells.capacity))

    def thinning(self, rate: float) -> float:
        """Return how many requests at this rate are worth one independent request."""
        use = np.minimum(rate / self.cells.capacity, MAX_USE)
        waits = self.cells.scale[:, 1] * wait_shape(use, self.cells.servers)
        share = waits / (waits + self.cells.scale[:, 0])
        alike = TAIL_CORRELATION * np.sqrt(share) * (1 + self.cv2) * use / (1 - use) ** 2
        return float(1 + alike.mean())


def wait_shape(use: FloatArray | float, servers: FloatArray) -> FloatArray:
    """Return the growth of waits with the use of c servers: u^(sqrt(2 (c + 1)) - 1) / (1 - u)."""
    return use ** (np.sqrt(2 * (servers + 1)) - 1) / (1 - use)


def fit_latency(points: Sequence[LoadPoint]) -> LatencyFit:
    """Fit points of one batch; at least one in open loop must have kept up.

    Points that did not keep up, and closed loops whose throughput no longer grows, determine the
    capacity. Noise is relative, at first to the measured P99s. That overweights P99s that are low
    by chance (with a deviation s the curve is 2 s^2 too low), so the refits take it relative to the
    previous fit.
    """
    open_points = sorted(
        (point for point in points if point.mode is LoadMode.OPEN and point.keeps_up),
        key=_offered_rate,
    )
    rates = np.array([point.offered_per_second for point in open_points])
    p99_s = np.array([point.latency_p99_s for point in open_points])
    capacities, capacity_spreads, largest = _capacity_evidence(points)
    evidence = _Evidence(
        rates=rates,
        p99_s=p99_s,
        expected_s=p99_s,
        spreads=_spreads(open_points, np.ones(len(open_points))),
        capacities=capacities,
        capacity_spreads=capacity_spreads,
        largest=largest,
        cv2=_service_cv2(open_points[0]),
    )
    fit = _fit(evidence)
    for _ in range(REFITS):
        thinning = np.array([fit.thinning(float(rate)) for rate in rates])
        expected = [fit.at(float(rate)).quantile_s(0.5) for rate in rates]
        expected_s = np.array([one or own for one, own in zip(expected, p99_s, strict=True)])
        fit = _fit(
            replace(evidence, expected_s=expected_s, spreads=_spreads(open_points, thinning))
        )
    return fit


def _offered_rate(point: LoadPoint) -> float:
    """Return the requests that arrive per second, which every open-loop point has."""
    return point.offered_per_second or math.nan


def _service_cv2(lowest: LoadPoint) -> float:
    """Return the squared variation of the lognormal through a P50 and P99; 1 without a P50."""
    if lowest.latency_p50_s is None:
        return 1.0
    sigma = (math.log(lowest.latency_p99_s) - math.log(lowest.latency_p50_s)) / Z99
    return math.expm1(min(sigma, MAX_SIGMA) ** 2)


def _spreads(points: Sequence[LoadPoint], thinning: FloatArray) -> FloatArray:
    """Return the standard deviation of each point's ln P99.

    It is computed from the thinned count, times the factor by which the points' intervals are wider
    on average. A point's own interval is not used alone: a run without a long queue has both a low
    P99 and a narrow interval, and would pull the curve down (their simulated correlation is 0.2 to
    0.8).
    """
    counted = [
        own and max(own * math.sqrt(thin), MIN_SPREAD)
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
    spreads = [
        own * times if own else point.p99_spread or UNKNOWN_SPREAD
        for point, own in zip(points, counted, strict=True)
    ]
    return np.maximum(spreads, MIN_SPREAD)


def left_out_errors(points: Sequence[LoadPoint]) -> tuple[float, ...]:
    """Return the relative error of each open point's P99, predicted from the other points.

    It is empty for fewer than MIN_CHECKED points, and uses at most MAX_CHECKED evenly spaced ones.
    Points are omitted if the other points allow an unbounded queue.
    """
    open_points = [point for point in points if point.mode is LoadMode.OPEN and point.keeps_up]
    if len(open_points) < MIN_CHECKED:
        return ()
    errors: list[float] = []
    for point in open_points[:: math.ceil(len(open_points) / MAX_CHECKED)]:
        fit = fit_latency([other for other in points if other is not point])
        expected = fit.at(_offered_rate(point)).quantile_s(0.5)
        if expected is not None:
            errors.append(expected / point.latency_p99_s - 1)
    return tuple(errors)


def _capacity_evidence(points: Sequence[LoadPoint]) -> tuple[FloatArray, FloatArray, float]:
    """Return throughputs at capacity, their spreads, and a lower bound of the capacity."""
    closed = sorted(
        (point.concurrency, point.throughput_per_second)
        for point in points
        if point.mode is LoadMode.CLOSED and point.concurrency is not None
    )
    most = [point.throughput_per_second for point in points if not point.keeps_up]
    spreads = [CAPACITY_SPREAD] * len(most)
    # A smaller step is not evidence: one more of thirty adds only 3 % even below capacity.
    fewer = [served for at_once, served in closed if 2 * at_once <= closed[-1][0]]
    if fewer:
        last, before = closed[-1][1], fewer[-1]
        if last < SATURATION_GAIN * before:
            most.append(max(last, before))
            spreads.append(math.hypot(CAPACITY_SPREAD, max(last / before - 1, 0.0)))
    largest = max(point.throughput_per_second for point in points)
    return np.array(most), np.array(spreads), largest


def _fit(evidence: _Evidence) -> LatencyFit:
    gaps = (evidence.rates[:, None] - evidence.rates) / evidence.rates.max()
    alike = np.exp(-((gaps / REACH) ** 2) / 2)
    noise = np.diag(evidence.spreads**2)
    inverses = np.linalg.inv(np.array([misfit**2 * alike + noise for misfit in MISFITS]))
    low, high = (math.log(use / (1 - use)) for use in (MIN_USE, MAX_USE))
    coarse = _cells(evidence, inverses, np.linspace(low, high, GRID))
    use = evidence.rates.max() / coarse.capacity
    logit, step = np.log(use / (1 - use)), (high - low) / GRID
    last = min(float(logit.max()) + step, high)
    finer: FloatArray = np.linspace(float(logit.min()) - step, last, GRID)
    cells = _cells(evidence, inverses, finer)
    return LatencyFit(
        rates=evidence.rates, inverses=inverses, cells=_thinned_cells(cells), cv2=evidence.cv2
    )


def _cells(evidence: _Evidence, inverses: FloatArray, logits: FloatArray) -> _Cells:
    """Return the likely cells of a grid, with D and A of each by linear regression."""
    top_use, servers = (each.ravel() for each in np.meshgrid(1 / (1 + np.exp(-logits)), SERVERS))
    capacity = evidence.rates.max() / top_use
    least_s = evidence.expected_s.min()
    prior = np.diag(1 / (PRIOR_SPREAD * least_s) ** 2)
    pulled = prior @ (PRIOR_MEAN * least_s)
    observed_ratio = evidence.p99_s / evidence.expected_s
    grown = wait_shape(evidence.rates / capacity[:, None], servers[:, None])
    base_ratio = np.broadcast_to(1 / evidence.expected_s, grown.shape)
    design = np.stack([base_ratio, grown / evidence.expected_s], axis=-1)
    weighted = np.einsum("cnj,mnk->mckj", design, inverses, optimize=True)
    precision = np.einsum("cni,mcnj->mcij", design, weighted) + prior
    covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    scale = np.einsum(
        "mcij,mcj->mci", covariance, np.einsum("mcnj,n->mcj", weighted, observed_ratio) + pulled
    )
    log_weight = 0.5 * np.einsum("mci,mcij,mcj->mc", scale, precision, scale)
    log_weight -= 0.5 * np.log(np.linalg.det(precision))
    total_misfit = np.einsum("n,mnk,k->m", observed_ratio, inverses, observed_ratio)
    log_weight += 0.5 * (np.linalg.slogdet(inverses)[1] - total_misfit)[:, None]
    log_weight += _capacity_weight(capacity, evidence)
    log_weight[(scale <= 0).any(axis=-1)] = -np.inf  # waits do not shrink as rates grow
    rest = (inverses @ observed_ratio)[:, None] - np.einsum("mcnj,mcj->mcn", weighted, scale)
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


def _thinned_cells(cells: _Cells) -> _Cells:
    """Return SHAPES cells of equal weight, at even steps of the likelihood by capacity."""
    order = np.argsort(cells.capacity, kind="stable")
    weight: FloatArray = np.exp(cells.log_weight - cells.log_weight.max())[order]
    steps = (np.arange(SHAPES) + 0.5) / SHAPES * weight.sum()
    grown = np.asarray(np.cumsum(weight), dtype=np.float64)
    places = np.asarray(np.searchsorted(grown, steps), dtype=np.intp)
    thinned = cells.select(order[places])
    return replace(thinned, log_weight=np.zeros(SHAPES))


def _capacity_weight(capacity: FloatArray, evidence: _Evidence) -> FloatArray:
    """Return the log-likelihood of capacities from throughputs at or below capacity."""
    off = np.log(capacity[:, None] / evidence.capacities) / evidence.capacity_spreads
    below = np.minimum(np.log(capacity / evidence.largest) / CAPACITY_SPREAD, 0)
    weight: FloatArray = -0.5 * (off**2).sum(axis=1) - 0.5 * below**2
    return weight
