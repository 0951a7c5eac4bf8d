import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm, t as student

from perfledger.bundle import KnownSpread, Plan
from perfledger_baselines.significance.spread_prior import (
    MAX_DEGREES,
    MAX_VALUES,
    MAX_WEIGHT,
    RARE,
    PriorError,
    PriorSource,
    moderate,
    prior_from_checks,
    prior_from_pairs,
    prior_from_runs,
    priors_of_plan,
)

values = st.lists(st.floats(0.1, 10.0), min_size=5, max_size=40)


def draw(sd, count=2000, seed=3):
    return np.random.default_rng(seed).normal(0.0, sd, count)


def test_earlier_pairs_tell_the_variance_of_pairs():
    prior = prior_from_pairs(draw(0.02).tolist())

    assert prior.variance == pytest.approx(0.02**2, rel=0.1)
    assert (prior.degrees, prior.source) == (MAX_DEGREES, PriorSource.PAIRS)
    assert prior.values == 2000


def test_a_pair_of_runs_differs_with_twice_the_variance_of_one():
    prior = prior_from_runs(np.exp(draw(0.01)).tolist())

    assert prior.variance == pytest.approx(2 * 0.01**2, rel=0.1)
    assert prior.source is PriorSource.RUNS


def test_a_level_that_moved_is_no_spread():
    logs = np.concatenate([draw(0.01, 15), 0.5 + draw(0.01, 15, seed=4)])

    prior = prior_from_runs(np.exp(logs).tolist(), changes=[15])

    assert math.sqrt(prior.variance / 2) == pytest.approx(0.01, rel=0.4)


def test_single_spikes_are_no_spread():
    spiky = draw(0.01)
    spiky[::100] += 0.5

    assert math.sqrt(prior_from_pairs(spiky.tolist()).variance) < 0.013


@pytest.mark.parametrize("share", [0.15, 0.35, 0.5, 0.85])
def test_two_states_are_a_spread(share):
    states = np.where(np.random.default_rng(1).random(400) < share, 0.02, 0.0)

    prior = prior_from_pairs(states.tolist())

    assert prior.variance == pytest.approx(states.var(), rel=0.01)


@pytest.mark.parametrize(("count", "changes", "degrees"), [(5, (), 4), (8, (4,), 6), (90, (), 25)])
def test_a_short_history_is_known_less_well(count, changes, degrees):
    evenly = norm.ppf((np.arange(count) + 0.5) / count)

    prior = prior_from_runs(np.exp(0.01 * evenly).tolist(), changes=changes)

    assert prior.degrees == pytest.approx(degrees)


def test_a_history_with_heavy_tails_is_known_less_well():
    heavy = student.ppf((np.arange(30) + 0.5) / 30, 3)

    assert prior_from_pairs((0.01 * heavy).tolist()).degrees < 20
    assert prior_from_pairs((0.01 * np.tile([1.0, -1.0], 20)).tolist()).degrees == MAX_DEGREES


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([1.0] * 4, id="too few"),
        pytest.param([], id="none"),
        pytest.param([1.0] * 5 + [0.0], id="a zero"),
        pytest.param([1.0] * 5 + [-1.0], id="a negative one"),
        pytest.param([1.0] * 5 + [math.nan], id="no number"),
    ],
)
def test_what_has_no_spread_is_an_error(history):
    with pytest.raises(PriorError, match="a spread needs 5"):
        prior_from_runs(history)


@given(values, st.floats(0.01, 100.0))
def test_another_unit_changes_no_spread(history, factor):
    one = prior_from_runs(history)
    other = prior_from_runs([factor * value for value in history])

    assert other.variance == pytest.approx(one.variance, rel=1e-6, abs=1e-18)


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_a_history_without_changes_is_irrelevant(history, random):
    shuffled = random.sample(history, len(history))

    assert prior_from_runs(shuffled).variance == pytest.approx(prior_from_runs(history).variance)


