"""Puts shares of time on the scale they are compared on: log-odds near 1, else logs.

Near 1 a share can only fall: the idle time is what varies, and the log of the share hides it. Its
log-odds do not. Below NEAR_ONE both find the same; at .97 and .995 log-odds find up to .15 more of
2 % falls, and their false calls stay within alpha (`benchmarks/baselines/share_scales.py`).
"""

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
    """Return the levels of both sides' positive shares, (tests, runs) each; NaN where a share is.

    Near 1 they are the log-odds log((p + h) / (1 - p + h)), in units in which the difference of
    the sides' means is the log of the ratio of the shares that have these means: effects and
    margins stay relative. Otherwise, and for values above 1, which are not shares, they are logs.
    Each test needs a share of each side.
    """
    shares = np.concatenate([base, head], axis=1)
    is_near = (np.nanmax(shares, axis=1) <= 1) & (np.nanmedian(shares, axis=1) >= NEAR_ONE)
    before, after = np.log(base), np.log(head)
    odds_before, odds_after = _log_odds(base[is_near]), _log_odds(head[is_near])
    units = _units(np.nanmean(odds_before, axis=1), np.nanmean(odds_after, axis=1))
    before[is_near] = units[:, np.newaxis] * odds_before
    after[is_near] = units[:, np.newaxis] * odds_after
    return before, after


def typical_shares(base: FloatArray, head: FloatArray) -> tuple[float, float]:
    """Return one share of each side, whose ratio is that of the levels' means.

    `base` and `head` are the positive shares of one test. Near 1 they are the shares with the mean
    log-odds, otherwise the geometric means.
    """
    shares = np.concatenate([base, head])
    if shares.max() <= 1 and np.median(shares) >= NEAR_ONE:
        before, after = (_shares(np.array([_log_odds(side).mean()])) for side in (base, head))
        return float(before[0]), float(after[0])
    return float(np.exp(np.log(base).mean())), float(np.exp(np.log(head).mean()))


def _log_odds(shares: FloatArray) -> FloatArray:
    return np.log((shares + HALF_QUANTUM) / (1 - shares + HALF_QUANTUM))


def _units(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return the change of the log of a share per unit of its log-odds, between two, (tests,)."""
    steps = after - before
    is_same = np.abs(steps) <= SAME
    shares = _shares(before)
    slopes = (np.log(_shares(after)) - np.log(shares)) / np.where(is_same, 1.0, steps)
    tangents = 1 / (shares / (shares + HALF_QUANTUM) + shares / (1 - shares + HALF_QUANTUM))
    return np.where(is_same, tangents, slopes)


def _shares(log_odds: FloatArray) -> FloatArray:
    """Return the shares with these log-odds; the inverse of `_log_odds`."""
    shares = (1 + 2 * HALF_QUANTUM) / (1 + np.exp(-log_odds)) - HALF_QUANTUM
    return np.maximum(shares, SMALLEST_SHARE)
