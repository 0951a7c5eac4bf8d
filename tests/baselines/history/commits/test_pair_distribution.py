"""Centres and scales of made-up differences, and what one wild pair does to them."""

import math
from random import Random

import pytest

from perfledger_baselines.history.commits.pair_distribution import (
    PAIR_DEGREES,
    center_error,
    likely_center,
    log_density,
    pooled_scale,
)


def test_the_density_falls_with_the_distance_and_slowly_at_the_tails():
    places = [log_density(each) for each in (0.0, 1.0, -2.0, 10.0, 20.0)]

    assert places == sorted(places, reverse=True)
    assert log_density(1.0) == log_density(-1.0)
    assert places[3] - places[4] < 5.0  # a normal's would be 150


def test_the_density_is_students_with_four_degrees():
    """At two scales (1 + 2^2 / 4)^(-5/2)."""
    assert log_density(2.0) == pytest.approx(-2.5 * math.log(2))


def test_the_centre_is_where_the_weighted_differences_balance():
    differences, scale = (0.0, 0.1, 0.2, 0.9), 0.1

    center = likely_center(differences, scale)

    off = [each - center for each in differences]
    assert sum(each / (4 + (each / scale) ** 2) for each in off) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(("groups", "variance"), [(1, 0.5625), (3, 1.8125), (4, 1.1875)])
def test_the_scale_is_the_fixed_point_of_its_iterations(groups, variance):
    """With n groups of two that lie a scale apart 4 s^2 + 1/4 = 5 n / 2 / max(1, n - 2)."""
    assert pooled_scale([[0.0, 1.0]] * groups) ** 2 == pytest.approx(variance)


def test_a_wild_pair_hardly_moves_the_centre():
    quiet = (0.09, 0.1, 0.11, 0.1, 0.095)

    assert likely_center(quiet, 0.01) == pytest.approx(0.099, abs=0.002)
    assert likely_center((*quiet, 5.0), 0.01) == pytest.approx(0.1, abs=0.003)


def test_the_scale_is_that_of_the_pairs_whatever_their_centres():
    noise = Random(1)
    groups = [[center + 0.02 * noise.gauss() for _ in range(40)] for center in (0.0, 1.0, -3.0)]

    scale = pooled_scale(groups)

    assert 0.014 < scale < 0.02  # of t with the tails of a normal: four fifths of its deviation
    assert pooled_scale([*groups, [0.0, 9.0]]) < 1.5 * scale


def test_few_pairs_have_a_larger_scale():
    assert pooled_scale([[0.0, 0.01]]) >= 0.005
    assert pooled_scale([[0.0, 0.01, 0.02]]) > pooled_scale([[0.0, 0.01, 0.02] * 10])


@pytest.mark.parametrize("groups", [[], [[1.0]], [[1.0, 1.0], [2.0, 2.0]]])
def test_equal_or_single_pairs_have_no_scale(groups):
    assert pooled_scale(groups) == 0.0


@pytest.mark.parametrize("count", [3, 10])
def test_an_interval_of_two_errors_holds_the_centre_as_often_as_it_says(count):
    noise = Random(1)

    def student():
        squares = sum(noise.gauss() ** 2 for _ in range(int(PAIR_DEGREES)))
        return noise.gauss() / (squares / PAIR_DEGREES) ** 0.5

    centers = [likely_center([student() for _ in range(count)], 1.0) for _ in range(2000)]

    share = sum(abs(each) <= 1.96 * center_error(count, 1.0) for each in centers) / len(centers)
    assert share == pytest.approx(0.95, abs=0.02)


def test_the_error_of_a_centre_is_that_of_fishers_information():
    """With 4 degrees a difference holds 5/7 of the information of a normal one of that scale."""
    assert center_error(14, 2.0) == pytest.approx(2.0 * math.sqrt(0.1))
    assert center_error(1, 1.0) == pytest.approx(math.sqrt(7 / 5))
