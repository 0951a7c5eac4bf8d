"""Tests the rule by which a device drifts, and its error rate on made-up canaries."""

from math import exp
from random import Random

import pytest

from perfledger_baselines.judging.device_drift import (
    ALPHA,
    MIN_DRIFT,
    MIN_EARLIER,
    MIN_SIBLINGS,
    CanaryComparison,
    DriftReference,
    DriftState,
    judge_drift,
)

CANARIES = 20
SPREAD = 0.005


def comparison(rate, *, others, canary="matmul", reference=DriftReference.OWN_HISTORY):
    return CanaryComparison(
        canary=canary, reference=reference, rate=rate, reference_rates=tuple(others)
    )


def rates(noise, count, *, slower=0.0, spread=SPREAD, is_heavy=False):
    """Return rates around 1 with normal noise, or with the tails of t with three degrees."""
    values = []
    for _ in range(count):
        scale = spread
        if is_heavy:  # normal / sqrt(chi-squared / 3), of standard deviation sqrt(3)
            scale /= (sum(noise.gauss() ** 2 for _ in range(3)) / 3) ** 0.5
        values.append((1 - slower) * exp(scale * noise.gauss()))
    return values


def run_of(noise, earlier, **values):
    return [
        comparison(rates(noise, 1, **values)[0], others=others, canary=str(place))
        for place, others in enumerate(earlier)
    ]


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("is_heavy", [False, True])
@pytest.mark.parametrize("count", [MIN_EARLIER, 30])
def test_few_runs_on_a_steady_device_are_suspected_and_hardly_any_twice(count, is_heavy):
    noise, suspected, drifting, runs = Random(count), 0, 0, 100
    for _ in range(runs):
        earlier = [rates(noise, count, is_heavy=is_heavy) for _ in range(CANARIES)]
        first = judge_drift(run_of(noise, earlier, is_heavy=is_heavy))
        names = {each.comparison.canary for each in first.slower}
        second = judge_drift(run_of(noise, earlier, is_heavy=is_heavy), suspected=names)
        suspected += first.state is DriftState.SUSPECTED
        drifting += second.state is DriftState.DRIFTING

    assert suspected <= (0.2 if is_heavy else 4 * ALPHA) * runs
    assert drifting == 0


def detectable_of(canary):
    assert canary.smallest_detectable is not None
    return canary.smallest_detectable


@pytest.mark.slow(ci_only=True)
def test_a_drift_above_what_is_detectable_is_found_and_confirmed():
    noise, count, loss = Random(7), 0, 0.0
    for _ in range(50):
        earlier = [rates(noise, 30) for _ in range(CANARIES)]
        steady = judge_drift(run_of(noise, earlier))
        loss = max(detectable_of(each) for each in steady.canaries)
        first = judge_drift(run_of(noise, earlier, slower=1.2 * loss))
        names = {each.comparison.canary for each in first.slower}
        second = judge_drift(run_of(noise, earlier, slower=1.2 * loss), suspected=names)
        count += second.state is DriftState.DRIFTING

    assert 0.02 < loss < 0.05
    assert count == 50


@pytest.mark.slow
def test_what_is_detectable_is_found_four_times_out_of_five():
    noise, count, runs = Random(11), 0, 400
    for _ in range(runs):
        (steady,) = judge_drift([comparison(1.0, others=rates(noise, 30, spread=0.02))]).canaries
        others = rates(noise, 30, spread=0.02)
        rate = rates(noise, 1, spread=0.02, slower=steady.smallest_detectable)[0]
        count += judge_drift([comparison(rate, others=others)]).state is DriftState.SUSPECTED

    assert 0.7 < count / runs < 0.9


@pytest.mark.parametrize(
    ("reference", "fewest"),
    [
        (DriftReference.OWN_HISTORY, MIN_EARLIER),
        (DriftReference.SIBLINGS, MIN_SIBLINGS),
    ],
)
def test_too_few_others_are_unknown_and_enough_are_not(reference, fewest):
    others = [1.0 + 0.001 * place for place in range(fewest)]

    few = judge_drift([comparison(0.5, others=others[1:], reference=reference)])
    enough = judge_drift([comparison(1.0, others=others, reference=reference)])

    assert few.state is DriftState.UNKNOWN
    assert few.canaries[0].change is None
    assert enough.state is DriftState.STEADY


def test_a_loss_below_the_margin_and_a_gain_are_no_drift():
    others = [1.0, 1.00001] * 10

    for rate in (1 - MIN_DRIFT / 2, 2.0):
        assert judge_drift([comparison(rate, others=others)]).state is DriftState.STEADY
    assert judge_drift([comparison(1 - 2 * MIN_DRIFT, others=others)]).state is DriftState.SUSPECTED


def test_only_the_same_canary_confirms_a_suspicion():
    slow = [comparison(0.5, others=[1.0, 1.001] * 5, canary="copy")]

    assert judge_drift(slow, suspected={"matmul"}).state is DriftState.SUSPECTED
    assert judge_drift(slow, suspected={"copy"}).state is DriftState.DRIFTING


def test_more_canaries_need_more_evidence():
    others = [1.0 + 0.01 * (place % 3) for place in range(6)]
    one = judge_drift([comparison(0.93, others=others)])
    many = judge_drift(
        [
            comparison(0.93, others=others),
            *(comparison(1.01, others=others, canary=str(place)) for place in range(40)),
        ]
    )

    assert one.state is DriftState.SUSPECTED
    assert many.state is DriftState.STEADY
    assert detectable_of(many.canaries[0]) > detectable_of(one.canaries[0])


def test_no_canaries_are_unknown():
    assert judge_drift([]).state is DriftState.UNKNOWN
