"""Changes of series whose machines changed: in an epoch, between two, and never mixed."""

from itertools import pairwise

import pytest

from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.epoch_changes import detect_across_epochs


def indices(findings):
    return [change.index for change in findings.changes]


def test_without_epochs_nothing_differs_from_a_search_of_the_whole(make):
    values = make.series(make.noise(120, seed=1), [(70, 0.05)])

    assert detect_across_epochs([values], epochs=[()]) == (detect(values),)


def test_a_step_between_epochs_and_a_step_in_one_are_found(make):
    values = make.series(make.noise(160, seed=2), [(60, 0.08), (110, 0.03)])

    (findings,) = detect_across_epochs([values], epochs=[(60,)])

    assert indices(findings) == [60, 110]


def test_a_change_compares_levels_of_its_own_epoch_only(make):
    """A step of the machine too small to be seen would be in the level before the change."""
    values = make.series(make.noise(140, seed=3), [(70, 0.004), (100, 0.05)])

    (whole_series_finding,) = detect_across_epochs([values], epochs=[()])
    (divided,) = detect_across_epochs([values], epochs=[(70,)])

    assert indices(whole_series_finding) == indices(divided) == [100]
    assert divided.changes == tuple(detect(values, epochs=(70,)).changes)
    assert divided.changes[0].before > whole_series_finding.changes[0].before


def test_noise_of_another_epoch_hides_no_change(make):
    noisy = make.noise(100, seed=4, sd=0.03)
    quiet = make.noise(60, seed=5, sd=0.002)
    values = [*make.series(noisy), *make.series(quiet, [(30, 0.008)])]

    (whole_series_finding,) = detect_across_epochs([values], epochs=[()])
    (divided,) = detect_across_epochs([values], epochs=[(100,)])

    assert 130 in indices(divided)
    assert 130 not in indices(whole_series_finding)


@pytest.mark.parametrize("offset", [-4, -2, -1, 1, 2, 4])
def test_a_step_a_few_observations_from_a_new_machine_is_found(make, offset):
    values = make.series(make.noise(120, seed=9), [(60 + offset, 0.1)])

    (findings,) = detect_across_epochs([values], epochs=[(60,)])

    assert indices(findings) == [60 + offset]


def test_a_step_in_an_epoch_too_short_for_a_search_is_found(make):
    values = make.series(make.noise(107, seed=6), [(103, 0.2)])

    (findings,) = detect_across_epochs([values], epochs=[(100,)])

    assert indices(findings) == [103]


def test_series_with_and_without_epochs_keep_their_order(make):
    still = make.series(make.noise(90, seed=7))
    moved_series = make.series(make.noise(90, seed=8), [(45, 0.06)])

    findings = detect_across_epochs(
        [still, moved_series, moved_series],
        errors=[(), (), ()],
        times=[(), (), ()],
        epochs=[(), (45,), ()],
    )

    assert [indices(one) for one in findings] == [[], [45], [45]]


@pytest.mark.parametrize("seed", range(6))
def test_no_step_is_named_twice(make, seed):
    values = make.series(make.noise(120, seed=seed), [(58, 0.03), (63, 0.03)])

    (findings,) = detect_across_epochs([values], epochs=[(60,)])

    ranges = [(change.earliest, change.index, change.latest) for change in findings.changes]
    assert all(one[1] < two[1] for one, two in pairwise(ranges))
