"""Tests whether the stretches on either side of a place have different levels."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.history.segmentation.compiled_loops import as_vector, compile_loop

# Weight of the whole row's noise in observations, combined with a stretch's own. A short stretch
# relies on the row, a long one on itself, and one in a burst of noise cannot look quiet.
PRIOR_OBSERVATIONS = 10.0

# Degrees of freedom of the noise of the whole row.
PRIOR_DEGREES = 50.0

# Further than this from a change the noise may differ, and levels wander.
REACH = 100

# Degrees of freedom for observations that carry no information on their noise: not 0, because they
# are divisors.
MIN_FREE = 1e-9


class PrefixSums(NamedTuple):
    """Prefix sums of one row, of N + 1: a sum over [a, b) is the value at b less that at a."""

    levels: Sequence[float]
    moments: Sequence[float]  # of index times level
    weights: Sequence[float]
    weighted: Sequence[float]  # of weight times level
    squares: Sequence[float]  # of weight times squared level
    sd: float
    dependence: float

    @classmethod
    def of(cls, sums: Sequence[FloatArray], *, sd: float, dependence: float) -> Self:
        """Return the five sums of a row in the form that the loops take."""
        levels, moments, weights, weighted, squares = map(as_vector, sums)
        return cls(levels, moments, weights, weighted, squares, sd, dependence)


def dependence_factors(count: FloatArray, dependence: FloatArray) -> FloatArray:
    """Return the factor by which AR(1) noise widens the variance of a mean of `count` levels."""
    rest = 1 - dependence
    decay = 2 * dependence * (1 - dependence**count) / (count * rest**2)
    return (1 + dependence) / rest - decay


@compile_loop
def normal_quantile(t: float, degrees: float) -> float:
    """Return the |z| as likely as Student's t: Wallace (1959), good to 0.02 from 4 degrees on."""
    shrink = (8 * degrees + 1) / (8 * degrees + 3)
    return shrink * math.sqrt(degrees * math.log1p(t * t / degrees))


@compile_loop
def stretch_mean(
    total: float, squares: float, count: float, sd: float, dependence: float
) -> tuple[float, float, float]:
    """Return a stretch's mean, the variance of the mean, and its degrees of freedom.

    `total` and `squares` are the sums of its `count` levels and of their squares. The variance is
    moderated (Smyth 2004) by that of the row, and widened for AR(1) dependence.
    """
    mean = total / count
    rest = max(squares - count * mean * mean, 0.0)
    factor = mean_factor(count, dependence)
    # n dependent observations have n - factor squares on average, and 1 / factor the information.
    free = max(count - factor, 0.0)
    prior = PRIOR_OBSERVATIONS * sd * sd
    variance = (prior + rest) / (PRIOR_OBSERVATIONS + free) * factor / count
    # Satterthwaite's: if a stretch is far noisier than the row, its few observations decide.
    own_degrees = max(free / factor, MIN_FREE)
    degrees = (prior + rest) ** 2 / (prior * prior / PRIOR_DEGREES + rest * rest / own_degrees)
    return mean, variance, degrees


@compile_loop
def welch_split(
    row: PrefixSums, first: int, place: int, stop: int
) -> tuple[float, float, float, float, float]:
    """Test [first, place) against [place, stop), using at most REACH observations on each side.

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
    before, variance_before, degrees_before = stretch_mean(total, square, count, sd, dependence)
    count_after = row.weights[stop] - row.weights[place]
    total, square = row.weighted[stop] - row.weighted[place], row.squares[stop] - row.squares[place]
    after, variance_after, degrees_after = stretch_mean(total, square, count_after, sd, dependence)
    variance = variance_before + variance_after
    degrees = (
        variance
        * variance
        / (
            variance_before * variance_before / degrees_before
            + variance_after * variance_after / degrees_after
        )
    )
    if dependence > 0:
        before, after = fit_step(row, first, place, stop)
        variance *= fit_gain(count, count_after, dependence)
    error = math.sqrt(variance)
    return before, after, error, degrees, normal_quantile((after - before) / error, degrees)


@compile_loop
def fit_step(row: PrefixSums, first: int, place: int, stop: int) -> tuple[float, float]:
    """Return the levels before and after a step in AR(1) noise, by generalised least squares.

    Cochrane & Orcutt (1949): each level less `dependence` times the one before it is an innovation.
    The one at the step contains all of it, later ones 1 - dependence. Innovations are divided by
    that factor, and the very first level counts as 1 + 2 `extra` of them.
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


@compile_loop
def fit_gain(before: float, after: float, dependence: float) -> float:
    """Return the variance of a fitted step relative to that of the difference of the two means.

    With 20 observations per side it is .76 at a dependence of .6; for long stretches 1.
    """
    extra = dependence / (1 - dependence)
    share = after + extra
    weight = share + extra + extra * extra - share * share / (before + after + 2 * extra)
    means = mean_factor(before, dependence) / before + mean_factor(after, dependence) / after
    return (1 + dependence) / (1 - dependence) / weight / means


@compile_loop
def level_at(row: PrefixSums, place: int) -> float:
    """Return one level."""
    return row.levels[place + 1] - row.levels[place]


@compile_loop
def mean_factor(count: float, dependence: float) -> float:
    """Return the factor by which AR(1) noise widens the variance of a mean of `count` levels."""
    apart = 1 - dependence
    decay: float = 2 * dependence * (1 - dependence**count) / (count * apart * apart)
    return (1 + dependence) / apart - decay


@compile_loop
def explained_by_line(row: PrefixSums, first: int, stop: int) -> tuple[float, float]:
    """Return the sum of squares that a line through [first, stop) explains, and its slope."""
    count = float(stop - first)
    total = row.levels[stop] - row.levels[first]
    sway = count * (count * count - 1) / 12
    slope = (row.moments[stop] - row.moments[first] - (first + stop - 1) / 2 * total) / sway
    return slope * slope * sway, slope


@compile_loop
def step_gain_over_line(
    row: PrefixSums, bounds: tuple[int, int, int, int, int]
) -> tuple[float, int]:
    """Return how much better a step explains its surroundings than a straight line does.

    A sum of squares. `bounds` are the place, third, between its two neighbours on either side. Slow
    drift looks like a staircase, each step of which fits better than a line between its neighbours
    alone. A step with neighbours in the same direction is therefore compared with one line through
    all of them. The gain is per step; the number of steps is returned as well.
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
    return (explained - explained_by_line(row, start, end)[0]) / steps, steps


@compile_loop
def step_gain_beside_line(row: PrefixSums, first: int, place: int, stop: int) -> float:
    """Return the sum of squares that a step explains beyond the best line through its gap."""
    levels = row.levels
    before, after, count = float(place - first), float(stop - place), float(stop - first)
    step = (levels[stop] - levels[place]) / after - (levels[place] - levels[first]) / before
    _, slope = explained_by_line(row, first, stop)
    balance = before * after / count
    free = 1 - 3 * balance * count / (count * count - 1)  # above 0 from three observations on
    return (step - slope * count / 2) ** 2 * balance / free
