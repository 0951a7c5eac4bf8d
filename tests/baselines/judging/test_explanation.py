"""What a verdict rests on, and what would make another one of it."""

from dataclasses import replace

import pytest

from perfledger_baselines.judging.explanation import (
    FEW_PAIRS,
    MAX_ADVISED_S,
    DecidedBy,
    explain_verdict,
    is_practical,
)
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior


@pytest.fixture
def explained(build):
    """Judge workloads of step times together, and explain the first."""

    def explain(*workloads, name="step_time_p50", **plan):
        bundle = build.bundle(
            {f"m:w{k}": {name: pairs} for k, pairs in enumerate(workloads)},
            plan=build.plan(**plan) if plan else None,
        )
        verdict = next(v for v in judge_bundle(bundle) if v.metric.name == name)
        return explain_verdict(verdict, bundle.plan)

    return explain


@pytest.mark.parametrize(
    ("make_pairs", "decided_by"),
    [
        pytest.param(lambda build: build.changed(1.05), DecidedBy.CHANGE, id="slower"),
        pytest.param(lambda build: build.changed(0.95), DecidedBy.CHANGE, id="faster"),
        pytest.param(lambda build: build.changed(1.0), DecidedBy.EQUIVALENCE, id="the same"),
        pytest.param(lambda _: [(1.0, 1.0)] * 6, DecidedBy.IDENTITY, id="identical"),
        pytest.param(
            lambda build: build.changed(1.05, pairs=3), DecidedBy.TOO_FEW_PAIRS, id="three pairs"
        ),
        pytest.param(lambda build: build.changed(1.0, spread=30.0), DecidedBy.NOISE, id="noise"),
        pytest.param(lambda _: [(0.0, 1.0)] * 6, DecidedBy.NOTHING, id="no baseline"),
    ],
)
def test_every_verdict_names_its_rule(build, explained, make_pairs, decided_by):
    assert explained(make_pairs(build)).decided_by is decided_by


def test_a_change_that_is_lost_among_many_tests_is_the_familys(build, explained):
    many = [build.changed(1.0, spread=9.0)] * 30

    assert explained(build.changed(1.012, spread=8.0), *many).decided_by is DecidedBy.FAMILY


def test_a_sure_change_below_the_floor_and_outside_the_margin_is_the_floors(build, explained):
    verdict_explanation = explained(build.changed(1.02), floor=0.0201, margin=0.001)

    assert verdict_explanation.decided_by is DecidedBy.FLOOR


@pytest.mark.parametrize(
    ("ratio", "margin", "outcome", "reason"),
    [
        (
            1.005,
            0.01,
            Outcome.UNCHANGED,
            "proven within ±1 % after 12 pairs; a clear change, but smaller than the floor of",
        ),
        (
            1.0055,
            0.0065,
            Outcome.UNDECIDED,
            "a clear change, but smaller than the floor of 0.602 %, and not proven",
        ),
    ],
)
def test_a_series_whose_runs_differ_much_is_not_called_for_little(
    build, *, ratio, margin, outcome, reason
):
    noisy = SpreadPrior(variance=2 * 0.012**2, degrees=25, source=PriorSource.PAIRS, values=100)
    pairs = build.changed(ratio, spread=4.0, pairs=12)
    bundle = build.bundle({"m:f": {"step_time_p50": pairs}}, plan=build.plan(margin=margin))

    [alone] = judge_bundle(bundle)
    [known_verdict] = judge_bundle(bundle, priors={("m:f", "step_time_p50"): noisy})

    assert alone.outcome is Outcome.REGRESSED
    assert known_verdict.outcome is outcome
    assert known_verdict.reason.startswith(reason)


def test_a_warning_is_said_to_be_one(build, explained):
    clear = [build.changed(1.05)] * 3
    noise = [build.changed(1.0, spread=9.0)] * 2

    verdict_explanation = explained(build.changed(1.0115, spread=8.0), *clear, *noise)

    assert verdict_explanation.decided_by is DecidedBy.WARNING