@pytest.mark.parametrize("pairs", [2, 3, 5, 20])
def test_checks_of_any_size_tell_the_same_variance(pairs):
    checks = np.random.default_rng(5).normal(0.0, 0.02, (400 // pairs, pairs))

    prior = prior_from_checks(checks.tolist())

    assert math.sqrt(prior.variance) == pytest.approx(0.02, rel=0.25)
    assert prior.source is PriorSource.PAIRS


def test_what_a_check_found_is_no_spread():
    quiet = [0.001, -0.001, 0.0005, -0.0005]

    moved_spread_prior = prior_from_checks([quiet, [0.2 + each for each in quiet]])

    assert moved_spread_prior.variance == pytest.approx(prior_from_checks([quiet, quiet]).variance)


def test_a_level_costs_a_degree_of_freedom_each():
    assert prior_from_checks([[0.01, 0.02, 0.03]] * 2).degrees == 4
    assert prior_from_checks([[0.01, 0.02]] * 3).degrees == 3
    assert prior_from_checks([[0.01, 0.02]] * 30).degrees == MAX_DEGREES


def test_a_single_pair_tells_nothing_of_the_spread():
    checks = [[0.01, 0.02, 0.03, 0.02, 0.01], [0.5], [0.02]]

    assert prior_from_checks(checks) == prior_from_checks(checks[:1])
    with pytest.raises(PriorError, match="a spread needs 5"):
        prior_from_checks([[0.01]] * 50)


def test_only_the_newest_values_count():
    new, old = [[0.001, -0.001] * 5] * (MAX_VALUES // 10), [[0.1, -0.1] * 5] * 50

    prior = prior_from_checks([*new, *old])

    assert prior == prior_from_checks(new)
    assert prior.values == MAX_VALUES


def test_the_few_pairs_that_differ_where_most_agree_are_the_spread():
    prior = prior_from_checks([[0.0] * 9 + [0.01], [0.0] * 10] * 5)

    assert math.sqrt(prior.variance) >= 0.002


def test_no_single_pair_is_called_changed_for_what_happens_to_some_in_a_hundred():
    checks = [[0.0001 * (-1) ** k for k in range(9)] + [0.02]] * 10

    prior = prior_from_checks(checks)

    statistic = 0.02 / math.sqrt(prior.variance)
    assert 2 * student.sf(statistic, prior.degrees) > RARE / 2


def test_many_equal_pairs_have_no_spread():
    assert prior_from_checks([[0.01] * 5] * 10).variance == pytest.approx(0.0, abs=1e-30)


def test_some_equal_pairs_may_be_equal_by_chance():
    with pytest.raises(PriorError, match="agree to the last bit"):
        prior_from_checks([[0.01] * 5] * 9)
    with pytest.raises(PriorError, match="agree to the last bit"):
        prior_from_checks([[0.0] * 4, [0.0] * 4, [0.0, 0.02]])


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_difference_that_is_no_number_is_an_error(wrong):
    with pytest.raises(PriorError, match="positive numbers"):
        prior_from_checks([[0.01] * 5 + [wrong]])


checks_of_pairs = st.lists(
    st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=9, unique=True), min_size=3
)


@given(checks_of_pairs)
def test_base_and_head_swapped_differ_as_much(checks):
    swapped = [[-each for each in check] for check in checks]

    there, back = prior_from_checks(checks), prior_from_checks(swapped)

    assert back.variance == pytest.approx(there.variance, rel=1e-9, abs=1e-30)
    assert back.degrees == pytest.approx(there.degrees)


def test_what_a_plan_knows_is_what_judging_leans_on():
    known_spread = KnownSpread(
        workload="m:f",
        metric="step_time_p50",
        machine_class="cpu:made up:1",
        variance=1e-4,
        degrees=7.0,
        pairs=40,
    )

    priors = priors_of_plan(Plan(seed=1, order=(), looks=(), spreads=(known_spread,)))

    prior = priors["m:f", "step_time_p50"]
    assert (prior.variance, prior.degrees, prior.values) == (1e-4, 7.0, 40)
    assert prior.source is PriorSource.PAIRS


EVEN = [-0.02, -0.01, 0.0, 0.01, 0.02]


def test_the_variance_of_a_few_values_is_that_of_a_sample():
    """The squares of five even values are 10 steps: over four, 2.5."""
    assert prior_from_pairs(EVEN).variance == pytest.approx(2.5e-4)
    assert prior_from_runs(np.exp(EVEN).tolist()).variance == pytest.approx(2 * 2.5e-4)
    # Less the mean of their check they have four fifths of their variance.
    assert prior_from_checks([EVEN]).variance == pytest.approx(2.5e-4 * 5 / 4)


@pytest.mark.parametrize("own_degrees", [1, 2, 8])
@pytest.mark.parametrize("degrees", [0, 5, 30])
def test_the_variance_of_history_and_pairs_weighs_by_their_degrees(degrees, own_degrees):
    """And has the degrees of Satterthwaite's sum of two variances."""
    squares, weight = 3e-4, min(degrees, 12)
    parts = [weight * 1e-4, squares]

    variance, pooled_degrees = moderate(
        np.array([1e-4]),
        np.array([float(degrees)]),
        squares=np.array([squares]),
        own_degrees=np.array([float(own_degrees)]),
    )

    assert variance == pytest.approx([sum(parts) / (weight + own_degrees)])
    expected = sum(parts) ** 2 / (
        (parts[0] ** 2 / degrees if degrees else 0.0) + parts[1] ** 2 / own_degrees
    )
    assert pooled_degrees == pytest.approx([expected])
    assert MAX_WEIGHT == 12
