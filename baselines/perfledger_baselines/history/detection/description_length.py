"""Computes the description length of a row, to choose between one state and two."""

import math
from itertools import pairwise

import numpy as np

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray
from perfledger_baselines.history.segmentation.changepoints import SearchedRow
from perfledger_baselines.history.segmentation.noise import MIN_SPREAD
from perfledger_baselines.history.segmentation.pruning import needed_z

# The likelihood is within a few percent of its maximum after this many steps of EM.
SCALE_ROUNDS = 12


def description_length(row: SearchedRow) -> float:
    """Return the nats needed to encode a row: its shifts, and its residuals in Cauchy noise.

    Cauchy noise treats heavy tails as ordinary, and each residual is encoded relative to the
    previous one if that is shorter. Neither tails nor a wandering level are therefore evidence of
    two states.
    """
    bounds = [0, *(move.place for move in row.shifts), len(row.levels)]
    flat = row.levels - row.slope * np.arange(len(row.levels))
    stretches = [flat[first:stop] for first, stop in pairwise(bounds)]
    off = np.concatenate([stretch - np.median(stretch) for stretch in stretches])
    residuals = np.stack([off, off])
    residuals[1, 1:] -= row.dependence * off[:-1]
    scales = cauchy_scales(residuals)
    nats = np.log1p((residuals / scales[:, None]) ** 2).sum(axis=1) + len(off) * np.log(scales)
    return float(nats.min()) + len(row.shifts) * needed_z(len(off)) ** 2 / 2


def state_cost(is_upper: BoolArray) -> float:
    """Return the nats needed to encode each observation's state, as a Markov chain of two."""
    cost = math.log(2)
    for state in (False, True):
        follows = is_upper[1:][is_upper[:-1] == state]
        for count in (int(follows.sum()), int((~follows).sum())):
            cost -= count * math.log((count + 0.5) / (len(follows) + 1))
    return cost


def cauchy_scales(off: FloatArray) -> FloatArray:
    """Return the maximum-likelihood scales, (R,), of rows of Cauchy noise about 0."""
    scales: FloatArray = np.maximum(np.median(np.abs(off), axis=1), MIN_SPREAD)
    squares = off**2
    for _ in range(SCALE_ROUNDS):
        weights = 2 / (1 + squares / scales[:, None] ** 2)
        scales = np.maximum(np.sqrt((weights * squares).mean(axis=1)), MIN_SPREAD)
    return scales
