import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import stdtrit
from scipy.stats import t as student

from perfledger_baselines.history.commits.bisection import SURE, log_likelihood_ratio

changes = st.floats(-0.5, 0.5)
widths = st.floats(1e-3, 1.0)
pair_counts = st.integers(1, 40)


@given(changes, widths, changes, pair_counts)
def test_all_and_none_of_a_change_are_told_by_the_same_measure(
    ab, change, width, whole_change, pairs
):
    seen_log_likelihood_ratio = log_likelihood_ratio(
        ab.estimate_of_logs(change, width, pairs=pairs), math.expm1(whole_change)
    )

    mirrored = log_likelihood_ratio(
        ab.estimate_of_logs(whole_change - change, width, pairs=pairs), math.expm1(whole_change)
    )
    assert seen_log_likelihood_ratio == pytest.approx(-mirrored, abs=1e-6)


@given(changes, widths, changes, pair_counts)
def test_a_gain_is_told_like_a_loss(ab, change, width, whole_change, pairs):
    loss = log_likelihood_ratio(
        ab.estimate_of_logs(change, width, pairs=pairs), math.expm1(whole_change)
    )

    gain = log_likelihood_ratio(
        ab.estimate_of_logs(-change, width, pairs=pairs), math.expm1(-whole_change)
    )
    assert loss == pytest.approx(gain, abs=1e-6)


@given(st.floats(0.01, 0.5), widths, st.floats(0, 1), st.floats(0, 1))
def test_the_nearer_to_all_of_it_the_stronger_the_evidence(ab, whole_change, width, one, other):
    less, more = (share * whole_change for share in sorted((one, other)))

    weaker, stronger = (
        log_likelihood_ratio(ab.estimate_of_logs(change, width), math.expm1(whole_change))
        for change in (less, more)
    )

    assert stronger >= weaker - 1e-9


@pytest.mark.parametrize(("change", "evidence"), [(0.05, math.inf), (0.0, -math.inf)])
def test_pairs_that_agree_to_the_last_bit_leave_no_doubt(ab, change, evidence):
    assert log_likelihood_ratio(ab.estimate_of_logs(change, 0.0), math.expm1(0.05)) == evidence


def test_an_interval_without_end_says_nothing(ab):
    assert log_likelihood_ratio(ab.estimate_of_logs(0.05, math.inf), 0.05) == 0


def test_what_is_gone_altogether_is_all_of_a_change_to_nothing(ab):
    gone = ab.estimate_of_logs(-math.inf, 0.0)

    assert log_likelihood_ratio(gone, -1.0) == math.inf


@pytest.mark.parametrize("is_all", [False, True])
def test_a_half_is_mostly_told_at_once_and_the_wrong_one_in_less_than_one_of_a_hundred(ab, is_all):
    """4000 middles of a 3 % change, 8 pairs whose differences have a deviation of 1.4 %."""
    rng = np.random.default_rng(20261121)
    whole_change, pairs = math.log1p(0.03), 8
    differences = rng.normal(whole_change if is_all else 0.0, 0.014, size=(4000, pairs))
    half_widths = differences.std(axis=1, ddof=1) / math.sqrt(pairs) * stdtrit(pairs - 1, 0.975)

    evidence = np.array(
        [
            log_likelihood_ratio(ab.estimate_of_logs(mean, half_width), math.expm1(whole_change))
            for mean, half_width in zip(differences.mean(axis=1), half_widths, strict=True)
        ]
    )

    towards_truth = evidence if is_all else -evidence
    assert (towards_truth <= -SURE).mean() < 0.01
    assert (towards_truth >= SURE).mean() > 0.85


@pytest.mark.parametrize("pairs", [2, 3, 9])
def test_the_evidence_is_the_ratio_of_two_densities_of_students_t(ab, pairs):
    """The standard error is the half-width of a 95 % interval over the quantile of .975."""
    change, half_width, whole_change = 0.03, 0.04, 0.05
    error = half_width / student.ppf(0.975, pairs - 1)

    evidence = log_likelihood_ratio(
        ab.estimate_of_logs(change, half_width, pairs=pairs), math.expm1(whole_change)
    )

    full, none = (
        student.logpdf((change - truth) / error, pairs - 1) for truth in (whole_change, 0.0)
    )
    assert evidence == pytest.approx(full - none)