def test_a_verdict_that_stands_needs_no_more_pairs(build, explained):
    verdict_explanation = explained(build.changed(1.05))

    assert (verdict_explanation.pairs_needed, verdict_explanation.expected_outcome) == (None, None)


def test_noise_around_nothing_would_become_unchanged(build, explained):
    verdict_explanation = explained(build.changed(1.0, spread=30.0))

    assert verdict_explanation.expected_outcome is Outcome.UNCHANGED
    assert 6 < verdict_explanation.pairs_needed < 100


def test_noise_around_a_change_would_become_one(build, explained):
    verdict_explanation = explained(build.changed(1.03, spread=40.0))

    assert verdict_explanation.expected_outcome is Outcome.REGRESSED
    assert 6 < verdict_explanation.pairs_needed < 100


def test_the_pairs_needed_are_about_enough(build, explained):
    verdict_explanation = explained(build.changed(1.0, spread=30.0))

    again = explained(
        build.changed(1.0, spread=30.0, pairs=verdict_explanation.pairs_needed + 6), looks=(200,)
    )

    assert again.decided_by is DecidedBy.EQUIVALENCE


def test_too_much_noise_is_not_told_to_measure_for_days(explained):
    verdict_explanation = explained([(1.0, ratio) for ratio in (2.0, 0.5, 1.9, 0.53, 2.1, 0.475)])

    assert verdict_explanation.pairs_needed is None


def test_three_pairs_are_told_how_many_there_must_be(build, explained):
    assert explained(build.changed(1.05, pairs=3)).pairs_needed == 4


@pytest.mark.parametrize(("ratio", "pairs"), [(0.7, 7), (1.0, 7), (1.99, 24), (2.9, 51)])
def test_pairs_needed_grow_with_the_square_of_what_is_detectable(build, ratio, pairs):
    noisy = build.changed(1.03, spread=40.0)
    bundle = build.bundle({"m:f": {"step_time_p50": noisy}})
    verdict = next(v for v in judge_bundle(bundle) if v.metric.name == "step_time_p50")
    assert verdict.estimate is not None
    detectable = (1 + verdict.estimate.change) ** ratio - 1
    estimate = replace(verdict.estimate, smallest_detectable=detectable)

    verdict_explanation = explain_verdict(replace(verdict, estimate=estimate), bundle.plan)

    assert verdict_explanation.pairs_needed == pairs


@pytest.mark.parametrize(
    ("low", "high", "decided_by"),
    [
        (0.0, 0.1, DecidedBy.NOISE),
        (-0.1, 0.0, DecidedBy.NOISE),
        (1e-9, 0.1, DecidedBy.FAMILY),
        (-0.1, -1e-9, DecidedBy.FAMILY),
    ],
)
def test_no_change_at_the_end_of_an_interval_is_noise(build, low, high, decided_by):
    bundle = build.bundle({"m:f": {"step_time_p50": build.changed(1.05, spread=60.0)}})
    (verdict, *_) = judge_bundle(bundle)
    assert verdict.estimate is not None
    estimate = replace(verdict.estimate, low=low, high=high, change=(low + high) / 2)

    explanation = explain_verdict(replace(verdict, estimate=estimate), bundle.plan)

    assert verdict.outcome is Outcome.UNDECIDED
    assert explanation.decided_by is decided_by


@pytest.mark.parametrize(
    ("pairs", "more", "seconds", "is_good"),
    [
        (None, 0, None, False),
        (FEW_PAIRS, 90, 600.0, True),  # few, of a large job
        (FEW_PAIRS + 1, 90, MAX_ADVISED_S / 90, True),
        (FEW_PAIRS + 1, 91, MAX_ADVISED_S / 90, False),
        (1000, 900, None, True),  # nobody knows how long they take
    ],
)
def test_many_pairs_are_good_advice_only_if_somebody_would_wait_for_them(
    pairs, more, seconds, is_good
):
    assert is_practical(pairs, more=more, seconds_per_pair=seconds) == is_good
