"""Puts shares of time on the scale on which they are compared: log-odds near 1, else logs.

A share near 1 can only fall: what varies is the idle time, which the log of the share hides and the
log-odds show. Below NEAR_ONE both scales find the same changes; at .97 and .995 log-odds find up to
.15 more of 2 % falls, and their false calls stay within alpha
(`benchmarks/baselines/share_scales.py`).
"""

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray

NEAR_ONE = 0.9
# Telemetry reports whole per cents, and reads 1 when at most half a per cent is idle. That half is
# the correction of the empirical logit of a count out of 100 (Cox, Analysis of Binary Data, 1970).
HALF_QUANTUM = 0.005
# Log-odds: where the sides are nearer than this, the ratio is computed from the slope.
SAME = 1e-9
# A smaller share is lost in rounding when it is computed from its log-odds.
MIN_SHARE = 1e-17


def share_levels(base: FloatArray, head: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both sides' positive shares as levels, (tests, runs) each; NaN where a share is NaN.

    Near 1 the levels are the log-odds log((p + h) / (1 - p + h)), scaled so that the difference of
    the sides' means is the log of the ratio of the shares that have these means: effects and
    margins stay relative. Otherwise, and for values above 1, which are not shares, they are logs.
    Each test needs a share on each side.
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
    """Return one share for each side, whose ratio matches the difference of the levels' means.

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
    return np.maximum(shares, MIN_SHARE)
