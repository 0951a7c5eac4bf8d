"""Tells an end of a series that left its level for good from one that may come back as before."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.history.segmentation.two_sample_tests import REACH

# Fewest stretches of the end's length before it that it is compared with.
MIN_STRETCHES = 4


def is_repeated_end(levels: FloatArray, place: int, *, start: int) -> bool:
    """Return whether the levels from `place` on are no further off than some before them were.

    Levels from `start` to `place` are one stretch, with its excursions. The end is compared with as
    many consecutive levels of it, on the same side and by their medians.
    """
    length = len(levels) - place
    before = levels[max(start, place - REACH) : place]
    if len(before) < length + MIN_STRETCHES - 1:
        return False
    usual = np.median(before)
    off = float(np.median(levels[place:]) - usual)
    earlier = np.median(sliding_window_view(before, length), axis=1) - usual
    return bool((earlier * np.sign(off)).max() >= abs(off))
