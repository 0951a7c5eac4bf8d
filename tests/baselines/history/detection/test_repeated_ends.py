import numpy as np
import pytest

from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.repeated_ends import MIN_STRETCHES, is_repeated_end


def flat_levels(end, *, excursion=(), count=20):
    """Return levels that are 0 but for an excursion in their middle, and an end."""
    middle = (count - len(excursion)) // 2
    levels = [0.0] * middle + [*excursion]
    return np.array([*levels, *[0.0] * (count - len(levels)), *end])


@pytest.mark.parametrize(
    ("end", "excursion", "is_repeated"),
    [
        ((1.0, 1.0, 1.0), (), False),
        ((1.0, 1.0, 1.0), (1.2, 1.2, 1.2), True),
        ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), True),
        ((1.0, 1.0, 1.0), (0.8, 0.8, 0.8), False),
        ((1.0, 1.0, 1.0), (-1.2, -1.2, -1.2), False),  # on the other side
        ((1.0, 1.0, 1.0), (1.2,), False),  # one observation moves no median of three
        ((-1.0, -1.0), (-1.2, -1.2), True),
        ((1.0, 1.0, 1.0, 1.0), (1.2, 1.2), False),  # nor do two of four in full
    ],
)
def test_an_end_is_repeated_if_as_many_before_it_were_as_far_off(end, excursion, is_repeated):
    levels = flat_levels(end, excursion=excursion)

    assert is_repeated_end(levels, 20, start=0) is is_repeated
    assert is_repeated_end(-levels, 20, start=0) is is_repeated
    assert is_repeated_end(levels + 7, 20, start=0) is is_repeated


def test_only_what_follows_the_change_before_it_is_compared():
    levels = flat_levels((1.0, 1.0, 1.0), excursion=(1.2, 1.2, 1.2))

    assert is_repeated_end(levels, 20, start=9)
    assert not is_repeated_end(levels, 20, start=10)


def test_an_end_without_enough_before_it_is_not_repeated():
    levels = np.array([2.0] * (MIN_STRETCHES + 1) + [1.0, 1.0])

    assert not is_repeated_end(np.zeros(MIN_STRETCHES + 2), MIN_STRETCHES, start=0)
    assert is_repeated_end(np.zeros(MIN_STRETCHES + 3), MIN_STRETCHES + 1, start=0)
    assert not is_repeated_end(levels, MIN_STRETCHES + 1, start=0)


def series_with_an_excursion(*, after):
    """Return 60 commits of 1 % of noise, of which four are 10 % slower, and slower ones after."""
    values = 100 * np.exp(np.random.default_rng(4).normal(0, 0.01, 60 + after))
    values[30:34] *= 1.1
    values[60:] *= 1.08
    return values.tolist()


@pytest.mark.parametrize(("after", "places"), [(4, []), (7, []), (8, [60]), (20, [60])])
def test_a_change_like_an_earlier_excursion_is_reported_once_it_has_lasted_longer(after, places):
    findings = detect(series_with_an_excursion(after=after))

    assert [change.index for change in findings.changes] == places
    assert [(one.first, one.last) for one in findings.transients] == [(30, 33)]


def test_a_change_without_such_an_excursion_is_reported_at_once():
    values = series_with_an_excursion(after=4)
    values[30:34] = values[10:14]

    assert [change.index for change in detect(values).changes] == [60]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("steps", "places"),
    [
        ((1.05, 1.09), []),  # both no further off than the excursion
        ((1.02, 1.16), [63]),  # the second further off
        ((1.2, 1.3), [60, 63]),
    ],
)
def test_an_end_with_two_steps_is_compared_with_what_was_before_both(seed, steps, places):
    values = 100 * np.exp(np.random.default_rng(seed).normal(0, 0.002, 66))
    values[20:27] *= 1.1
    values[60:63] *= steps[0]
    values[63:] *= steps[1]

    findings = detect(values.tolist())

    assert [change.index for change in findings.changes] == places
    if len(places) == 1:
        assert findings.changes[0].change == pytest.approx(steps[1] - 1, abs=0.01)
