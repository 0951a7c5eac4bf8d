import numpy as np
import pytest

from perfledger_baselines.history.segmentation.changepoints import MIN_FOR_FIT, search_rows


def searched(*rows, errors=None, floor=0.003):
    levels = np.array(rows)
    errors = np.zeros_like(levels) if errors is None else np.array(errors)
    return search_rows(levels, errors, floors=np.full(len(levels), floor))


def test_a_row_has_its_shifts_in_order(make):
    levels = make.noise(200, seed=1)
    levels[60:] += 0.05
    levels[140:] -= 0.08

    (row,) = searched(levels)

    assert [shift.place for shift in row.shifts] == [60, 140]
    assert [shift.after - shift.before for shift in row.shifts] == pytest.approx(
        [0.05, -0.08], abs=0.01
    )
    assert all(shift.earliest <= shift.place <= shift.latest for shift in row.shifts)
    assert all(0.99 < shift.confidence <= 1 for shift in row.shifts)


def test_a_half_width_is_that_of_a_95_percent_interval(make):
    truth, inside = 0.03, 0
    for seed in range(100):
        levels = make.noise(100, seed=seed)
        levels[50:] += truth
        (row,) = searched(levels)
        shift = min(row.shifts, key=lambda each: abs(each.place - 50))
        inside += abs(shift.after - shift.before - truth) <= shift.half_width

    assert 89 <= inside <= 100


def test_a_step_on_a_slope_is_found_with_the_slope_taken_off(make):
    slope = 0.0005
    levels = make.noise(200, seed=2) + slope * np.arange(200)
    levels[100:] += 0.06

    (row,) = searched(levels)

    assert [shift.place for shift in row.shifts] == [100]
    assert row.slope == pytest.approx(slope, abs=4 * row.slope_error)
    assert row.slope_offset(199.0) - row.slope_offset(0.0) == pytest.approx(199 * row.slope)
    assert row.slope_offset(99.5) == 0.0
    drift = row.slope_offset(0.0) + row.slope * np.arange(200)
    assert np.median(row.cleaned - (levels - drift)) == pytest.approx(0.0, abs=0.0005)


def test_a_row_that_does_not_drift_has_no_slope(make):
    assert searched(make.noise(200, seed=3))[0].slope == 0.0


def test_each_row_has_its_own_shifts_and_noise(make):
    quiet, noisy = make.noise(150, seed=4, sd=0.002), make.noise(150, seed=5, sd=0.03)
    stepped = quiet + 0.02 * (np.arange(150) >= 70)

    rows = searched(quiet, stepped, noisy)

    assert [len(row.shifts) for row in rows] == [0, 1, 0]
    assert [row.sd for row in rows] == pytest.approx([0.002, 0.002, 0.03], rel=0.2)


def test_noise_is_refitted_from_forty_observations_on(make):
    """Refitted, readings near their level are spread out: the clipped levels stay as they are."""
    levels = make.noise(MIN_FOR_FIT, seed=6)

    (long,), (short,) = searched(levels), searched(levels[1:])

    assert not np.isclose(long.cleaned, levels).any()
    assert np.isclose(short.cleaned, levels[1:]).sum() > MIN_FOR_FIT / 2
