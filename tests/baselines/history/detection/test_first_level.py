"""Series that leave their first level for good after a few commits."""

import numpy as np
import pytest

from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.first_level import first_level_shift
from perfledger_baselines.history.segmentation.changepoints import search_rows

# 1.87 to 0.25 s at the seventh commit for good, and two small steps later: a public history of
# KomaMRI.jl ("MRI Lab/Bloch/CPU/2 thread(s)"), in milliseconds.
PUBLIC = [
    *(1533, 1905, 1518, 1597, 1650, 1866),
    *(245, 235, 228, 227, 225, 243, 227, 225, 224, 224, 232, 230, 223),
    *(359, 355, 356, 355, 360, 360, 357, 325, 328, 325, 328, 329, 319, 325, 339, 340, 341, 338),
    *(342, 335, 338, 335, 337, 337, 345, 341, 338, 356, 361, 356, 358, 366, 359),
]


def beginning(*first, seed=3, then=40):
    """Return levels that begin at some, and are zero with a spread of 1 % afterwards."""
    return np.concatenate([first, np.random.default_rng(seed).normal(0, 0.01, then)])


def shift(levels, *, floor=0.003):
    row = search_rows(levels[None], np.zeros((1, len(levels))), floors=np.array([floor]))[0]
    return row, first_level_shift(row, floor=floor)


def test_a_public_history_left_its_first_level_for_good():
    findings = detect(PUBLIC)

    assert [change.index for change in findings.changes][:2] == [6, 19]
    assert findings.changes[0].change == pytest.approx(-0.86, abs=0.01)
    assert findings.transients == ()


def test_a_noisy_first_level_is_left_where_the_row_says_so():
    row, first_shift = shift(beginning(0.55, 0.7, 0.62, 0.75, 0.58, 0.69))

    assert row.shifts == ()
    assert first_shift is not None
    assert (first_shift.place, first_shift.earliest, first_shift.latest) == (6, 6, 6)
    assert first_shift.before == pytest.approx(0.648, abs=0.001)
    assert first_shift.after == pytest.approx(0.0, abs=0.01)
    # Welch's interval: t(5 degrees) of .975 is 2.57 standard errors.
    assert first_shift.half_width == pytest.approx(2.57 * 0.0319, rel=0.1)
    assert first_shift.confidence > 0.99


@pytest.mark.parametrize(
    "first",
    [
        (0.5, 0.9),  # too short for a spread of its own
        (0.2, 0.9, 0.4, 1.4),  # it spreads as much as it is away
        (0.0, 0.6, 0.7, 0.65),  # it does not begin the row
    ],
)
def test_other_beginnings_are_no_level(first):
    assert shift(beginning(*first))[1] is None


def test_a_beginning_is_never_told_to_have_come_back():
    values = [100 * np.exp(each) for each in beginning(0.2, 0.9, 0.4, 1.4)]

    assert detect(values).transients == ()
