"""A spread and a number of pairs in, the change that they can tell from none out, and back."""

import math

from scipy.special import gammaln, ndtri, stdtrit

from perfledger_baselines.looks import FEWEST_PAIRS

POWER = 0.8  # the usual odds asked of a study: four times out of five
FEWEST_STEPS, MOST_STEPS = 5, 30  # of a process; see steps_per_process


def smallest_detectable_change(
    sd: float,
    pairs: int,
    *,
    alpha: float,
    floor: float = 0.0,
    power: float = POWER,
    degrees: float | None = None,
) -> float:
    """Return the relative change that so many pairs would call a change, `power` of the time.

    `sd` is the standard deviation of the pairs' differences of logs, `degrees` the degrees of
    freedom it is known with (by default, one fewer than pairs), `alpha` the two-sided level that a
    single test faces. The change must be significant, and its estimate above the floor. The
    first asks for a noncentral t to exceed the critical value, solved by the approximation of
    Johnson & Welch, "Applications of the non-central t-distribution", Biometrika 31 (1940): right
    to 0.003 in power from four pairs on, where the sum of two quantiles of t, as in most books, has
    a power of .63 at the levels of a look in a family. Raises ValueError for fewer than two pairs
    of a spread that nothing else tells.
    """
    degrees = pairs - 1 if degrees is None else degrees
    if pairs < 1 or degrees <= 0:
        msg = f"{pairs} pairs have no spread: at least 2 are needed, or a history"
        raise ValueError(msg)
    error = sd / math.sqrt(pairs)
    significant = _noncentrality(degrees, alpha=alpha, power=power) * error
    big = math.log1p(floor) + float(ndtri(power)) * error
    return relative(max(significant, big))


def pairs_needed(sd: float, change: float, *, alpha: float, power: float = POWER) -> int:
    """Return the fewest pairs, at least four, that would detect a relative `change`.

    The inverse of `smallest_detectable_change`, with the same words. Raises ValueError unless the
    change is above zero: no number of pairs finds nothing.
    """
    if not change > 0:
        msg = f"a change of {change} needs no pairs and is found by none: give one above 0"
        raise ValueError(msg)

    def is_enough(pairs: int) -> bool:
        return smallest_detectable_change(sd, pairs, alpha=alpha, power=power) <= change

    enough = FEWEST_PAIRS
    while not is_enough(enough):
        enough *= 2
    too_few = enough // 2 if enough > FEWEST_PAIRS else FEWEST_PAIRS - 1
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if is_enough(middle):
            enough = middle
        else:
            too_few = middle
    return enough


def steps_per_process(
    *, startup_s: float, step_s: float, within_sd: float, between_sd: float
) -> int:
    """Return how many steps a process should measure so that the machine's time tells the most.

    sqrt(startup / step * within variance / between variance), the optimum of Kalibera & Jones,
    "Rigorous benchmarking in reasonable time", ISMM 2013; kept between 5, from which a process has
    a location worth the name, and 30. Both standard deviations are of logs: of steps inside a
    process, and of processes' locations beyond what their steps explain. Raises ValueError for a
    time that is not above zero.
    """
    if not (startup_s > 0 and step_s > 0):
        msg = f"start-up of {startup_s} s and step of {step_s} s: both take time"
        raise ValueError(msg)
    if between_sd <= 0:
        return MOST_STEPS
    best = math.sqrt(startup_s / step_s) * within_sd / between_sd
    return min(MOST_STEPS, max(FEWEST_STEPS, math.ceil(min(best, MOST_STEPS))))


def relative(log_change: float) -> float:
    """Return head / base - 1 for a difference of logs, kept finite so that it can be written."""
    return math.expm1(min(log_change, 700.0))  # exp(709.8) is the largest double


def _noncentrality(degrees: float, *, alpha: float, power: float) -> float:
    """Return by how many standard errors the truth must differ from none.

    With S the estimate's error over the true one, significance is Z + d > t S; Z - t S is taken as
    normal, with the mean and variance it has: E S = c, Var S = 1 - c^2.
    """
    critical = -float(stdtrit(degrees, alpha / 2))
    log_ratio = float(gammaln((degrees + 1) / 2)) - float(gammaln(degrees / 2))
    mean = math.exp(log_ratio) * math.sqrt(2 / degrees)
    spread = math.sqrt(1 + critical**2 * max(0.0, 1 - mean**2))
    return critical * mean + float(ndtri(power)) * spread
