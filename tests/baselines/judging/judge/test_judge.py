import json
import math
from dataclasses import asdict, replace

import pytest

from perfledger.metrics import (
    CPU_TIME,
    METRICS,
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    Metric,
    MetricKind,
    MetricScale,
    WorseDirection,
)
from perfledger_baselines.judging.judge import is_trade, judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import CheckPlanError

RECOMPILES = Metric(
    name="recompiles",
    unit="1",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.MEMORY,
    scale=MetricScale.EXACT,
)


def judge_one(build, *, plan=None, metrics=None, **samples):
    values = {"metrics": metrics} if metrics else {}
    bundle = build.bundle({"m:f": samples}, plan=plan, **values)
    verdicts = judge_bundle(bundle)
    return verdicts[-1]


@pytest.mark.parametrize(
    ("name", "ratio", "expected"),
    [
        ("step_time_p50", 1.05, Outcome.REGRESSED),
        ("step_time_p50", 0.95, Outcome.IMPROVED),
        ("step_time_p50", 1.0, Outcome.UNCHANGED),
        ("peak_memory", 1.05, Outcome.REGRESSED),
        ("cpu_time", 1.05, Outcome.REGRESSED),
        ("cpu_time", 0.95, Outcome.IMPROVED),
        ("sm_active", 0.95, Outcome.REGRESSED),
    ],
)
def test_worse_is_what_the_metric_says_it_is(build, name, ratio, expected):
    assert judge_one(build, **{name: build.changed(ratio)}).outcome is expected


def test_noise_that_hides_the_margin_is_undecided_not_unchanged(build):
    verdict = judge_one(build, step_time_p50=build.changed(1.0, spread=20.0))

    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.reason == "too noisy to tell after 6 pairs"


def test_an_estimate_says_what_it_was_made_of(build):
    verdict = judge_one(build, step_time_p50=[(2.0, 2.1), (2.0, 2.2), (2.0, 2.1), (2.0, 2.2)])

    estimate = verdict.estimate
    ratio = math.sqrt(2.1 * 2.2) / 2
    assert estimate.base == pytest.approx(2.0)
    assert estimate.head == pytest.approx(2.0 * ratio)
    assert estimate.change == pytest.approx(ratio - 1)
    assert max(estimate.low, estimate.narrow_low) < estimate.change
    assert estimate.change < min(estimate.narrow_high, estimate.high)
    assert estimate.pairs == 4
    assert estimate.smallest_detectable > 0.003


def test_the_samples_inside_a_process_are_not_pairs(build):
    verdict = judge_one(build, step_time_p50=[([1.0] * 50, [1.1] * 50)] * 3)

    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.reason.startswith("3 of the 4 pairs needed;")
    assert verdict.estimate is None
    assert verdict.adjusted_p == 1.0


def test_four_pairs_are_enough(build):
    assert judge_one(build, step_time_p50=build.changed(1.05, pairs=4)).is_regression


@pytest.mark.parametrize("scale", list(MetricScale))
def test_too_few_pairs_are_too_few_for_every_scale(build, scale):
    metric = replace(RECOMPILES, scale=scale)

    verdict = judge_one(
        build, metrics=(metric,), step_time_p50=[(1, 1)] * 3, recompiles=[(2, 3)] * 3
    )

    assert (verdict.metric, verdict.outcome) == (metric, Outcome.UNDECIDED)


def test_identical_pairs_are_unchanged_even_without_a_margin(build):
    plan = build.plan(margin=0.0, floor=0.0)

    verdict = judge_one(build, plan=plan, step_time_p50=[(0.7, 0.7)] * 4)

    assert verdict.outcome is Outcome.UNCHANGED
    assert verdict.reason == "identical in 4 pairs"
    assert (verdict.estimate.low, verdict.estimate.high) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (1.003, Outcome.REGRESSED),
        (1.00299, Outcome.UNCHANGED),
        (1 / 1.003, Outcome.IMPROVED),
        (1 / 1.00299, Outcome.UNCHANGED),
    ],
)
def test_a_deterministic_change_of_the_floor_is_a_change_and_less_is_not(build, ratio, expected):
    verdict = judge_one(build, peak_memory=[(1e9, 1e9 * ratio)] * 4)

    assert verdict.outcome is expected


