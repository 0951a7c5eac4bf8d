import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import t as student, ttest_1samp

from perfledger_baselines.significance.alpha_spending import (
    equivalence_level,
    nominal_levels,
    overall_p_values,
)
from perfledger_baselines.significance.interim_looks import (
    MIN_PAIRS_WITH_HISTORY,
    looks_until,
    planned_looks,
)
from perfledger_baselines.significance.paired_t_tests import (
    MIN_SPREAD,
    MODERATED_SHARE,
    TTestResult,
    exact_result,
    t_tests,
)
from perfledger_baselines.significance.spread_prior import (
    MAX_DEGREES,
    MAX_WEIGHT,
    PriorSource,
    SpreadPrior,
)

FIVE = [0.01, 0.03, 0.02, -0.01, 0.04]
PRIOR = SpreadPrior(variance=0.01**2, degrees=MAX_DEGREES, source=PriorSource.PAIRS, values=30)


def weigh_one(differences, planned=(), alpha=0.05, prior=None):
    rows = np.array([differences], dtype=float)
    looks = looks_until(planned, rows.shape[1])
    (evidence,) = t_tests(rows, looks=looks, alpha=alpha, priors=[prior] if prior else ())
    return evidence


def over_looks(p_value, planned, pairs):
    """What a p-value of the last look is worth among all of them."""
    looks = looks_until(planned, pairs)
    rows = np.full((len(looks.completed), 1), p_value)
    return float(overall_p_values(rows, looks)[-1, 0])


def test_one_look_is_the_paired_t_test_with_its_interval():
    evidence = weigh_one(FIVE)

    peer = ttest_1samp(FIVE, 0)
    assert evidence.p_value == pytest.approx(peer.pvalue, rel=1e-3)
    interval = peer.confidence_interval(0.95)
    assert evidence.mean - evidence.half_width == pytest.approx(interval.low)
    assert evidence.mean + evidence.half_width == pytest.approx(interval.high)


@pytest.mark.parametrize("planned", [(), (4, 5, 9)])
def test_the_narrow_interval_has_two_one_sided_tests_at_its_ends(planned):
    evidence = weigh_one(FIVE, planned)

    one_sided = equivalence_level(looks_until(planned, 5), 0.05)
    interval = ttest_1samp(FIVE, 0).confidence_interval(1 - 2 * one_sided)
    assert evidence.mean - evidence.narrow_half_width == pytest.approx(interval.low)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("prior", [None, PRIOR])
def test_a_change_of_the_margin_is_seldom_proven_absent_at_any_look(prior):
    margin = 0.01
    planned = planned_looks(20, fewest=MIN_PAIRS_WITH_HISTORY if prior else 5)
    rows = np.random.default_rng(23).normal(margin, 0.01, (2000, 20))
    is_proven = np.zeros(len(rows), dtype=bool)

    for pairs in planned:
        results = t_tests(
            rows[:, :pairs],
            looks=looks_until(planned, pairs),
            alpha=0.05,
            priors=[prior] * len(rows) if prior else (),
        )
        is_proven |= [abs(each.mean) + each.narrow_half_width <= margin for each in results]

    assert 0.02 < is_proven.mean() < 0.05 + 3 * 0.005


def test_a_look_is_paid_for_in_p_value_and_interval():
    evidence = weigh_one(FIVE, (5, 20))

    level = nominal_levels(looks_until((5, 20), 5), 0.05)[-1]
    error = np.std(FIVE, ddof=1) / math.sqrt(5)
    assert level == pytest.approx(0.05 * 0.5)
    assert evidence.half_width == pytest.approx(student.isf(level / 2, 4) * error)
    assert evidence.p_value == pytest.approx(2 * ttest_1samp(FIVE, 0).pvalue, rel=1e-2)


def test_the_p_value_is_the_smallest_over_the_looks():
    clear_then_noisy = [0.010, 0.011, 0.009, 0.010, 0.05, -0.02]

    evidence = weigh_one(clear_then_noisy, (4, 6))

    first = over_looks(ttest_1samp(clear_then_noisy[:4], 0).pvalue, (4, 6), 4)
    assert first < over_looks(ttest_1samp(clear_then_noisy, 0).pvalue, (4, 6), 6)
    assert evidence.p_value == pytest.approx(first)


