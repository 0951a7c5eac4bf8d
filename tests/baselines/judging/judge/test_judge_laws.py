import sys
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import METRICS
from perfledger.records import Side
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome

GREEN = {Outcome.UNCHANGED, Outcome.IMPROVED}
FLIPPED = {Outcome.REGRESSED: Outcome.IMPROVED, Outcome.IMPROVED: Outcome.REGRESSED}

pytestmark = pytest.mark.slow

# Ratios in thousandths around 1, so that changes, equivalence and doubt all come up; a common
# shift so that small spreads around a clear change do too.
noise = st.lists(st.integers(-30, 30), min_size=1, max_size=12)
shifts = st.sampled_from([-50, -10, -3, 0, 0, 3, 10, 50])
metric_samples = st.tuples(noise, shifts).map(
    lambda sample: [
        (1.0 + 0.01 * k, (1.0 + 0.01 * k) * 1.001 ** (sample[1] + z / 5))
        for k, z in enumerate(sample[0])
    ]
)
workload_samples = st.dictionaries(
    st.sampled_from(["step_time_p50", "peak_memory", "cpu_time"]), metric_samples, min_size=1
)
checks = st.dictionaries(st.sampled_from(["m:a", "m:b", "m:c"]), workload_samples, min_size=1)


def even(check):
    """Give all metrics of a workload equally many pairs, as one process reads them all."""
    return {
        workload: {
            name: pairs[: min(map(len, metrics.values()))] for name, pairs in metrics.items()
        }
        for workload, metrics in check.items()
    }


def outcomes(verdicts):
    return {(v.workload, v.metric.name): v.outcome for v in verdicts}


@pytest.mark.slow(ci_only=True)
@given(st.lists(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=8), min_size=4, max_size=12))
def test_a_run_never_regresses_against_itself(build, processes):
    same = {name: [(samples, samples) for samples in processes] for name in METRICS}

    verdicts = judge_bundle(build.bundle({"m:f": same}))

    assert {verdict.outcome for verdict in verdicts} == {Outcome.UNCHANGED}


@given(checks)
def test_swapping_the_sides_swaps_better_and_worse(build, check):
    bundle = build.bundle(even(check))
    other = {Side.BASE: Side.HEAD, Side.HEAD: Side.BASE}
    swapped = replace(bundle, runs=tuple(replace(run, side=other[run.side]) for run in bundle.runs))

    there = outcomes(judge_bundle(bundle))

    back = outcomes(judge_bundle(swapped))
    assert back == {key: FLIPPED.get(outcome, outcome) for key, outcome in there.items()}


@pytest.mark.slow(ci_only=True)
@given(checks, st.sampled_from([1e-3, 2.0, 1e3]))
def test_the_unit_changes_no_verdict(build, check, factor):
    bundle = build.bundle(even(check))
    elsewhere_bundle = replace(
        bundle,
        runs=tuple(
            replace(
                run,
                samples={
                    name: tuple(factor * value for value in values)
                    for name, values in run.samples.items()
                },
            )
            for run in bundle.runs
        ),
    )

    there, here = judge_bundle(bundle), judge_bundle(elsewhere_bundle)

    assert outcomes(here) == outcomes(there)
    for one, other in zip(there, here, strict=True):
        assert other.adjusted_p == pytest.approx(one.adjusted_p, rel=1e-6, abs=1e-12)


@given(checks, st.randoms(use_true_random=False))
def test_the_order_of_the_runs_does_not_matter(build, check, random):
    bundle = build.bundle(even(check))
    shuffled = replace(bundle, runs=tuple(random.sample(bundle.runs, len(bundle.runs))))

    assert judge_bundle(shuffled) == judge_bundle(bundle)


@given(checks, st.sampled_from(["m:a", "m:b", "m:c", "m:d"]), st.sampled_from(list(Side)))
def test_a_failure_never_makes_anything_green(build, check, workload, side):
    bundle = build.bundle(even(check))
    failing = replace(bundle, failures=(build.failure(workload, side=side),))

    before = outcomes(judge_bundle(bundle))

    after = outcomes(judge_bundle(failing))
    assert after[workload, "step_time_p50"] is Outcome.NOT_MEASURED
    assert all(before.get(key) in GREEN for key, outcome in after.items() if outcome in GREEN)


@given(checks)
def test_a_verdict_has_an_estimate_exactly_when_there_are_pairs_for_one(build, check):
    for verdict in judge_bundle(build.bundle(even(check))):
        is_short = "pairs needed" in verdict.reason
        is_missing = verdict.outcome is Outcome.NOT_MEASURED
        assert (verdict.estimate is None) == (is_short or is_missing)
        assert verdict.reason


@given(checks)
def test_red_is_beyond_the_floor_and_its_interval_leaves_out_no_change(build, check):
    for verdict in judge_bundle(build.bundle(even(check))):
        if verdict.outcome in FLIPPED:
            estimate = verdict.estimate
            assert estimate is not None
            assert estimate.low > 0 or estimate.high < 0
            assert abs(estimate.change) >= 0.0029
            assert verdict.adjusted_p < 0.05
            assert estimate.p_value <= verdict.adjusted_p


def test_each_stage_of_judging_is_entered_once(build):
    """Whatever the number of tests: estimate, doubt, test, correct, decide, word.

    One of the workloads is not judged by its step time, and another has failed.
    """
    samples = {"step_time_p50": build.changed(1.02), "sm_active": build.changed(0.98)}
    bundle = build.bundle(
        {f"m:{name}": samples for name in "fgh"}, failures=(build.failure("m:h"),)
    )
    bundle = replace(bundle, plan=replace(bundle.plan, metrics={"m:g": ("sm_active",)}))
    stages = (
        "pairing",
        "work_evidence",
        "paired_t_tests",
        "multiple_testing",
        "decision",
        "wording",
    )
    entries = []

    def profile(frame, event, _argument):
        module = frame.f_globals.get("__name__", "").rpartition(".")[2]
        caller = frame.f_back.f_globals.get("__name__", "").rpartition(".")[2]
        is_function = "." not in frame.f_code.co_qualname
        if event == "call" and is_function and module in stages and caller != module:
            entries.append(module)

    sys.setprofile(profile)
    try:
        verdicts = judge_bundle(bundle)
    finally:
        sys.setprofile(None)

    assert len(verdicts) == 4
    assert entries == list(stages)
