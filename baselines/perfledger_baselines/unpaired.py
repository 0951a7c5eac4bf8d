"""Base runs and head runs that were not made in pairs in, what they say of a difference out.

A stored baseline, or two bundles of different days: whatever state the machine was in belongs to
one side alone. Runs of one session follow each other, and each says the less that is new: n of them
count as sqrt(n). What the history's spread has more than the session's own is taken to be that
shared state, and both sides have it. It is valid where pairs would be, and weak: measure in pairs.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from perfledger_baselines.evidence import SMALLEST_SPREAD, Evidence
from perfledger_baselines.looks import FEWEST_PAIRS
from perfledger_baselines.prior import SpreadPrior, moderate


def weigh_unpaired(
    base: Sequence[float] | NDArray[np.float64],
    head: Sequence[float] | NDArray[np.float64],
    *,
    alpha: float,
    prior: SpreadPrior | None = None,
) -> Evidence:
    """Test whether the logs of base's and of head's runs have one mean.

    With s^2 the pooled variance of n and m runs (n + m - 2 degrees of freedom) and v = s0^2 what
    the history says of one run, the variance of the difference is

        (1 / sqrt(n) + 1 / sqrt(m)) * (w v + (n + m - 2) s^2) / (w + n + m - 2)
        + 2 max(0, v - s^2)

    with w and the degrees of freedom of `prior.moderate`. Without a history s^2 stands alone, and
    each side needs four runs. Raises ValueError where a side has none.
    """
    before, after = np.asarray(base, dtype=np.float64), np.asarray(head, dtype=np.float64)
    if not (len(before) and len(after)):
        msg = f"{len(before)} base and {len(after)} head runs: a comparison needs one of each"
        raise ValueError(msg)
    own_degrees = len(before) + len(after) - 2
    squares = sum(float(((side - side.mean()) ** 2).sum()) for side in (before, after))
    own = squares / own_degrees if own_degrees else 0.0
    known, known_degrees = (prior.variance / 2, prior.degrees) if prior else (0.0, 0.0)
    is_enough = prior is not None or min(len(before), len(after)) >= FEWEST_PAIRS
    variances, degrees = moderate(
        np.array([known]),
        np.array([known_degrees]),
        squares=np.array([squares]),
        own_degrees=np.array([float(own_degrees)]),
    )
    moderated = max(float(variances[0]), SMALLEST_SPREAD**2 / 2)
    shared = max(0.0, known - own) if own_degrees else 0.0
    share = 1 / math.sqrt(len(before)) + 1 / math.sqrt(len(after))
    return _evidence(
        float(after.mean() - before.mean()),
        math.sqrt(moderated * share + 2 * shared),
        pairs=min(len(before), len(after)),
        degrees=float(degrees[0]) if is_enough else 0.0,
        alpha=alpha,
    )


def _evidence(mean: float, error: float, *, pairs: int, degrees: float, alpha: float) -> Evidence:
    wide = narrow = math.inf
    p_value = 1.0
    if degrees:
        wide, narrow = (-float(stdtrit(degrees, level)) * error for level in (alpha / 2, alpha))
        p_value = 2 * float(stdtr(degrees, -abs(mean) / error))
    return Evidence(
        pairs=pairs,
        mean=mean,
        sd=error * math.sqrt(pairs),
        degrees=degrees,
        share=1.0,
        half_width=wide,
        narrow_half_width=narrow,
        p_value=p_value,
    )