def test_a_look_that_saw_the_other_direction_does_not_count():
    turned = [0.010, 0.011, 0.009, 0.010, -0.3, -0.3, -0.3, -0.3]

    evidence = weigh_one(turned, (4, 8))

    assert evidence.mean < 0
    assert evidence.p_value == pytest.approx(
        over_looks(ttest_1samp(turned, 0).pvalue, (4, 8), 8), rel=1e-6
    )


def test_a_p_value_never_exceeds_one():
    assert weigh_one([0.01, -0.01, 0.02, -0.02], (4, 40)).p_value == 1.0


def test_three_pairs_say_nothing():
    evidence = weigh_one([0.1, 0.1, 0.1])

    assert evidence.pairs == 3
    assert evidence.p_value == 1.0
    assert evidence.half_width == math.inf
    assert not evidence.is_enough


def test_a_pair_without_the_metric_is_left_out():
    with_gap = weigh_one([0.01, math.nan, 0.03, 0.02, -0.01, 0.04])

    assert with_gap.pairs == 5
    assert with_gap.p_value == pytest.approx(weigh_one(FIVE).p_value)


def test_an_early_look_with_too_few_readings_is_no_evidence():
    gaps = [math.nan, 0.010, 0.011, 0.009, 0.010, 0.012]

    evidence = weigh_one(gaps, (4, 6))

    assert evidence.p_value == pytest.approx(
        over_looks(ttest_1samp(gaps[1:], 0).pvalue, (4, 6), 6), rel=1e-6
    )


def test_identical_pairs_have_no_spread_and_no_doubt():
    evidence = weigh_one([0.0] * 4, (4, 20))

    assert (evidence.p_value, evidence.sd, evidence.half_width) == (1.0, 0.0, 0.0)
    assert evidence.is_enough


def test_equal_differences_are_given_the_smallest_spread():
    evidence = weigh_one([0.003] * 4)

    assert evidence.sd == MIN_SPREAD
    assert evidence.p_value == pytest.approx(2 * student.sf(0.003 / (MIN_SPREAD / 2), 3), rel=1e-3)


def test_two_pairs_are_a_test_where_the_spread_is_known():
    evidence = weigh_one([0.03, 0.03], prior=PRIOR)

    sd = 0.01 * math.sqrt(MAX_WEIGHT / (MAX_WEIGHT + 1))
    degrees = MAX_DEGREES  # the pairs agree, and bring no variance of their own
    assert evidence.is_enough
    assert evidence.sd == pytest.approx(sd)
    assert evidence.degrees == pytest.approx(degrees)
    assert evidence.half_width == pytest.approx(student.isf(0.025, degrees) * sd / math.sqrt(2))


@pytest.mark.parametrize("difference", [0.03, 3.0])
def test_one_pair_is_no_test_however_well_the_spread_is_known(difference):
    evidence = weigh_one([difference], prior=PRIOR)

    assert not evidence.is_enough
    assert (evidence.p_value, evidence.half_width) == (1.0, math.inf)


def test_what_is_known_and_what_is_seen_are_pooled_by_their_weights():
    evidence = weigh_one([0.02, -0.02, 0.01], prior=PRIOR)

    known_variance, seen_variance = MAX_WEIGHT * 0.01**2, 2 * np.var([0.02, -0.02, 0.01], ddof=1)
    assert evidence.sd == pytest.approx(
        math.sqrt((known_variance + seen_variance) / (MAX_WEIGHT + 2))
    )
    degrees = (known_variance + seen_variance) ** 2 / (
        known_variance**2 / MAX_DEGREES + seen_variance**2 / 2
    )
    assert (evidence.degrees, evidence.share) == (pytest.approx(degrees), 1.0)


def test_pairs_far_noisier_than_their_history_are_hardly_surer_for_it():
    evidence = weigh_one([0.2, -0.2, 0.1], prior=PRIOR)

    assert evidence.degrees == pytest.approx(2, rel=0.05)


def test_quiet_pairs_overrule_a_history_that_is_far_too_wide():
    quiet = [0.0101, 0.0099, 0.0100, 0.0102, 0.0098, 0.0100]

    evidence = weigh_one(
        quiet,
        prior=SpreadPrior(variance=0.1**2, degrees=MAX_DEGREES, source=PriorSource.RUNS, values=30),
    )

    plain_p = ttest_1samp(quiet, 0).pvalue / (1 - MODERATED_SHARE)
    assert evidence.p_value == pytest.approx(plain_p, rel=1e-2)
    assert evidence.half_width < 0.001


