"""How many pairs find a change of the margin: as the verdict's own smallest detectable change."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.judging.explanation import MAX_PAIRS
from perfledger_baselines.judging.judge import judge_bundle, judgement_of
from perfledger_baselines.planning.sample_size import pairs_for_margin
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior

LOOKS = (4, 6, 8, 11, 15, 20)
KEY = ("m:f", "step_time_p50")


@pytest.fixture
def bundle_of(build):
    """Return a bundle of one workload's step times, by their pairs and what its plan is to say."""

    def bundle(pairs, **plan):
        return build.bundle({"m:f": {"step_time_p50": pairs}}, plan=build.plan(**plan))

    return bundle


def needed(bundle, **options):
    return pairs_for_margin(judgement_of(bundle, **options))


@pytest.mark.slow
@given(spread=st.floats(0.1, 40.0), pairs=st.sampled_from(LOOKS))
def test_a_margin_that_these_pairs_would_find_needs_no_more_of_them(build, spread, pairs):
    pairs_made = build.changed(1.0, spread=spread, pairs=pairs)
    bundle = build.bundle({"m:f": {"step_time_p50": pairs_made}})
    judgement = judgement_of(bundle)
    (verdict,) = judgement.verdicts

    (pairs_needed,) = pairs_for_margin(judgement)

    assert verdict.estimate is not None
    is_found = verdict.estimate.smallest_detectable <= bundle.plan.margin
    assert is_found == (pairs_needed.pairs is not None and pairs_needed.pairs <= pairs)


def test_a_failed_workload_takes_its_share_of_what_the_others_need(build):
    pairs_made = build.changed(1.0, spread=8.0)
    values = {name: {"step_time_p50": pairs_made} for name in ("m:f", "m:failed")}
    bundle = build.bundle(values, failures=(build.failure("m:failed"),))
    estimate = judge_bundle(bundle)[0].estimate
    assert estimate is not None

    (enough,), (too_few,) = (
        needed(replace(bundle, plan=build.plan(margin=factor * estimate.smallest_detectable)))
        for factor in (1.001, 0.999)
    )

    assert enough.pairs == len(pairs_made)
    assert too_few.pairs > len(pairs_made)


def test_the_pairs_needed_are_a_look_of_the_plan_or_lie_beyond_it(build, bundle_of):
    quiet, noisy = (
        needed(bundle_of(build.changed(1.0, spread=spread)))[0] for spread in (1.0, 20.0)
    )

    assert (quiet.workload, quiet.metric, quiet.change) == (*KEY, 0.01)
    assert quiet.pairs in LOOKS
    assert noisy.pairs is not None
    assert LOOKS[-1] < noisy.pairs < MAX_PAIRS


def test_without_a_plan_of_looks_all_pairs_are_looked_at_once(build, bundle_of):
    once, often = (
        needed(bundle_of(build.changed(1.0, spread=8.0), looks=looks))[0].pairs
        for looks in ((), LOOKS)
    )

    assert 4 < once < often


def test_a_wider_margin_needs_fewer_pairs(build, bundle_of):
    pairs_made = build.changed(1.0, spread=20.0)
    wide, narrow = (
        needed(bundle_of(pairs_made, margin=margin))[0].pairs for margin in (0.05, 0.01)
    )

    assert wide < narrow < MAX_PAIRS


@pytest.mark.parametrize("margin", [0.0, 0.002, 0.003])
def test_a_margin_within_the_floor_is_found_by_none_and_needs_no_row(build, bundle_of, margin):
    assert needed(bundle_of(build.changed(1.0), margin=margin)) == ()


@pytest.mark.parametrize("margin", [0.004, 0.01, 0.03, 0.07, 0.1])
def test_a_series_whose_own_floor_is_the_margin_needs_no_row(build, bundle_of, margin):
    prior = SpreadPrior(variance=1.0, degrees=25, source=PriorSource.PAIRS, values=100)
    bundle = bundle_of(build.changed(1.0), margin=margin)

    assert needed(bundle, priors={KEY: prior}) == ()


def test_a_history_tells_a_spread_before_four_pairs_do(build):
    prior = SpreadPrior(variance=0.001**2, degrees=25, source=PriorSource.PAIRS, values=100)
    bundle = build.bundle(
        {"m:f": {"step_time_p50": build.changed(1.0, pairs=2)}}, plan=build.plan(looks=(2, 4, 20))
    )

    (pairs_needed,) = needed(bundle, priors={KEY: prior})

    assert pairs_needed.pairs == 2
    assert needed(bundle, priors={}) == ()


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([(1.0, 1.0)] * 6, id="identical"),
        pytest.param([(1.0, 1.01)] * 3, id="too few"),
        pytest.param([(0.0, 1.0)] * 6, id="no ratio"),
    ],
)
def test_what_has_no_spread_needs_no_pairs(bundle_of, pairs):
    assert needed(bundle_of(pairs)) == ()
