"""Computes the chance that more pairs settle a test; if it is small, measuring on is futile.

Stochastic curtailment by conditional power: the mean after all pairs follows from that of the pairs
so far and from the true change, and its interval is compared with the margin and with zero
(Jennison & Turnbull 2000, chapter 10; Lachin, "A review of methods for futility stopping based on
conditional power", Statistics in Medicine 24, 2005). No test level depends on stopping for futility
(it is "non-binding"): it costs power and never raises the false-alarm rate, since an abandoned test
stays undecided.
"""

import math

from scipy.special import chdtri, ndtr, stdtrit

from perfledger_baselines.significance.alpha_spending import equivalence_level, nominal_levels
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import looks_until
from perfledger_baselines.significance.multiple_testing import AdjustedResult

# Below it the remaining pairs are not worth their time. Stopping there adds at most a ninth to the
# share of missed changes, by the bound of Jennison & Turnbull for curtailment at 0.9.
MIN_CHANCE = 0.1
# The spread of few pairs is uncertain. The one used exceeds the true one in only this share of
# cases, so that a check that still has a chance is not abandoned.
SPREAD_CONFIDENCE = 0.1


def chance_to_settle(
    adjusted: AdjustedResult, *, pairs: int, rule: DecisionRule, floor: float
) -> float:
    """Return the chance that a test is decided, either way, after `pairs` pairs in total.

    `floor` is the smallest relative change of the series that is called a change. The result is the
    larger of two chances: to prove no change where there is none, and to find the change that the
    pairs so far show (Lachin's "current trend"). Given the mean of the first n pairs and the true
    mean m of the others, that of all N has the expectation (n mean + (N - n) m) / N and the
    standard deviation sd sqrt(N - n) / N.
    """
    result = adjusted.result
    more = pairs - result.pairs
    if more <= 0:
        return 0.0
    sd = result.sd * math.sqrt(result.degrees / float(chdtri(result.degrees, SPREAD_CONFIDENCE)))
    error, degrees = sd / math.sqrt(pairs), result.degrees + more
    looks = looks_until(rule.looks, pairs)
    level = nominal_levels(looks, rule.alpha / adjusted.sharing)[-1]
    one_sided = result.share * equivalence_level(looks, rule.alpha)
    same_up_to = rule.log_margin + float(stdtrit(degrees, one_sided)) * error
    change_from = max(math.log1p(floor), -float(stdtrit(degrees, result.share * level / 2)) * error)

    def chance_within(bound: float, true_mean: float) -> float:
        expected = (result.pairs * result.mean + more * true_mean) / pairs
        scale = sd * math.sqrt(more) / pairs
        return float(ndtr((bound - expected) / scale) - ndtr((-bound - expected) / scale))

    is_same = chance_within(same_up_to, 0.0) if same_up_to > 0 else 0.0
    return max(is_same, 1 - chance_within(change_from, result.mean))