def test_a_sure_change_below_the_floor_is_unchanged_and_says_so(build):
    verdict = judge_one(build, peak_memory=[(1e9, 1.002e9)] * 4)

    assert verdict.outcome is Outcome.UNCHANGED
    assert verdict.reason == (
        "proven within ±1 % after 4 pairs; a clear change, but smaller than the floor of 0.3 %"
    )


def test_a_sure_change_above_the_floor_is_one_even_within_the_margin(build):
    verdict = judge_one(build, peak_memory=[(1e9, 1.005e9)] * 4)

    assert verdict.estimate.narrow_high < 0.01
    assert verdict.is_regression


def test_equivalence_ends_at_the_margin(build):
    samples = build.changed(1.0, spread=2.0)
    width = judge_one(build, step_time_p50=samples).estimate.narrow_high

    just = judge_one(build, plan=build.plan(margin=width, floor=0.0), step_time_p50=samples)
    short = judge_one(build, plan=build.plan(margin=width * 0.999, floor=0), step_time_p50=samples)

    assert just.outcome is Outcome.UNCHANGED
    assert short.outcome is Outcome.UNDECIDED


def test_significance_ends_at_alpha(build):
    samples = build.changed(1.01, spread=4.0)
    plan = build.plan(looks=(), floor=0.0, margin=0.0)
    p_value = judge_one(build, plan=plan, step_time_p50=samples).estimate.p_value

    just = judge_one(build, plan=replace(plan, alpha=p_value * 1.001), step_time_p50=samples)
    short = judge_one(build, plan=replace(plan, alpha=p_value * 0.999), step_time_p50=samples)

    assert just.outcome is Outcome.REGRESSED
    assert short.outcome is Outcome.UNDECIDED


def test_the_interval_leaves_out_no_change_exactly_when_the_p_value_is_below_alpha(build):
    verdict = judge_one(build, step_time_p50=build.changed(1.005, spread=3.0))

    assert (verdict.estimate.low > 0) == (verdict.estimate.p_value < 0.05)


def test_all_tests_of_a_check_are_one_family(build):
    samples = build.changed(1.0135, spread=8.0)
    alone = judge_one(build, step_time_p50=samples)
    noise = {f"m:g{k}": {"step_time_p50": build.changed(1.0, spread=9.0)} for k in range(5)}

    verdict, *_ = judge_bundle(build.bundle({"m:f": {"step_time_p50": samples}, **noise}))

    assert alone.outcome is Outcome.REGRESSED
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.estimate is not None
    assert verdict.estimate.p_value == alone.estimate.p_value
    assert verdict.adjusted_p == pytest.approx(6 * alone.adjusted_p)
    assert "among all tests (Holm)" in verdict.reason
    assert verdict.estimate.smallest_detectable > alone.estimate.smallest_detectable


def test_what_only_the_milder_list_has_is_a_warning_and_not_red(build):
    clear = {f"m:c{k}": {"step_time_p50": build.changed(1.05)} for k in range(3)}
    doubtful = {"m:f": {"step_time_p50": build.changed(1.0115, spread=8.0)}}
    noise = {f"m:n{k}": {"step_time_p50": build.changed(1.0, spread=9.0)} for k in range(2)}

    verdicts = judge_bundle(build.bundle({**clear, **doubtful, **noise}))

    assert [verdict.is_warning for verdict in verdicts] == [False] * 3 + [True] + [False] * 2
    assert verdicts[3].outcome is Outcome.UNDECIDED
    assert "Benjamini-Hochberg" in verdicts[3].reason


