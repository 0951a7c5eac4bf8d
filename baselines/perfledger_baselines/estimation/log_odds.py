"""Puts shares of time on the scale they are compared on: log-odds near 1, else logs.

Near 1 a share can only fall: the idle time is what varies, and the log of the share hides it. Its
log-odds do not. Below NEAR_ONE both find the same; at .97 and .995 log-odds find up to .15 more of
2 % falls, and their false calls stay within alpha (`benchmarks/share_scales.py`).
"""

import math

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray

NEAR_ONE = 0.9
# Telemetry counts whole per cents, and reads 1 where all but half of one is busy. That half is the
# correction of the empirical logit of a count out of 100 (Cox, Analysis of Binary Data, 1970).
HALF_QUANTUM = 0.005
# Log-odds: sides nearer than this have the ratio that the slope says.
SAME = 1e-9
# A smaller share is lost in rounding when it is computed from its log-odds.
SMALLEST_SHARE = 1e-17


def share_levels(base: FloatArray, head: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the levels of both sides' positive shares, (runs,) each; NaN where a share is.

    Near 1 they are the log-odds log((p + h) / (1 - p + h)), in units in which the difference of
    the sides' means is the log of the ratio of the shares that have these means: effects and
    margins stay relative. Otherwise, and for values above 1, which are not shares, they are logs.
    Each side needs a share.
    """
    shares = np.concatenate([base, head])
    shares = shares[~np.isnan(shares)]
    if shares.max() > 1 or np.median(shares) < NEAR_ONE:
        return np.log(base), np.log(head)
    before, after = _log_odds(base), _log_odds(head)
    unit = _unit(float(np.nanmean(before)), float(np.nanmean(after)))
    return unit * before, unit * after


def _log_odds(shares: FloatArray) -> FloatArray:
    return np.log((shares + HALF_QUANTUM) / (1 - shares + HALF_QUANTUM))


def _unit(before: float, after: float) -> float:
    """Return the change of the log of a share per unit of its log-odds, between two log-odds."""
    if abs(after - before) > SAME:
        return (math.log(_share(after)) - math.log(_share(before))) / (after - before)
    share = _share(before)
    return 1 / (share / (share + HALF_QUANTUM) + share / (1 - share + HALF_QUANTUM))


def _share(log_odds: float) -> float:
    """Return the share with these log-odds; the inverse of `_log_odds`."""
    share = (1 + 2 * HALF_QUANTUM) / (1 + math.exp(-log_odds)) - HALF_QUANTUM
    return max(share, SMALLEST_SHARE)
