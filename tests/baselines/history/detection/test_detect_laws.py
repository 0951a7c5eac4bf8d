from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_baselines.history.detection.detect import detect, detect_many
from perfledger_baselines.history.detection.observations import SeriesError

pytestmark = pytest.mark.slow

anything = st.floats(allow_nan=True, allow_infinity=True)
ordinary = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, float("nan")])
extreme = st.sampled_from([1e-300, 1e300, 1.0, 0.0, -1.0, float("nan")])
steps = st.lists(
    st.tuples(st.integers(2, 17), st.sampled_from([-0.1, -0.05, 0.06, 0.12])), max_size=3
)
seeds = st.integers(0, 10_000)


def series_of(make, seed, sample, dependence=0.0):
    """Return 200 commits of 1 % noise with these steps, ten commits apart at least."""
    places = dict(sample)
    return make.series(
        make.noise(200, seed=seed, dependence=dependence),
        sorted((10 * place, change) for place, change in places.items()),
    )


@settings(deadline=None)
@given(st.lists(anything | ordinary | extreme, max_size=60))
def test_whatever_is_given_the_answer_is_a_history_or_an_error_of_ours(values):
    try:
        history = detect(values)
    except SeriesError:
        return

    places = [change.index for change in history.changes]
    assert places == sorted(set(places))
    assert all(c.earliest <= c.index <= c.latest for c in history.changes)
    assert all(c.earliest > 0 and c.latest < len(values) for c in history.changes)
    assert all(0 <= c.confidence <= 1 for c in history.changes)


@settings(deadline=None)
@given(seeds, steps)
def test_equal_series_have_equal_histories(make, seed, sample):
    values = series_of(make, seed, sample)

    assert detect(values) == detect(values.tolist()) == detect_many([values, values])[1]


@settings(deadline=None)
@given(seeds, steps, st.sampled_from([1e-9, 0.5, 3.0, 1e12]))
def test_the_unit_changes_nothing(make, seed, sample, factor):
    values = series_of(make, seed, sample)

    here, there = detect(values), detect(values * factor)

    assert [c.index for c in there.changes] == [c.index for c in here.changes]
    assert [c.change for c in there.changes] == pytest.approx([c.change for c in here.changes])
    assert [c.after for c in there.changes] == pytest.approx(
        [c.after * factor for c in here.changes]
    )


@settings(deadline=None)
@given(seeds, steps)
def test_the_inverse_series_moves_the_other_way_at_the_same_places(make, seed, sample):
    values = series_of(make, seed, sample)

    there, back = detect(values).changes, detect((1 / values).tolist()).changes

    assert [c.index for c in back] == [c.index for c in there]
    assert [1 + c.change for c in back] == pytest.approx([1 / (1 + c.change) for c in there])


@settings(deadline=None)
@given(seeds, steps, st.sampled_from([0.0, 0.4]))
def test_the_reversed_series_mirrors_the_places_within_their_intervals(
    make, seed, sample, dependence
):
    values = series_of(make, seed, sample, dependence)

    there = detect(values).changes
    back = detect(values[::-1].tolist()).changes[::-1]

    mirrored = [(len(values) - c.latest, len(values) - c.earliest) for c in back]
    sure = [c for c in there if abs(c.change) > 0.04]
    assert all(
        any(c.earliest <= latest and earliest <= c.latest for earliest, latest in mirrored)
        for c in sure
    )


@settings(deadline=None)
@given(seeds, steps, st.integers(1, 40))
def test_gaps_shift_the_places_and_change_nothing_else(make, seed, sample, gap):
    values = series_of(make, seed, sample)
    spread_out = np.full(len(values) + gap, np.nan)
    spread_out[:60], spread_out[60 + gap :] = values[:60], values[60:]

    here, there = detect(values).changes, detect(spread_out.tolist()).changes

    assert [c.index for c in there] == [c.index + gap * (c.index >= 60) for c in here]
    kept_texts = ("before", "after", "change", "low", "high", "confidence")
    assert [{name: asdict(c)[name] for name in kept_texts} for c in there] == [
        {name: asdict(c)[name] for name in kept_texts} for c in here
    ]