def test_the_milder_list_warns_of_nothing_good(build):
    clear = {f"m:c{k}": {"step_time_p50": build.changed(0.95)} for k in range(3)}
    doubtful = {"m:f": {"step_time_p50": build.changed(0.9885, spread=8.0)}}
    noise = {f"m:n{k}": {"step_time_p50": build.changed(1.0, spread=9.0)} for k in range(2)}

    verdicts = judge_bundle(build.bundle({**clear, **doubtful, **noise}))

    assert not any(verdict.is_warning for verdict in verdicts)


def test_a_change_that_the_last_look_does_not_bear_out_is_not_called(build):
    steady = [(1.0, ratio) for ratio in (1.010, 1.0101, 1.0099, 1.010)]
    wild = [(1.0, 1.2), (1.0, 0.85)]

    early = judge_one(build, step_time_p50=steady)
    late = judge_one(build, step_time_p50=steady + wild)

    assert early.is_regression
    assert late.estimate.p_value == pytest.approx(early.estimate.p_value)
    assert late.outcome is Outcome.UNDECIDED


def test_pairs_beyond_the_plan_change_nothing(build):
    planned = judge_one(build, plan=build.plan(looks=(4, 6)), step_time_p50=build.changed(1.02))
    more = judge_one(
        build, plan=build.plan(looks=(4, 6)), step_time_p50=build.changed(1.02, pairs=9)
    )

    assert more == planned


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (1000, 1003, Outcome.REGRESSED),
        (1000, 1002, Outcome.UNCHANGED),
        (1003, 1000, Outcome.IMPROVED),
        (1000, 1000, Outcome.UNCHANGED),
    ],
)
def test_counts_are_compared_as_they_are(build, base, head, expected):
    verdict = judge_one(
        build,
        metrics=(RECOMPILES,),
        step_time_p50=[(1, 1)] * 4,
        recompiles=[(base, head)] * 4,
    )

    assert verdict.outcome is expected
    assert verdict.adjusted_p == (1.0 if base == head else 0.0)
    assert verdict.estimate.low == verdict.estimate.change == verdict.estimate.high
    assert verdict.reason == "a count, the same in 4 pairs"


def test_equal_counts_take_no_alpha_from_the_others(build):
    samples = build.changed(1.01, spread=2.0)
    alone = judge_one(build, step_time_p50=samples)

    beside, _ = judge_bundle(
        build.bundle(
            {"m:f": {"step_time_p50": samples, "recompiles": [(7, 7)] * 6}},
            metrics=(STEP_TIME, RECOMPILES),
        )
    )

    assert beside == alone


def test_a_count_that_varies_is_tested_like_a_time(build):
    verdict = judge_one(
        build,
        metrics=(RECOMPILES,),
        step_time_p50=[(1, 1)] * 4,
        recompiles=[(10, 10), (10, 20), (20, 10), (10, 10)],
    )

    assert verdict.outcome is Outcome.UNDECIDED


def test_verdicts_come_by_workload_as_registered_and_then_by_metric(build):
    samples = {"cpu_time": build.changed(1.0), "step_time_p50": build.changed(1.0)}
    bundle = build.bundle(
        {"m:z": samples, "m:b": {}, "m:a": samples}, failures=(build.failure("m:b"),)
    )

    assert [(verdict.workload, verdict.metric) for verdict in judge_bundle(bundle)] == [
        ("m:z", STEP_TIME),
        ("m:z", CPU_TIME),
        ("m:b", STEP_TIME),
        ("m:a", STEP_TIME),
        ("m:a", CPU_TIME),
    ]


