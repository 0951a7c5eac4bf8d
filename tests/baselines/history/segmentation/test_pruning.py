import numpy as np
import pytest
from scipy.stats import norm

from perfledger_baselines.history.segmentation.noise import estimate_noise
from perfledger_baselines.history.segmentation.pruning import (
    ALPHA,
    MIN_STRETCH,
    WEAKEST,
    ChangeCriteria,
    confidences,
    needed_z,
    prune,
    score,
    search_changes,
)
from perfledger_baselines.history.segmentation.two_sample_tests import (
    PrefixSums,
    step_gain_over_line,
    welch_split,
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
    levels[-MIN_STRETCH + 1 :] += 0.5

    assert len(changes_in(levels, 60 - MIN_STRETCH + 1).z) == 0


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

    row_changes = search_changes(noise, fitted, floors=np.full(4, 0.003))

    assert row_changes.gaps.row.tolist() == [1, 3]
    for number, row in enumerate(row_changes.gaps.row.tolist()):
        alone = changes_in(rows[row], row_changes.gaps.place[number])
        assert alone.gaps.place.tolist() == [row_changes.gaps.place[number]]
        assert alone.z.tolist() == pytest.approx([row_changes.z[number]])


RULES = ChangeCriteria(need=3.0, floor=0.0, jump=99.0)


def sums_of(levels, *, sd=0.01):
    """Return the sums of independent levels of weight one, for arrays and compiled code alike."""
    columns = (levels, levels * np.arange(len(levels)), np.ones(len(levels)), levels, levels**2)
    sums = [np.concatenate([[0.0], np.cumsum(column)]) for column in columns]
    return PrefixSums.of(sums, sd=sd, dependence=0.0)


def scored(levels, *bounds, rules=RULES):
    return score(sums_of(np.asarray(levels)), bounds, rules)


def test_three_observations_are_a_level_and_two_are_not():
    levels = np.repeat([0.0, 1.0], [20, 10])

    assert MIN_STRETCH == 3
    assert scored(levels, 0, 10, 20, 23, 30) > 0
    assert scored(levels, 0, 17, 20, 23, 30) > 0
    assert scored(levels, 0, 10, 20, 22, 30) == scored(levels, 0, 18, 20, 23, 30) == WEAKEST


@pytest.mark.parametrize("length", [3, 5, 6, 7])
@pytest.mark.parametrize("is_at_start", [True, False])
def test_only_a_stretch_of_less_than_six_observations_at_an_end_asks_for_more(length, is_at_start):
    """The same step beside 20 observations, at the end of the row and in the middle of it."""
    sure = RULES._replace(need=50.0)
    step = np.repeat([1.0, 0.0], [length, 20] if is_at_start else [20, length])
    inside = np.concatenate([np.zeros(10), step, np.zeros(10)])
    place, stop = (length if is_at_start else 20), length + 20

    near = scored(step, 0, 0, place, stop, stop, rules=sure)
    far = scored(inside, 0, 10, place + 10, stop + 10, stop + 20, rules=sure)

    assert far - near == pytest.approx(0.7 if length < 6 else 0.0)


def test_a_change_of_exactly_the_floor_is_one():
    levels = np.repeat([0.0, 0.25], 20)  # exact sums

    assert scored(levels, 0, 0, 20, 40, 40, rules=RULES._replace(floor=0.25)) > 0
    assert scored(levels, 0, 0, 20, 40, 40, rules=RULES._replace(floor=0.2500001)) < 0


def test_a_step_must_explain_more_than_a_line_does_by_four_squared_errors():
    """Of 20 observations on either side, a step of h gains 2.5 h^2 over the best line.

    A squared error counts .345 SD^2 there: four of them are reached at .743 SD.
    """
    step = np.repeat([0.0, 0.01], 20)

    assert scored(0.75 * step, 0, 0, 20, 40, 40) > 0 > scored(0.73 * step, 0, 0, 20, 40, 40)


def test_each_step_of_a_stair_must_explain_more_than_a_line_does_by_eight_squared_errors():
    stair = np.repeat([0.0, 0.01, 0.02, 0.03], 20)
    bounds = (0, 20, 40, 60, 80)
    gain, steps = step_gain_over_line(sums_of(stair), bounds)
    unit = 10 * 2 * 10 / (10 + 19) / 20 * 0.01**2

    few, enough = ((ratio * 8 * unit / gain) ** 0.5 * stair for ratio in (0.99, 1.01))

    assert steps == 3
    for levels, is_change in ((few, False), (enough, True)):
        *_, z = welch_split(sums_of(levels), 20, 40, 60)
        assert (scored(levels, *bounds, rules=RULES._replace(need=z - 0.1)) > 0) is is_change


def test_a_jump_that_no_slope_makes_needs_no_comparison_with_a_line():
    """The difference of the two neighbours counts, not what lies further from the change."""
    slope = 0.001 * np.arange(40)
    jump, spike = slope.copy(), slope.copy()
    jump[20:] += 0.004
    spike[18] -= 0.01
    rules = RULES._replace(jump=0.0045)

    assert scored(jump, 0, 0, 20, 40, 40, rules=rules) > 0
    assert scored(jump, 0, 0, 20, 40, 40) < 0
    assert scored(spike, 0, 0, 20, 40, 40, rules=rules) < 0


def pruned_anew(row, places, rules):
    """Prune with all scores computed again in each round."""
    last = len(row.levels) - 1
    while True:
        ends = [0, 0, *places, last, last]
        inner = [score(row, tuple(ends[at : at + 5]), rules) for at in range(len(places))]
        scores = [1.0, *inner, 1.0]
        stay = [
            place
            for at, place in enumerate(places, start=1)
            if not scores[at] < min(scores[at - 1], 0.0) or scores[at] > scores[at + 1]
        ]
        if stay == places:
            return places
        places = stay


@pytest.mark.parametrize("seed", range(20))
def test_scores_of_the_round_before_are_what_they_would_be_now(make, seed):
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(np.arange(4, 196), 24, replace=False))
    levels = make.noise(200, seed=seed) + 0.012 * rng.integers(-1, 2, 25).cumsum().repeat(
        np.diff([0, *places, 200])
    )
    row = sums_of(levels)

    changes = prune(row, places, RULES)

    assert changes == pruned_anew(row, places.tolist(), RULES)
    assert 0 < len(changes) < 24
