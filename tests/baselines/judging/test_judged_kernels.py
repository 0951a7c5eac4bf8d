from dataclasses import replace

import numpy as np
import pytest

from perfledger_baselines.estimation.kernel_families import PairedSeconds
from perfledger_baselines.judging.judged_kernels import (
    MIN_STEP_SHARE,
    JudgedFamily,
    KernelTestRule,
)
from perfledger_baselines.judging.kernel_judgement import KernelChange
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import looks_until
from perfledger_baselines.significance.kernel_tests import relative_change

RULE = KernelTestRule(
    level=0.001,
    tests=10,
    proof_level=0.01,
    rule=DecisionRule(looks=(), alpha=0.05, margin=0.01, floor=0.003),
    looks=looks_until((), 12),
    step_seconds=1.0,
    least_step_seconds=1.0,
    has_common_change=False,
)


def seconds(change, *, scale=1.0, pairs=12, noise=1e-4):
    draw = np.random.default_rng(3)
    base = scale * np.exp(draw.normal(0, noise, pairs))
    return PairedSeconds(
        name="k", base=base, head=scale * (1 + change) * np.exp(draw.normal(0, noise, pairs))
    )


@pytest.mark.parametrize(
    ("change", "step", "is_change"),
    [
        (0.01, 1.0, True),
        (0.002, 1.0, False),  # below the floor
        (0.01, 0.99 * 0.01 / MIN_STEP_SHARE, True),
        (0.01, 1.02 * 0.01 / MIN_STEP_SHARE, False),  # too little of the step
        (-0.01, 1.0, True),
    ],
)
def test_a_change_is_clear_above_the_floor_and_matters_to_the_step(change, step, is_change):
    rule = replace(RULE, least_step_seconds=step)

    assert rule.is_change(rule.test(seconds(change))) is is_change


@pytest.mark.parametrize(
    ("measured", "is_change"), [(0.05, True), (0.002, False), (-0.05, False), (0.0, False)]
)
def test_where_all_kernels_changed_a_change_must_be_one_as_measured_too(measured, is_change):
    rule = replace(RULE, has_common_change=True)
    as_measured = rule.test(seconds(measured, noise=1e-3))
    family = replace(
        rule.test(seconds(0.05)),
        measured_seconds=as_measured.seconds,
        measured_result=as_measured.result,
    )

    assert rule.is_change(family) is is_change
    assert RULE.is_change(family)


def test_a_p_value_is_corrected_for_all_tests_and_stays_one():
    one = RULE.test(seconds(0.0))

    assert RULE.adjusted_p(one) == min(1.0, 10 * one.result.p_value)


def test_the_interval_in_seconds_holds_the_change():
    one = RULE.test(seconds(0.05, scale=1e-3))
    low, high = one.bounds_seconds

    assert low < 5e-5 < high
    assert one.reach_seconds == pytest.approx(5e-5, rel=0.01)
    assert one.is_slower


def test_an_estimate_is_of_what_both_sides_run():
    estimate = RULE.estimate(RULE.test(seconds(0.05)))

    assert estimate.change == pytest.approx(0.05, abs=1e-3)
    assert estimate.low < estimate.narrow_low < estimate.change < estimate.narrow_high
    assert estimate.pairs == 12
    new = PairedSeconds(name="k", base=np.zeros(12), head=np.ones(12))
    assert RULE.estimate(RULE.test(new)) is None


def test_the_smallest_detectable_change_is_found_about_as_often_as_it_says():
    draw = np.random.default_rng(5)
    sizes = (2000, 12)
    base = np.exp(draw.normal(0, 0.01, sizes))
    typical = RULE.test(PairedSeconds(name="k", base=base[0], head=base[1]))
    change = np.median(
        [
            RULE.detectable(RULE.test(PairedSeconds(name="k", base=one, head=other)))
            for one, other in zip(base[:200], base[200:400], strict=True)
        ]
    )
    head = (1 + change) * np.exp(draw.normal(0, 0.01, sizes))
    outcomes = [
        RULE.is_change(RULE.test(PairedSeconds(name="k", base=one, head=other)))
        for one, other in zip(base[:500], head[:500], strict=True)
    ]

    assert typical.result.pairs == 12
    assert 0.65 < np.mean(outcomes) < 0.95


def family_of(**changes):
    """Return a family that is one clear hundredth slower, but for these figures of its test."""
    result = replace(RULE.test(seconds(0.01)).result, mean=0.0625, p_value=1e-9, **changes)
    times = PairedSeconds(name="k", base=np.full(12, 0.25), head=np.full(12, 0.75))
    return JudgedFamily(
        seconds=times, result=result, measured_seconds=times, measured_result=result
    )


@pytest.mark.parametrize(
    ("rule", "measured", "is_change"),
    [
        ({"step_seconds": 0.03125 / MIN_STEP_SHARE}, {}, True),
        ({"rule": replace(RULE.rule, floor=relative_change(0.0625))}, {}, True),
        ({"level": 1e-9}, {}, False),
        ({"has_common_change": True}, {"p_value": 0.001}, False),
        ({"has_common_change": True}, {"mean": 0.0}, False),
    ],
    ids=[
        "the share itself",
        "the floor itself",
        "the level itself",
        "the level itself as measured",
        "no difference as measured",
    ],
)
def test_at_a_limit_the_share_and_the_floor_count_and_the_level_does_not(rule, measured, is_change):
    family = family_of()
    family = replace(family, measured_result=replace(family.measured_result, **measured))

    assert replace(RULE, **rule).is_change(family) is is_change


@pytest.mark.parametrize(
    ("mean", "p_value", "among", "is_proven"),
    [
        (0.0625, 0.0199, 1, True),
        (0.0625, 0.02, 1, False),  # one-sided: the level itself
        (0.0625, 0.0099, 2, True),
        (0.0625, 0.0101, 2, False),
        (-0.0625, 1e-9, 1, False),
        (0.0, 1e-9, 1, False),
    ],
)
def test_a_change_is_proven_by_what_was_measured_the_same_way(mean, p_value, among, is_proven):
    family = family_of()
    measured = replace(family.measured_result, mean=mean, p_value=p_value)

    assert RULE.is_proven(replace(family, measured_result=measured), among=among) is is_proven
    assert not replace(family, result=replace(family.result, mean=0.0)).is_slower


def test_with_the_spread_that_is_needed_a_change_is_proven_four_times_in_five():
    draw = np.random.default_rng(7)
    family = RULE.test(seconds(0.05, noise=0.03))
    needed = RULE.spread_needed(family, among=1)
    size = relative_change(family.result.mean)

    proven = [
        RULE.is_proven(
            RULE.test(
                PairedSeconds(
                    name="k",
                    base=np.ones(12),
                    head=(1 + size) * np.exp(draw.normal(0, needed, 12)),
                )
            ),
            among=1,
        )
        for _ in range(400)
    ]

    assert 0.7 < np.mean(proven) < 0.9


@pytest.mark.parametrize(
    ("base", "head", "change"),
    [
        (0.0, 1.0, KernelChange.NEW),
        (1.0, 0.0, KernelChange.GONE),
        (1.0, 2.0, KernelChange.SLOWER),
        (2.0, 1.0, KernelChange.FASTER),
        (1.0, 1.0, KernelChange.FASTER),
    ],
)
def test_a_finding_says_how_the_time_of_a_family_changed(base, head, change):
    times = PairedSeconds(name="k", base=np.full(12, base), head=np.full(12, head))

    finding = RULE.finding(replace(family_of(), seconds=times))

    assert finding.change is change
    assert (finding.relative_change is None) == (0.0 in {base, head})
