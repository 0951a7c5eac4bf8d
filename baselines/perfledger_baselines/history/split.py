"""Stretches on either side of a place in, how sure it is that they lie on different levels out."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfledger_baselines.history.kernels import compiled

# The noise of the whole row counts as so many observations beside those of a stretch: a short
# stretch borrows, a long one speaks for itself, and one in a burst of noise cannot pass for quiet.
PRIOR_OBSERVATIONS = 10.0

# The noise of the whole row is known about this well.
PRIOR_DEGREES = 50.0

# Further than this from a change the noise may be another, and levels wander.
REACH = 100

# A step at one end of a line is the line: what is left of it then is no less than this share.
LEAST_FREE = 1e-9


class Tallies(NamedTuple):
    """One row, for kernels: a sum over [a, b) is a running sum, of N + 1, at b less that at a."""

    levels: Sequence[float]
    moments: Sequence[float]  # of index times level
    weights: Sequence[float]
    weighted: Sequence[float]  # of weight times level
    squares: Sequence[float]  # of weight times squared level
    sd: float
    dependence: float


def dependence_factors(
    count: NDArray[np.float64], dependence: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by what AR(1) noise multiplies the variance of a mean of `count` observations."""
    rest = 1 - dependence
    decay = 2 * dependence * (1 - dependence**count) / (count * rest**2)
    factors: NDArray[np.float64] = (1 + dependence) / rest - decay
    return factors


@compiled
def normal_quantile(t: float, degrees: float) -> float:
    """Return |z| as likely as Student's t: Wallace (1959), right to 0.02 from 4 degrees on."""
    shrink = (8 * degrees + 1) / (8 * degrees + 3)
    return shrink * math.sqrt(degrees * math.log1p(t * t / degrees))


@compiled
def weigh_stretch(
    total: float, squares: float, count: float, sd: float, dependence: float
) -> tuple[float, float, float]:
    """Return a stretch's mean, the variance of that, and how many degrees of freedom it has.

    `total` and `squares` are the sums of its `count` levels and of their squares. The variance is
    moderated (Smyth 2004) by that of the row, and widened for AR(1) dependence.
    """
    mean = total / count
    rest = max(squares - count * mean * mean, 0.0)
    factor = mean_factor(count, dependence)
    # n dependent observations leave n - factor squares on average, and know factor times less.
    free = max(count - factor, 0.0)
    prior = PRIOR_OBSERVATIONS * sd * sd
    variance = (prior + rest) / (PRIOR_OBSERVATIONS + free) * factor / count
    # Satterthwaite's: where a stretch is far noisier than the row, its few observations decide.
    own = max(free / factor, LEAST_FREE)
    degrees = (prior + rest) ** 2 / (prior * prior / PRIOR_DEGREES + rest * rest / own)
    return mean, variance, degrees


@compiled
def weigh_split(
    row: Tallies, first: int, place: int, stop: int
) -> tuple[float, float, float, float, float]:
    """Weigh [first, place) against [place, stop), over REACH at most.

    Return both levels, the standard error of their difference, its degrees of freedom, and the |z|
    of Welch's t (Biometrika 34, 1947). Each observation counts by its weight. In dependent noise
    the levels are fitted by generalised least squares: `fit_step`.
    """
    first, stop = max(first, place - REACH), min(stop, place + REACH)
    sd, dependence = row.sd, row.dependence
    count = row.weights[place] - row.weights[first]
    total, square = (
        row.weighted[place] - row.weighted[first],
        row.squares[place] - row.squares[first],
    )
    before, one, known_one = weigh_stretch(total, square, count, sd, dependence)
    more = row.weights[stop] - row.weights[place]
    total, square = row.weighted[stop] - row.weighted[place], row.squares[stop] - row.squares[place]
    after, two, known_two = weigh_stretch(total, square, more, sd, dependence)
    variance = one + two
    degrees = variance * variance / (one * one / known_one + two * two / known_two)
    if dependence > 0:
        before, after = fit_step(row, first, place, stop)
        variance *= fit_gain(count, more, dependence)
    error = math.sqrt(variance)
    return before, after, error, degrees, normal_quantile((after - before) / error, degrees)


