import numpy as np
import pytest
from scipy.stats import norm

from perfledger_baselines.history.segmentation.noise import estimate_noise
from perfledger_baselines.history.segmentation.pruning import (
    ALPHA,
    FEWEST,
    confidences,
    needed_z,
    search_changes,
)


def changes_in(levels, *places, floor=0.003):
    """Return which steps at these places are changes."""
    noise = estimate_noise(levels[None], np.zeros((1, len(levels))))
    fitted = np.isin(np.arange(len(levels)), places).cumsum().astype(float)
    return search_changes(noise, fitted[None], floors=np.array([floor]))


@pytest.mark.parametrize(("count", "z"), [(100, 3.9), (100_000, 5.3)])
def test_every_place_is_paid_for(count, z):
    assert needed_z(count) == pytest.approx(z, abs=0.03)
    assert 2 * count * norm.sf(needed_z(count)) == pytest.approx(ALPHA)


def test_a_confidence_bounds_the_chance_anywhere_in_the_series():
    z = np.array([1.0, 4.0])

    assert confidences(z, count=100).tolist() == pytest.approx([0.0, 1 - 200 * norm.sf(4.0)])


def test_a_change_has_its_place_its_levels_and_its_interval(make):
    levels = make.noise(200, seed=1)
    levels[120:] += 0.03

    changes = changes_in(levels, 60, 118)

    assert changes.gaps.place.tolist() == [120]
    assert (changes.earliest[0] <= 120 <= changes.latest[0]).all()
    assert changes.after[0] - changes.before[0] == pytest.approx(0.03, abs=4 * changes.error[0])
    assert changes.z[0] > needed_z(200)


def test_a_change_below_the_floor_is_dropped_however_sure(make):
    levels = make.noise(200, seed=2, sd=0.0005)
    levels[100:] += 0.0025

    assert len(changes_in(levels, 100).z) == 0
    assert len(changes_in(levels, 100, floor=0.002).z) == 1


def test_no_stretch_is_shorter_than_the_fewest_observations(make):
    levels = make.noise(60, seed=3)
    levels[-FEWEST + 1 :] += 0.5

    assert len(changes_in(levels, 60 - FEWEST + 1).z) == 0


def test_a_short_end_asks_for_more(make):
    """A step that counts in the middle does not yet, four observations before the end."""
    middle = make.noise(200, seed=4)
    end = middle.copy()
    middle[100:104] += 0.018
    middle[104:] += 0.018
    end[196:] += 0.018

    assert len(changes_in(middle, 100, 104).z) == 1
    assert len(changes_in(end, 196).z) == 0


def test_rows_are_searched_as_if_alone(make):
    rows = np.array([make.noise(150, seed=seed) for seed in range(4)])
    rows[1, 70:] += 0.05
    rows[3, 30:] -= 0.05
    noise = estimate_noise(rows, np.zeros_like(rows))
    fitted = np.array([np.arange(150) >= place for place in (75, 70, 75, 30)], dtype=float)

    together = search_changes(noise, fitted, floors=np.full(4, 0.003))

    assert together.gaps.row.tolist() == [1, 3]
    for number, row in enumerate(together.gaps.row.tolist()):
        alone = changes_in(rows[row], together.gaps.place[number])
        assert alone.gaps.place.tolist() == [together.gaps.place[number]]
        assert alone.z.tolist() == pytest.approx([together.z[number]])
