"""Series whose noise changes: chance moves the levels of the noisy part, and is no change."""

from statistics import mean

import numpy as np
import pytest

from perfledger_baselines.history.detection.detect import detect_many
from perfledger_baselines.history.detection.unequal_spreads import without_chance_shifts
from perfledger_baselines.history.segmentation.changepoints import search_rows


def noisier(seed, *, count=150, spreads=(0.002, 0.02), step=0.0, at=0):
    """Return relative levels whose spread changes half-way, with a step at a place."""
    draws = np.random.default_rng(seed).standard_normal(count)
    levels = np.repeat(spreads, count // 2) * draws
    levels[at:] += step
    return levels


def searched(levels):
    (row,) = search_rows(levels[None], np.zeros((1, len(levels))), floors=np.array([0.003]))
    return row


@pytest.mark.parametrize("spreads", [(0.002, 0.02), (0.05, 0.01)])
def test_a_change_of_noise_is_rarely_taken_for_a_change_of_level(spreads):
    values = [100 * np.exp(noisier(seed, spreads=spreads)) for seed in range(60)]

    changed = [bool(findings.changes) for findings in detect_many(values)]

    assert mean(changed) <= 0.1
    rows = (searched(noisier(seed, spreads=spreads)) for seed in range(60))
    assert mean(bool(row.shifts) for row in rows) > 0.2  # with one spread for the whole row


@pytest.mark.parametrize("at", [30, 75])
def test_a_change_of_level_is_found_beside_a_change_of_noise(at):
    values = [100 * np.exp(noisier(seed, step=0.05, at=at)) for seed in range(40)]

    results = [
        any(abs(change.index - at) <= 5 for change in findings.changes)
        for findings in detect_many(values)
    ]

    assert mean(results) >= 0.95


def test_the_shifts_that_stay_have_the_errors_of_their_own_part():
    row = searched(noisier(4, step=0.06, at=110))
    (there,) = [shift for shift in row.shifts if abs(shift.place - 110) <= 3]

    tested = without_chance_shifts(row, [75])

    (shift,) = tested.shifts
    assert shift.place == there.place
    assert shift.after - shift.before == pytest.approx(0.06, abs=0.01)
    # Before: 75 quiet ones weigh most; after: 40 levels of spread 0.02.
    assert shift.half_width == pytest.approx(1.96 * 0.02 / np.sqrt(40), rel=0.3)


@pytest.mark.parametrize("step", [1.3, 2.0])
def test_a_change_of_level_is_found_where_values_were_equal_before_noise_came(step):
    noise = np.exp(0.05 * np.random.default_rng(1).standard_normal(60))
    values = 100 * np.repeat([1.0, step, step], [60, 20, 60])
    values[80:] *= noise

    (findings,) = detect_many([values.tolist()])

    assert 60 in [change.index for change in findings.changes]
    change = next(each for each in findings.changes if each.index == 60)
    assert change.change == pytest.approx(step - 1, rel=0.1)


def test_a_row_without_a_change_of_noise_is_as_it_was():
    row = searched(noisier(7, step=0.05, at=30))

    assert without_chance_shifts(row, []) is row
    assert without_chance_shifts(row, [0, 150]) is row
    flat = searched(np.zeros(60))
    assert without_chance_shifts(flat, [30]) is flat
