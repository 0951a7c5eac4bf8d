import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import PEAK_MEMORY, SM_ACTIVE, STEP_TIME
from perfledger_baselines.estimation.log_odds import NEAR_ONE, share_levels, typical_shares
from perfledger_baselines.judging.judge import judge_bundle, judge_unpaired
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest

busy = st.lists(st.floats(NEAR_ONE, 1.0), min_size=1, max_size=12)


def levels(base, head):
    sides = (np.array([side], dtype=np.float64) for side in (base, head))
    (before,), (after,) = share_levels(*sides)
    return before, after


@pytest.mark.parametrize(
    ("base", "head"),
    [
        pytest.param([0.5, 0.6], [0.4, 0.7], id="far from 1"),
        pytest.param([95.0, 97.0], [96.0, 98.0], id="per cents"),
        pytest.param([0.99, 1.01], [0.98, 0.97], id="above 1"),
    ],
)
def test_what_is_no_share_near_one_is_compared_by_its_log(base, head):
    before, after = levels(base, head)

    assert before == pytest.approx(np.log(base))
    assert after == pytest.approx(np.log(head))


@pytest.mark.parametrize("head", [0.999, 0.99, 0.95, 1.0])
def test_the_difference_of_the_means_is_a_log_of_a_ratio(head):
    before, after = levels([0.97] * 3, [head] * 3)

    assert after.mean() - before.mean() == pytest.approx(math.log(head / 0.97), abs=1e-12)


def test_shares_that_differ_by_less_than_a_hair_have_the_slope_of_the_log():
    before, after = levels([0.97, 0.97, 0.971], [0.97, 0.971, 0.97])

    assert after[1] - before[0] == pytest.approx(math.log(0.971 / 0.97), rel=0.05)


def test_what_is_not_known_stays_so_and_the_others_are_as_without_it():
    before, after = levels([0.97, math.nan], [0.96, 0.96])

    assert np.isnan(before).tolist() == [False, True]
    assert after[0] - before[0] == pytest.approx(math.log(0.96 / 0.97))


@given(busy, busy)
def test_a_larger_share_has_a_larger_level_and_all_are_finite(base, head):
    before, after = levels(base, head)

    shares, values = np.array([*base, *head]), np.concatenate([before, after])
    assert np.isfinite(values).all()
    assert (np.diff(values[np.argsort(shares)]) >= 0).all()


@given(busy, busy)
def test_swapping_the_sides_swaps_the_levels(base, head):
    before, after = levels(base, head)

    back_after, back_before = levels(head, base)
    assert back_before == pytest.approx(before, rel=1e-6)
    assert back_after == pytest.approx(after, rel=1e-6)


def test_readings_that_are_all_saturated_are_unchanged(build):
    (_, verdict) = judge_bundle(
        build.bundle({"m:f": {"step_time_p50": [(1, 1)] * 4, "sm_active": [(1.0, 1.0)] * 4}})
    )

    assert (verdict.metric, verdict.outcome) == (SM_ACTIVE, Outcome.UNCHANGED)


def test_a_fall_near_one_is_found_that_its_log_would_miss(build):
    """Base is saturated and head scatters below: most of head's runs are a per cent or two off."""
    head = (0.99, 0.98, 1.0, 0.99, 0.93, 0.99, 0.98, 0.99)
    samples = [(1.0, share) for share in head]

    _, utilization, memory = judge_bundle(
        build.bundle(
            {
                "m:f": {
                    "step_time_p50": [(1, 1)] * 8,
                    "sm_active": samples,
                    "peak_memory": samples,
                }
            },
            plan=build.plan(looks=()),
            metrics=(STEP_TIME, SM_ACTIVE, PEAK_MEMORY),
        )
    )

    estimate, by_log = utilization.estimate, memory.estimate
    assert estimate is not None
    assert by_log is not None
    assert estimate.p_value < by_log.p_value / 3
    assert utilization.is_regression
    assert memory.outcome is not Outcome.IMPROVED


def test_shares_of_runs_without_pairs_are_compared_likewise():
    rule = DecisionRule(looks=(), alpha=0.05, margin=0.01, floor=0.003)
    base, head = (1.0, 1.0, 0.99, 1.0, 1.0), (0.97, 0.98, 0.99, 0.97, 0.96)
    share, other = (
        UnpairedTest(workload="m:f", metric=metric, base=base, head=head)
        for metric in (SM_ACTIVE, STEP_TIME)
    )

    verdict, by_log = judge_unpaired([share, other], rule=rule)

    assert verdict.is_regression
    assert verdict.estimate is not None
    assert by_log.estimate is not None
    assert verdict.estimate.change == pytest.approx(by_log.estimate.change, rel=0.2)


@pytest.mark.parametrize("share", [1e-300, 1e-17])
def test_a_share_lost_in_rounding_still_has_a_level(share):
    """Its log-odds are those of no share at all, which has no logarithm."""
    base, head = levels([share], [1.0, 1.0, 1.0])

    assert math.isfinite(base[0])
    assert base[0] < head[0]


def test_shares_are_compared_by_their_log_odds_from_nine_tenths_on():
    (below,), _ = levels([0.899], [0.899])
    (near,), _ = levels([0.9], [0.9])

    assert below == pytest.approx(math.log(0.899))
    assert near > 0  # the log of a share is not


def test_a_saturated_reading_counts_as_half_a_per_cent_idle():
    """The empirical logit of a count out of 100 (Cox, Analysis of Binary Data, 1970)."""
    before, after = levels([1.0, 0.98], [1.0, 0.98])

    odds = [math.log((share + 0.005) / (1 - share + 0.005)) for share in (1.0, 0.98)]
    middle = (sum(odds) / 2,) * 2
    share = 1.01 / (1 + math.exp(-middle[0])) - 0.005
    slope = 1 / (share / (share + 0.005) + share / (1 - share + 0.005))
    assert before == pytest.approx([slope * each for each in odds])
    assert after == pytest.approx(before)


@given(busy, busy)
def test_the_typical_shares_have_the_ratio_that_is_compared(base, head):
    before, after = levels(base, head)

    shares = typical_shares(np.array(base), np.array(head))

    assert math.log(shares[1] / shares[0]) == pytest.approx(after.mean() - before.mean(), abs=1e-8)
    assert min(base) - 1e-9 <= shares[0] <= max(base) + 1e-9


def test_typical_shares_far_from_one_are_geometric_means():
    shares = typical_shares(np.array([0.4, 0.9]), np.array([0.5, 0.5]))

    assert shares == pytest.approx((0.6, 0.5))