@compiled
def fit_step(row: Tallies, first: int, place: int, stop: int) -> tuple[float, float]:
    """Return the levels before and after a step in AR(1) noise, by generalised least squares.

    Cochrane & Orcutt (1949): each level less `dependence` times the one before it is fresh. The one
    at the step sees all of it, later ones 1 - dependence. Here fresh ones are divided by that, and
    the first level of all counts as 1 + 2 `extra` of them.
    """
    extra = row.dependence / (1 - row.dependence)
    before = row.weights[place] - row.weights[first]
    after = row.weights[stop] - row.weights[place]
    start, end = level_at(row, first), level_at(row, stop - 1)
    jump = level_at(row, place) - level_at(row, place - 1)
    total = row.weighted[stop] - row.weighted[first] + extra * (start + end)
    later = row.weighted[stop] - row.weighted[place] + extra * (end + (1 + extra) * jump)
    weight, share = before + after + 2 * extra, after + extra
    step = later - share * total / weight
    step /= share + extra + extra * extra - share * share / weight
    level = (total - share * step) / weight
    return level, level + step


@compiled
def fit_gain(before: float, after: float, dependence: float) -> float:
    """Return the variance of such a step as a share of that of the difference of the two means.

    Of 20 observations a side it is .77 at a dependence of .6, and of long stretches 1.
    """
    extra = dependence / (1 - dependence)
    share = after + extra
    fresh = share + extra + extra * extra - share * share / (before + after + 2 * extra)
    means = mean_factor(before, dependence) / before + mean_factor(after, dependence) / after
    return (1 + dependence) / (1 - dependence) / fresh / means


@compiled
def level_at(row: Tallies, place: int) -> float:
    """Return one level."""
    return row.levels[place + 1] - row.levels[place]


@compiled
def mean_factor(count: float, dependence: float) -> float:
    """Return by what AR(1) noise multiplies the variance of a mean of `count` observations."""
    apart = 1 - dependence
    decay: float = 2 * dependence * (1 - dependence**count) / (count * apart * apart)
    return (1 + dependence) / apart - decay


@compiled
def explained_by_line(row: Tallies, first: int, stop: int) -> tuple[float, float]:
    """Return the sum of squares that a line through [first, stop) explains, and its slope."""
    count = float(stop - first)
    total = row.levels[stop] - row.levels[first]
    sway = max(count * (count * count - 1) / 12, LEAST_FREE)
    slope = (row.moments[stop] - row.moments[first] - (first + stop - 1) / 2 * total) / sway
    return slope * slope * sway, slope


@compiled
def over_line(row: Tallies, bounds: tuple[int, int, int, int, int]) -> float:
    """Return by how much a step explains its surroundings better than a straight line does.

    A sum of squares. `bounds` are the place, third, between its two neighbours on either side.
    Slow drift looks like a stair of steps, each of which fits better than a line between its
    neighbours alone. So with neighbours in the same direction it is held against one line through
    all of them, and the gain is per step.
    """
    start, first, place, stop, end = bounds
    levels = row.levels
    here = (levels[stop] - levels[place]) / (stop - place)
    step = here - (levels[place] - levels[first]) / (place - first)
    steps, explained = 1, 0.0
    if start < first:
        lower = (levels[first] - levels[start]) / (first - start)
        if ((levels[place] - levels[first]) / (place - first) > lower) == (step > 0):
            steps, explained = 2, (levels[first] - levels[start]) ** 2 / (first - start)
        else:
            start = first
    if stop < end:
        if ((levels[end] - levels[stop]) / (end - stop) > here) == (step > 0):
            steps, explained = (
                steps + 1,
                explained + (levels[end] - levels[stop]) ** 2 / (end - stop),
            )
        else:
            end = stop
    explained += (levels[place] - levels[first]) ** 2 / (place - first)
    explained += (levels[stop] - levels[place]) ** 2 / (stop - place)
    explained -= (levels[end] - levels[start]) ** 2 / (end - start)
    return (explained - explained_by_line(row, start, end)[0]) / steps


@compiled
def beside_line(row: Tallies, first: int, place: int, stop: int) -> float:
    """Return the sum of squares that a step explains on top of the best line through its gap."""
    levels = row.levels
    before, after, count = float(place - first), float(stop - place), float(stop - first)
    step = (levels[stop] - levels[place]) / after - (levels[place] - levels[first]) / before
    _, slope = explained_by_line(row, first, stop)
    balance = before * after / count
    free = max(1 - 3 * balance * count / max(count * count - 1, 1.0), LEAST_FREE)
    return (step - slope * count / 2) ** 2 * balance / free
