"""Judging runs that were not made in pairs."""

import math

import numpy as np
import pytest

from perfledger.metrics import (
    CPU_ACTIVE,
    STEP_TIME,
    Metric,
    MetricKind,
    MetricScale,
    WorseDirection,
)
from perfledger_baselines.judging.judge import judge_unpaired
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest
from tests.suite.tries import tries

RULE = DecisionRule(looks=(), alpha=0.05, margin=0.01, floor=0.003)
BYTES = Metric(
    name="bytes",
    unit="B",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.MEMORY,
    scale=MetricScale.EXACT,
)


def a_test(*, ratio=1.0, noise=0.001, runs=8, seed=1, metric=STEP_TIME, **values):
    rng = np.random.default_rng(seed)
    base = tuple(0.01 * np.exp(noise * rng.standard_normal(runs)))
    head = tuple(0.01 * ratio * np.exp(noise * rng.standard_normal(runs)))
    defaults = {"workload": "gpt:step", "metric": metric, "base": base, "head": head}
    return UnpairedTest(**(defaults | values))


def judge(*tests, rule=RULE):
    return judge_unpaired(tests, rule=rule)


def test_a_clear_slowdown_is_regressed_with_its_interval_around_it():
    (verdict,) = judge(a_test(ratio=1.1))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.estimate is not None
    assert verdict.estimate.low < 0.1 < verdict.estimate.high
    assert "8 A and 8 B runs" in verdict.reason


def test_swapping_the_sides_mirrors_the_verdict():
    forth = a_test(ratio=1.1)
    (verdict,) = judge(a_test(base=forth.head, head=forth.base))

    assert verdict.outcome is Outcome.IMPROVED
    assert verdict.estimate is not None
    (other,) = judge(forth)
    assert other.estimate is not None
    assert (1 + verdict.estimate.change) * (1 + other.estimate.change) == pytest.approx(1)


def test_less_of_what_should_be_high_is_regressed():
    (verdict,) = judge(a_test(ratio=0.9, metric=CPU_ACTIVE))

    assert verdict.outcome is Outcome.REGRESSED


def test_equal_runs_are_proven_unchanged():
    (verdict,) = judge(a_test())

    assert verdict.outcome is Outcome.UNCHANGED
    assert "proven within ±1 %" in verdict.reason


def test_noise_that_hides_both_is_undecided():
    (verdict,) = judge(a_test(noise=0.1))

    assert verdict.outcome is Outcome.UNDECIDED
    assert "too noisy to tell after 8 A and 8 B runs" in verdict.reason


def test_too_few_runs_are_undecided_without_an_estimate():
    (verdict,) = judge(a_test(ratio=2.0, runs=3))

    assert (verdict.outcome, verdict.estimate) == (Outcome.UNDECIDED, None)
    assert "each side needs 4" in verdict.reason


def test_a_known_spread_makes_two_runs_of_a_side_a_test_and_one_none():
    prior = SpreadPrior(variance=2e-6, degrees=10, source=PriorSource.RUNS, values=30)

    (two,) = judge(a_test(ratio=1.2, runs=2, prior=prior))
    (one,) = judge(a_test(ratio=1.2, runs=1, prior=prior))

    assert two.outcome is Outcome.REGRESSED
    assert (one.outcome, one.estimate) == (Outcome.UNDECIDED, None)
    assert one.reason == "1 A and 1 B runs: one side needs two"


@pytest.mark.parametrize(("ratio", "is_warning"), [(1.06, True), (1 / 1.06, False)])
def test_what_only_the_milder_list_has_is_a_warning_if_it_is_worse(ratio, is_warning):
    clear = [a_test(ratio=2.0, seed=seed) for seed in range(9)]
    weak = a_test(base=(1.0, 1.02) * 5, head=tuple(ratio * v for v in (0.98, 1.04)) * 5)
    others = [a_test(noise=0.3, seed=seed, workload=f"w{seed}") for seed in range(20)]

    verdict = judge(*clear, weak, *others)[9]

    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.is_warning is is_warning
    correction = "by Benjamini-Hochberg, but" if is_warning else "alone, but"
    assert correction in verdict.reason


@pytest.mark.parametrize(
    ("head", "outcome"),
    [(1000.0, Outcome.UNCHANGED), (1001.0, Outcome.UNCHANGED), (1100.0, Outcome.REGRESSED)],
)
def test_counts_need_no_p_value(head, outcome):
    (verdict,) = judge(a_test(metric=BYTES, base=(1000.0,), head=(head,)))

    assert verdict.outcome is outcome


def test_a_flaw_is_not_measured_and_takes_no_share_of_alpha():
    alone = judge(a_test(ratio=1.1))[0]

    flawed, beside = judge(a_test(base=(), head=(), flaw="not comparable"), a_test(ratio=1.1))

    assert (flawed.outcome, flawed.reason) == (Outcome.NOT_MEASURED, "not comparable")
    assert beside == alone


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_value_without_a_logarithm_is_an_error(value):
    with pytest.raises(ValueError, match="not positive"):
        judge(a_test(base=(1.0, value)))


def test_nothing_to_judge_is_no_verdict():
    assert judge() == ()


@pytest.mark.slow
def test_of_unchanged_families_no_more_than_alpha_have_a_change():
    families = tries(400)
    wrong = sum(
        any(
            verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}
            for verdict in judge(*(a_test(noise=0.02, seed=20 * family + one) for one in range(10)))
        )
        for family in range(families)
    )

    assert wrong / families <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / families)