def test_a_history_without_any_spread_still_allows_for_coarse_readings():
    evidence = weigh_one(
        [0.0002, 0.0002],
        prior=SpreadPrior(variance=0.0, degrees=MAX_DEGREES, source=PriorSource.PAIRS, values=30),
    )

    assert evidence.sd == pytest.approx(MIN_SPREAD * math.sqrt(MAX_WEIGHT / (MAX_WEIGHT + 1)))


def test_a_test_without_history_beside_one_with_it_is_as_if_alone():
    rows = np.array([FIVE, FIVE])

    known_t_test_result, unknown = t_tests(
        rows, looks=looks_until((), 5), alpha=0.05, priors=[PRIOR, None]
    )

    assert unknown == weigh_one(FIVE)
    assert known_t_test_result != unknown


def test_a_test_without_history_waits_for_the_fifth_pair_where_others_need_none():
    planned = planned_looks(20, fewest=MIN_PAIRS_WITH_HISTORY)

    assert not weigh_one(FIVE[:4], planned).is_enough
    assert weigh_one(FIVE, planned).is_enough


@pytest.mark.slow
@pytest.mark.parametrize("truth", [1.0, 0.3, 0.1])
def test_a_history_as_wide_as_the_pairs_or_wider_keeps_the_error(truth):
    """`truth`: the pairs' standard deviation over what the history says."""
    rng = np.random.default_rng(17)
    rows = rng.normal(0.0, truth * 0.01, (4000, 20))
    planned = planned_looks(20, fewest=MIN_PAIRS_WITH_HISTORY)

    evidence = t_tests(rows, looks=looks_until(planned, 20), alpha=0.05, priors=[PRIOR] * len(rows))

    assert np.mean([each.p_value < 0.05 for each in evidence]) < 0.05 + 3 * 0.0034


@pytest.mark.slow
@given(st.lists(st.lists(st.floats(-1, 1), min_size=9, max_size=9), min_size=2, max_size=5))
def test_tests_that_are_weighed_together_do_not_touch_each_other(rows):
    planned = (4, 6, 8, 11)

    t_test_results = t_tests(np.array(rows), looks=looks_until(planned, 9), alpha=0.05)

    for row, evidence in zip(rows, t_test_results, strict=True):
        alone = weigh_one(row, planned)
        assert evidence.mean == pytest.approx(alone.mean)
        assert evidence.p_value == pytest.approx(alone.p_value)


@pytest.mark.parametrize(
    ("differences", "degrees"), [([], 1), ([0.1], 1), ([0.1, 0.2], 1), ([0.1, 0.2, 0.3], 2)]
)
def test_few_pairs_without_a_history_have_their_own_degrees(differences, degrees):
    evidence = weigh_one([*differences, *[math.nan] * (4 - len(differences))])

    assert (evidence.pairs, evidence.degrees, evidence.p_value) == (len(differences), degrees, 1.0)


def test_one_pair_has_the_degrees_of_its_history():
    assert weigh_one([0.1], prior=PRIOR).degrees == pytest.approx(MAX_DEGREES)


def test_a_history_of_one_degree_is_a_history():
    prior = SpreadPrior(variance=1.0, degrees=1.0, source=PriorSource.PAIRS, values=5)

    with_history, alone = weigh_one(FIVE, prior=prior), weigh_one(FIVE)

    assert with_history.sd > 5 * alone.sd
    assert with_history.p_value > alone.p_value


@pytest.mark.parametrize("prior", [None, PRIOR, replace(PRIOR, variance=0.1**2)])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_an_interval_ends_where_the_p_value_is_its_level(prior, alpha):
    """Quiet pairs with a noisy history have an interval of their own."""
    around = np.array(FIVE) - np.mean(FIVE)
    half_width = weigh_one(around, alpha=alpha, prior=prior).half_width

    assert weigh_one(around + half_width, prior=prior).p_value == pytest.approx(alpha)


def test_an_exact_result_is_certain_from_enough_pairs_on():
    certain, too_few = (
        exact_result(100.0, 110.0, pairs=pairs, is_enough=is_enough)
        for pairs, is_enough in ((5, True), (3, False))
    )

    assert certain == TTestResult(
        pairs=5,
        mean=math.log(110) - math.log(100),
        sd=0.0,
        degrees=1.0,
        share=1.0,
        half_width=0.0,
        narrow_half_width=0.0,
        p_value=0.0,
        is_exact=True,
    )
    assert (too_few.half_width, too_few.p_value) == (math.inf, 1.0)
    assert exact_result(7.0, 7.0, pairs=5).p_value == 1.0
