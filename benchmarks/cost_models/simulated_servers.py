"""A kind of server and rates in, how long its requests take out: simulated one by one.

Requests come at random and are served in the order of their arrival. No formula of what judges
these latencies is among them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

WARM_UP = 2000  # requests, as a tenth more than 20,000
_BLOCK = 256  # of requests whose random numbers are drawn at once
_COLUMNS = 64  # of rates whose walks are held at once
# Near the limit a P99 is simulated in parts of so many windows, until it is so many standard errors
# away, at most as many times as this.
_WINDOWS, _WINDOW, _GROUPS = 128, 20_000, 4
_CLEAR, _MAX_PARTS = 2.5, 12
_USES = 1 - np.geomspace(0.97, 0.03, 20)
_EACH = 30  # windows at each use
_NEAR, _NEAR_ERRORS = 0.02, 2.5  # of the limit: there those do not tell


@dataclass(frozen=True, slots=True)
class Kind:
    """A server in units of its mean service: slots, or batches of up to `most`."""

    slots: int
    variation: float  # of lognormal service times, relative
    most: int = 1
    fixed: float = 0.0  # of a batch's time, in requests' own times

    @property
    def capacity(self) -> float:
        """Return the most requests a unit of time."""
        if self.most == 1:
            return float(self.slots)
        return self.most / (self.fixed + self.most)


KINDS = (
    *(Kind(slots, variation) for slots in (1, 4, 16) for variation in (0.3, 1.0, 2.0)),
    *(Kind(1, 0.2, most=8, fixed=fixed) for fixed in (4.0, 12.0)),
)


class Truth:
    """The P99 of a kind of server at any use, as good as simulation tells it."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self._kind, self._seed = kind, seed
        rates = np.repeat(_USES * kind.capacity, _EACH)
        samples = latencies(kind, rates, _WINDOW, seed).reshape(_WINDOW, len(_USES), _EACH)
        groups = np.log(np.quantile(samples.reshape(_WINDOW, len(_USES), 6, -1), 0.99, axis=(0, 3)))
        self._log_p99 = groups.mean(axis=1)
        self._error = groups.std(axis=1, ddof=1) / math.sqrt(groups.shape[1])
        self._sharper: dict[tuple[float, float], tuple[float, float]] = {}

    def p99(self, use: float) -> float:
        """Return about the P99, in mean services, between simulated uses."""
        if use >= _USES[-1]:
            return math.inf
        return math.exp(self._between(use, self._log_p99))

    def log_ratio(self, use: float, limit: float) -> tuple[float, float]:
        """Return ln(P99 / limit) and its standard error, 0 where it is far from the limit."""
        about = self.p99(use)
        near = _NEAR + _NEAR_ERRORS * self._between(use, self._error)
        if not math.isfinite(about) or abs(math.log(about / limit)) > near:
            return (math.log(about / limit) if math.isfinite(about) else math.inf), 0.0
        key = (use, limit)
        if key not in self._sharper:
            self._sharper[key] = self._simulated(use, limit)
        return self._sharper[key]

    def _between(self, use: float, values: FloatArray) -> float:
        at = -math.log1p(-min(max(use, float(_USES[0])), float(_USES[-1])))
        return float(np.interp(at, -np.log1p(-_USES), values))

    def _simulated(self, use: float, limit: float) -> tuple[float, float]:
        rates = np.full(_WINDOWS, use * self._kind.capacity)
        logs: list[float] = []
        middle = error = 0.0
        for part in range(_MAX_PARTS):
            samples = latencies(self._kind, rates, _WINDOW, self._seed + 7919 * (part + 1))
            groups = np.quantile(samples.reshape(_WINDOW, _GROUPS, -1), 0.99, axis=(0, 2))
            logs += np.log(groups / limit).tolist()
            middle = float(np.mean(logs))
            error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
            if abs(middle) > _CLEAR * error:
                break
        return middle, error


def latencies(kind: Kind, rates: FloatArray, count: int, seed: int) -> FloatArray:
    """Return what so many requests take at each rate, warmed up: (count, rates)."""
    rng = np.random.default_rng(seed)
    if kind.most > 1:
        return _batches(kind, rates, count + WARM_UP, rng)[WARM_UP:]
    if kind.slots > 1:
        return _slots(kind, rates, count + WARM_UP, rng)[WARM_UP:]
    parts = [
        _single(kind, rates[first : first + _COLUMNS], count + WARM_UP, rng)[WARM_UP:]
        for first in range(0, len(rates), _COLUMNS)
    ]
    return np.concatenate(parts, axis=1)


def _services(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    sigma = math.sqrt(math.log1p(kind.variation**2))
    return np.exp(sigma * rng.standard_normal(shape) - sigma**2 / 2)


def _single(kind: Kind, rates: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return the latencies of one slot: a walk above its lowest point so far (Lindley 1952)."""
    shape = (count, len(rates))
    services = _services(kind, shape, rng)
    walk = np.zeros(shape)
    np.cumsum(services[:-1] - rng.standard_exponential(shape)[1:] / rates, axis=0, out=walk[1:])
    times: FloatArray = walk - np.minimum.accumulate(walk, axis=0) + services
    return times


def _slots(kind: Kind, rates: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    many = len(rates)
    now, free, column = np.zeros(many), np.zeros((kind.slots, many)), np.arange(many)
    flat = free.reshape(-1)
    times = np.empty((count, many))
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        gaps = rng.standard_exponential((size, many)) / rates
        services = _services(kind, (size, many), rng)
        for index in range(size):
            now += gaps[index]
            soonest = free.argmin(axis=0) * many + column
            end = np.maximum(now, flat[soonest]) + services[index]
            flat[soonest] = end
            times[first + index] = end - now
    return times


def _batches(kind: Kind, rates: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Serve up to `most` of those that wait when the server gets free, all at once."""
    many = len(rates)
    column = np.arange(many)
    arrived = np.cumsum(rng.standard_exponential((count, many)) / rates, axis=0)
    batch = np.empty((count, many), np.int32)
    ends = np.zeros((count + 1, many))
    start, inside, number = np.full(many, -1.0), np.zeros(many), np.zeros(many, np.int64)
    for index in range(count):
        now = arrived[index]
        is_new = (now > start) | (inside >= kind.most)
        noise = _services(kind, (many,), rng)
        end = start + (kind.fixed + inside) * noise * (inside > 0)
        ends[number, column] = np.where(is_new, end, ends[number, column])
        number += is_new
        start = np.where(is_new, np.maximum(now, end), start)
        inside = np.where(is_new, 1, inside + 1)
        batch[index] = number
    ends[number, column] = start + kind.fixed + inside
    times: FloatArray = np.take_along_axis(ends, batch, axis=0) - arrived
    return times
