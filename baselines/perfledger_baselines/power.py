"""A spread and a number of pairs in, the change that they can tell from none out, and back."""

import math

from scipy.special import stdtrit

from perfledger_baselines.looks import FEWEST_PAIRS

POWER = 0.8  # the usual odds asked of a study: four times out of five


def smallest_detectable_change(
    sd: float, pairs: int, *, alpha: float, floor: float = 0.0, power: float = POWER
) -> float:
    """Return the relative change that so many pairs would call a change, `power` of the time.

    `sd` is the standard deviation of the pairs' differences of logs, `alpha` the two-sided level
    that a single test faces. An estimate is called when it is beyond c = max(t_{1 - alpha/2} * se,
    log(1 + floor)) with se = sd / sqrt(pairs); the true change must lie t_{power} * se beyond that:
    the minimum detectable difference of Zar, "Biostatistical Analysis", with its two quantiles of t
    on pairs - 1 degrees of freedom. Raises ValueError for fewer than two pairs.
    """
    if pairs < 2:  # noqa: PLR2004 - one pair has no spread: the definition, not a choice
        msg = f"{pairs} pairs have no spread: at least 2 are needed"
        raise ValueError(msg)
    error = sd / math.sqrt(pairs)
    called = max(-float(stdtrit(pairs - 1, alpha / 2)) * error, math.log1p(floor))
    return relative(called + float(stdtrit(pairs - 1, power)) * error)


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


def relative(log_change: float) -> float:
    """Return head / base - 1 for a difference of logs, kept finite so that it can be written."""
    return math.expm1(min(log_change, 700.0))  # exp(709.8) is the largest double
