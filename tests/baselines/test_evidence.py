import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import t as student, ttest_1samp

from perfledger_baselines.evidence import SMALLEST_SPREAD, weigh
from perfledger_baselines.looks import Look, looks_taken

ONE_LOOK = (Look(5, 1.0),)
FIVE = [0.01, 0.03, 0.02, -0.01, 0.04]


def weigh_one(differences, looks, alpha=0.05):
    (evidence,) = weigh(np.array([differences], dtype=float), looks=looks, alpha=alpha)
    return evidence


def test_one_look_is_the_paired_t_test_with_its_interval():
    evidence = weigh_one(FIVE, ONE_LOOK)

    peer = ttest_1samp(FIVE, 0)
    assert evidence.p_value == pytest.approx(peer.pvalue)
    interval = peer.confidence_interval(0.95)
    assert evidence.mean - evidence.half_width == pytest.approx(interval.low)
    assert evidence.mean + evidence.half_width == pytest.approx(interval.high)


def test_the_narrow_interval_has_two_one_sided_tests_at_its_ends():
    evidence = weigh_one(FIVE, ONE_LOOK)

    interval = ttest_1samp(FIVE, 0).confidence_interval(0.90)
    assert evidence.mean - evidence.narrow_half_width == pytest.approx(interval.low)


def test_a_look_is_paid_for_in_p_value_and_interval():
    evidence = weigh_one(FIVE, (Look(5, 0.2),))

    assert evidence.p_value == pytest.approx(5 * ttest_1samp(FIVE, 0).pvalue)
    error = np.std(FIVE, ddof=1) / math.sqrt(5)
    assert evidence.half_width == pytest.approx(student.isf(0.05 * 0.2 / 2, 4) * error)
    assert evidence.narrow_half_width == pytest.approx(student.isf(0.05 * 0.2, 4) * error)


def test_the_p_value_is_the_smallest_over_the_looks():
    clear_then_noisy = [0.010, 0.011, 0.009, 0.010, 0.05, -0.02]
    looks = looks_taken((4, 6), 6)

    evidence = weigh_one(clear_then_noisy, looks)

    first = ttest_1samp(clear_then_noisy[:4], 0).pvalue / looks[0].weight
    assert first < ttest_1samp(clear_then_noisy, 0).pvalue / looks[1].weight
    assert evidence.p_value == pytest.approx(first)


def test_a_look_that_saw_the_other_direction_does_not_count():
    turned = [0.010, 0.011, 0.009, 0.010, -0.3, -0.3, -0.3, -0.3]
    looks = looks_taken((4, 8), 8)

    evidence = weigh_one(turned, looks)

    assert evidence.mean < 0
    assert evidence.p_value == pytest.approx(ttest_1samp(turned, 0).pvalue / looks[1].weight)


def test_a_p_value_never_exceeds_one():
    assert weigh_one([0.01, -0.01, 0.02, -0.02], (Look(4, 0.1),)).p_value == 1.0


def test_three_pairs_say_nothing():
    evidence = weigh_one([0.1, 0.1, 0.1], (Look(3, 1.0),))

    assert evidence.pairs == 3
    assert evidence.p_value == 1.0
    assert evidence.half_width == math.inf


def test_a_pair_without_the_metric_is_left_out():
    with_gap = weigh_one([0.01, math.nan, 0.03, 0.02, -0.01, 0.04], (Look(6, 1.0),))

    assert with_gap.pairs == 5
    assert with_gap.p_value == pytest.approx(weigh_one(FIVE, ONE_LOOK).p_value)


def test_an_early_look_with_too_few_readings_is_no_evidence():
    gaps = [math.nan, 0.010, 0.011, 0.009, 0.010, 0.012]
    looks = looks_taken((4, 6), 6)

    evidence = weigh_one(gaps, looks)

    assert evidence.p_value == pytest.approx(ttest_1samp(gaps[1:], 0).pvalue / looks[1].weight)


def test_identical_pairs_have_no_spread_and_no_doubt():
    evidence = weigh_one([0.0] * 4, (Look(4, 0.2),))

    assert (evidence.p_value, evidence.sd, evidence.half_width) == (1.0, 0.0, 0.0)


def test_equal_differences_are_given_the_smallest_spread():
    evidence = weigh_one([0.003] * 4, (Look(4, 1.0),))

    assert evidence.sd == SMALLEST_SPREAD
    assert evidence.p_value == pytest.approx(
        2 * student.sf(0.003 / (SMALLEST_SPREAD / 2), 3), rel=1e-6
    )


@pytest.mark.slow
@given(st.lists(st.lists(st.floats(-1, 1), min_size=9, max_size=9), min_size=2, max_size=5))
def test_tests_that_are_weighed_together_do_not_touch_each_other(rows):
    looks = looks_taken((4, 6, 8, 11), 9)

    together = weigh(np.array(rows), looks=looks, alpha=0.05)

    for row, evidence in zip(rows, together, strict=True):
        alone = weigh_one(row, looks)
        assert evidence.mean == pytest.approx(alone.mean)
        assert evidence.p_value == pytest.approx(alone.p_value)
