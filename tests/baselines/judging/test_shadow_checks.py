import math
from dataclasses import replace

import numpy as np
import pytest

from perfledger.metrics import FLOPS_PER_STEP, STEP_TIME
from perfledger_baselines.estimation.foreign_load import UnqueuedDifference
from perfledger_baselines.judging.judge import decide_tests, judgement_of, outcomes_of_tests
from perfledger_baselines.judging.shadow_checks import shadow_check
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule

CHECKS = 300


def noisy_pairs(seed, *, pairs=6, spread=0.01, ratio=1.0, trend=0.0):
    draw = np.random.default_rng(seed)
    return [
        (math.exp(base), ratio * math.exp(head + trend * number))
        for number, (base, head) in enumerate(spread * draw.standard_normal((pairs, 2)))
    ]


def shadow_of(bundle, *, seed="a"):
    judgement = judgement_of(bundle)
    rule = DecisionRule.from_plan(bundle.plan)
    return shadow_check(judgement.tests, judgement.verdicts, rule=rule, priors={}, seed=seed)


def step_times(build, workloads, **values):
    return build.bundle(
        {name: {STEP_TIME.name: pairs} for name, pairs in workloads.items()}, **values
    )


@pytest.mark.slow(ci_only=True)
def test_noise_fails_no_more_checks_than_alpha(build):
    """Of which half are improvements: only what got worse fails a check."""
    shadows = [shadow_of(step_times(build, {"m:f": noisy_pairs(seed)})) for seed in range(CHECKS)]

    share = np.mean([shadow.is_false_alarm for shadow in shadows if shadow is not None])
    assert share <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / CHECKS)


@pytest.mark.parametrize("ratio", [1.0, 1.003, 1.02, 0.9])
def test_outcomes_alone_are_those_of_the_decisions(build, ratio):
    pairs = {f"m:f{seed}": noisy_pairs(seed, ratio=ratio, pairs=4 + seed) for seed in range(4)}
    judgement = judgement_of(step_times(build, pairs))

    outcomes = outcomes_of_tests(judgement.tests, rule=judgement.rule, priors={})

    assert outcomes == tuple(decision.outcome for decision in judgement.decisions)


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_a_drift_of_the_machine_is_no_false_alarm_of_the_sides(build, seed):
    shadow = shadow_of(step_times(build, {"m:f": noisy_pairs(1, trend=0.004)}), seed=seed)

    assert shadow is not None
    assert not shadow.is_false_alarm


def test_coins_that_agree_with_the_noise_are_a_false_alarm(build):
    """Pairs that all differ by as much: among all coins, some exchange none or all of them."""
    pairs = [(1.0, 1.02 + 0.0001 * number) for number in range(4)]
    bundle = step_times(build, {"m:f": pairs}, plan=build.plan(looks=(4,), margin=0.05, floor=0.05))
    rule = DecisionRule(looks=(4,), alpha=0.05, margin=0.05, floor=0.003)
    judgement = judgement_of(bundle)

    shadows = [
        shadow_check(judgement.tests, judgement.verdicts, rule=rule, priors={}, seed=str(seed))
        for seed in range(200)
    ]

    share = np.mean([shadow.is_false_alarm for shadow in shadows if shadow is not None])
    assert 0.01 <= share <= 0.13  # one of 16 ways to exchange four pairs
    assert {shadow.regressed for shadow in shadows if shadow is not None} == {(), ("m:f",)}


def test_a_workload_with_a_change_is_left_out(build):
    changed = noisy_pairs(3, ratio=1.3)
    both = shadow_of(step_times(build, {"m:f": noisy_pairs(2), "m:g": changed}))
    alone = shadow_of(step_times(build, {"m:g": changed}))

    assert both is not None
    assert both.tests == 1
    assert alone is None


def test_counts_have_no_noise_to_exchange(build):
    counts = [(1e9, 1e9)] * 6
    pairs = noisy_pairs(4)
    alone = shadow_of(build.bundle({"m:f": {FLOPS_PER_STEP.name: counts}}))
    both = shadow_of(build.bundle({"m:f": {FLOPS_PER_STEP.name: counts, STEP_TIME.name: pairs}}))

    assert alone is None
    assert both is not None
    assert both.tests == 1


def test_the_same_seed_gives_the_same_coins(build):
    bundle = step_times(build, {"m:f": noisy_pairs(5, spread=0.2), "m:g": noisy_pairs(6)})

    assert shadow_of(bundle, seed="x") == shadow_of(bundle, seed="x")


def test_later_pairs_than_those_that_decide_do_not_count(build):
    """Four quiet pairs decide; what comes after the look was measured for another workload."""
    quiet = [(1.0, 1.0 + 0.0001 * (-1) ** number) for number in range(4)]
    late = [(1.0, 1.5)] * 4
    plan = build.plan(looks=(4, 8))
    judgement = judgement_of(step_times(build, {"m:f": quiet}, plan=plan))
    longer = judgement_of(
        step_times(build, {"m:f": quiet + late}, plan=build.plan(looks=(4, 8), floor=1.0))
    )
    rule = DecisionRule.from_plan(plan)

    shadows = [
        shadow_check(tests, (), rule=rule, priors={}, seed="a")
        for tests in (judgement.tests, longer.tests)
    ]

    assert shadows[0] == shadows[1]
    assert shadows[0] is not None
    assert not shadows[0].is_false_alarm


def beside_load(tests, *, is_supported):
    """Return step times that changed beside load, and did so without the wait for a core or not."""
    changes = {
        test.workload: [math.log(head / base) if is_supported else 0.0 for base, head in test.pairs]
        for test in tests
    }
    return [
        replace(
            test,
            unqueued=tuple(
                UnqueuedDifference(
                    low=each, high=each, level_s=1.0, queued_share=0.5, foreign_share=0.5
                )
                for each in changes[test.workload]
            ),
        )
        for test in tests
    ]


@pytest.mark.parametrize("is_supported", [True, False])
def test_outcomes_alone_are_those_of_the_decisions_beside_load(build, is_supported):
    pairs = {f"m:f{seed}": noisy_pairs(seed, ratio=1.1, pairs=6) for seed in range(4)}
    judgement = judgement_of(step_times(build, pairs))
    tests = beside_load(judgement.tests, is_supported=is_supported)

    outcomes = outcomes_of_tests(tests, rule=judgement.rule, priors={})

    decisions = decide_tests(tests, rule=judgement.rule, priors={})
    assert outcomes == tuple(decision.outcome for decision in decisions)
    assert set(outcomes) == {Outcome.REGRESSED if is_supported else Outcome.UNDECIDED}


@pytest.mark.parametrize("is_supported", [True, False])
def test_load_alone_is_no_false_alarm_of_exchanged_sides(build, is_supported):
    pairs = [(1.0, 1.02 + 0.0001 * number) for number in range(4)]
    rule = DecisionRule(looks=(4,), alpha=0.05, margin=0.05, floor=0.003)
    tests = beside_load(
        judgement_of(step_times(build, {"m:f": pairs})).tests, is_supported=is_supported
    )

    shadows = [shadow_check(tests, (), rule=rule, priors={}, seed=str(seed)) for seed in range(100)]

    assert any(shadow.is_false_alarm for shadow in shadows if shadow is not None) is is_supported