def test_more_work_in_the_same_time_fails_nobody(build):
    (verdict,) = judge_bundle(
        build.bundle(
            {"m:f": {"step_time_p50": build.changed(1.0), "flops_per_step": [(1e9, 2e9)] * 6}}
        )
    )

    assert (verdict.metric, verdict.outcome) == (STEP_TIME, Outcome.UNCHANGED)


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_the_share_of_a_shared_cpu_is_no_test_and_takes_no_alpha(build, ratio):
    alone = {"step_time_p50": build.changed(1.02, spread=8.0)}

    (verdict,) = judge_bundle(build.bundle({"m:f": {**alone, "cpu_active": build.changed(ratio)}}))

    assert (verdict,) == judge_bundle(build.bundle({"m:f": alone}))


def test_an_empty_bundle_has_no_verdicts(build):
    assert judge_bundle(build.bundle({})) == ()


def test_a_plan_that_cannot_be_judged_by_is_an_error(build):
    with pytest.raises(CheckPlanError):
        judge_bundle(build.bundle({}, plan=build.plan(looks=(6, 4))))


def test_every_figure_of_an_extreme_verdict_can_be_written_as_json(build):
    pairs = [(1e-300, 1e300), (1e300, 1e-300), (1.0, 1.0), (1e-300, 1e300)]

    verdict = judge_one(build, step_time_p50=pairs)

    assert json.dumps(asdict(verdict), allow_nan=False)


def test_a_utilization_that_fell_because_it_became_faster_is_a_trade(build):
    verdicts = judge_bundle(
        build.bundle(
            {"m:f": {"step_time_p50": build.changed(0.8), "sm_active": build.changed(0.9)}}
        )
    )

    speed, utilization = verdicts
    assert utilization.metric is SM_ACTIVE
    assert utilization.is_regression
    assert is_trade(utilization, verdicts)
    assert not is_trade(speed, verdicts)


def test_a_utilization_that_fell_without_gain_is_no_trade(build):
    samples = {"step_time_p50": build.changed(1.0), "sm_active": build.changed(0.9)}
    faster = {"step_time_p50": build.changed(0.8)}

    verdicts = judge_bundle(build.bundle({"m:f": samples, "m:g": faster}))

    assert not any(is_trade(verdict, verdicts) for verdict in verdicts)


def test_a_memory_that_grew_is_no_trade_however_fast_it_became(build):
    verdicts = judge_bundle(
        build.bundle(
            {"m:f": {"step_time_p50": build.changed(0.8), "peak_memory": build.changed(1.1)}}
        )
    )

    assert verdicts[1].metric == PEAK_MEMORY
    assert verdicts[1].is_regression
    assert not is_trade(verdicts[1], verdicts)


def test_every_metric_that_perfledger_knows_can_be_judged(build):
    samples = {name: [(0.5, 0.5)] * 4 for name in METRICS}

    verdicts = judge_bundle(build.bundle({"m:f": samples}))

    assert {verdict.outcome for verdict in verdicts} == {Outcome.UNCHANGED}
    assert len(verdicts) == 4


def test_runs_in_two_states_are_named_as_such(build):
    states = [(1.02 if slow else 1.0) for slow in (0, 1, 0, 0, 1, 0, 0, 1)]
    pairs = [(low * 1.0001**k, low * 0.9999**k) for k, low in enumerate(states)]

    verdict = judge_one(build, step_time_p50=pairs)

    assert verdict.states is not None
    assert verdict.states.distance == pytest.approx(0.02, rel=0.05)
    assert "two states 2.01 % apart, 3 of 8 head and 3 of 8 base runs" in verdict.reason


def test_a_share_of_slow_runs_that_changed_is_said_with_its_p_value(build):
    base = [1.0, 1.0001, 1.02, 1.0, 0.9999, 1.0, 1.0201, 1.0]
    head = [1.02, 1.0199, 1.0201, 1.02, 1.02, 1.02, 1.0199, 1.02]

    verdict = judge_one(build, step_time_p50=list(zip(base, head, strict=True)))

    assert verdict.states is not None
    assert "8 of 8 head and 2 of 8 base runs in the upper one (p = 0.007" in verdict.reason
