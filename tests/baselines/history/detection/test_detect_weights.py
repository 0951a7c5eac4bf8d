"""Standard errors of a series' values in, what is known better counting for more out."""

import math

import numpy as np
import pytest

from perfledger_baselines.history.detection.detect import detect, detect_many
from perfledger_baselines.history.detection.observations import SeriesError


@pytest.fixture
def uneven(make):
    """Return values that are told by 16, 4 or 1 processes, with their errors."""

    def uneven(*, seed, step=0.0):
        sd = np.random.default_rng(seed).choice([0.003, 0.006, 0.012], 120)
        values = make.series(make.noise(120, seed=seed + 1000, sd=1.0) * sd, [(60, step)])
        return values, sd * values

    return uneven


def width(change):
    return change.high - change.low


def test_values_that_are_known_equally_well_are_as_without_errors(make):
    values = make.series(make.noise(120, seed=1), [(70, 0.03)])

    (plain_change,), (even,) = detect(values).changes, detect(values, errors=0.004 * values).changes

    assert (even.index, even.earliest, even.latest) == (
        plain_change.index,
        plain_change.earliest,
        plain_change.latest,
    )
    assert (even.low, even.change, even.high) == pytest.approx(
        (plain_change.low, plain_change.change, plain_change.high)
    )


def test_what_is_known_badly_counts_for_less(uneven):
    values, errors = uneven(seed=2, step=0.03)

    (plain_change,), (weighed,) = detect(values).changes, detect(values, errors=errors).changes

    assert width(weighed) < 0.95 * width(plain_change)
    assert weighed.low < 0.03 < weighed.high


@pytest.mark.slow(ci_only=True)
def test_weights_find_more_and_call_no_more_falsely(uneven):
    fields = {"plain": 0, "weighed": 0}
    false = {"plain": 0, "weighed": 0}
    for seed in range(60):
        for step, count in ((0.006, fields), (0.0, false)):
            values, errors = uneven(seed=seed, step=step)
            count["plain"] += bool(detect(values).changes)
            count["weighed"] += bool(detect(values, errors=errors).changes)

    assert fields["weighed"] >= fields["plain"] + 5
    assert false["weighed"] <= 2


def test_errors_larger_than_the_noise_are_not_believed_as_they_are(make):
    """They keep their proportions, and leave a quarter of the variance to what all share."""
    values = make.series(make.noise(120, seed=3), [(60, 0.03)])

    (change,) = detect(values, errors=(np.resize([0.5, 5.0], 120) * values).tolist()).changes

    assert abs(change.index - 60) <= 2
    assert change.low < 0.03 < change.high


def test_an_unknown_error_is_the_typical_one(uneven):
    values, errors = uneven(seed=4, step=0.03)
    told_values = np.where(
        np.arange(120) == 10, np.median(errors / values) * values, errors
    ).tolist()
    untold = np.where(np.arange(120) == 10, math.nan, errors).tolist()

    one, other = (detect(values, errors=each).changes for each in (told_values, untold))

    assert [each.index for each in one] == [each.index for each in other]
    assert width(one[0]) == pytest.approx(width(other[0]), rel=0.02)
    assert detect(values, errors=[math.nan] * 120) == detect(values)


def test_another_unit_changes_nothing(uneven):
    values, errors = uneven(seed=5, step=0.03)

    one, other = detect(values, errors=errors), detect(1e6 * values, errors=1e6 * errors)

    (here,), (there,) = one.changes, other.changes
    assert here.index == there.index
    assert here.change == pytest.approx(there.change)


def test_epochs_and_many_series_keep_each_value_with_its_error(uneven):
    values, errors = uneven(seed=6, step=0.03)
    twice = [np.concatenate([each, each]).tolist() for each in (values, errors)]

    (alone,) = detect(values, errors=errors).changes
    first, second = detect(twice[0], errors=twice[1], epochs=[120]).changes
    (many,) = detect_many([values], errors=[errors])

    assert (first.low, second.low) == (alone.low, alone.low)
    assert many.changes == (alone,)


@pytest.mark.parametrize(
    ("errors", "complaint"),
    [
        pytest.param([0.1] * 29, "29 standard errors for 30 values", id="too few"),
        pytest.param([0.1] * 31, "31 standard errors for 30 values", id="too many"),
        pytest.param([-0.1] * 30, "negative or infinite", id="negative"),
        pytest.param([math.inf] * 30, "negative or infinite", id="infinite"),
    ],
)
def test_errors_that_are_none_are_refused(errors, complaint):
    with pytest.raises(SeriesError, match=complaint):
        detect([1.0] * 30, errors=errors)


@pytest.mark.parametrize("count", [59, 61])
def test_errors_that_do_not_fit_are_refused_whatever_the_epochs(count):
    with pytest.raises(SeriesError, match="standard errors for 60 values"):
        detect([1.0] * 60, errors=[0.1] * count, epochs=[30])


@pytest.mark.parametrize(("value", "error"), [(1e-300, 1e300), (1e300, 1e-300), (5e-324, 1e300)])
def test_errors_beyond_all_measure_are_survived(value, error):
    assert detect([value] * 30, errors=[error, 0.0, math.nan] * 10).changes == ()
