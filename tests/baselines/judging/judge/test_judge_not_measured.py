import math
from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import FailureReason, Side
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.judging.wording import MAX_REASON_LENGTH


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([(0.0, 1.0)] * 6, "step_time_p50 reads zero on base: there is no ratio to zero"),
        ([(1.0, 0.0)] * 6, "step_time_p50 reads zero on head: there is no ratio to zero"),
        ([(0.0, 0.0)] * 6, "step_time_p50 reads zero on base: there is no ratio to zero"),
        ([(None, 1.0)] * 6, "step_time_p50 was not read on base"),
    ],
)
def test_no_baseline_is_not_measured_never_no_change(build, pairs, reason):
    samples = [(1e9, 1e9)] * 6
    verdicts = judge_bundle(build.bundle({"m:f": {"step_time_p50": pairs, "peak_memory": samples}}))

    assert [verdict.outcome for verdict in verdicts] == [Outcome.NOT_MEASURED, Outcome.UNCHANGED]
    assert verdicts[0].reason == reason
    assert verdicts[0].estimate is None


def test_a_registered_workload_without_runs_is_not_measured_never_absent(build):
    (verdict,) = judge_bundle(build.bundle({"m:f": {}}))

    assert (verdict.workload, verdict.metric) == ("m:f", STEP_TIME)
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert verdict.reason == "no pair has runs of both sides"


def test_runs_of_one_side_alone_are_not_measured(build):
    bundle = build.bundle({"m:f": {"step_time_p50": build.changed(1.0)}})
    bundle = replace(bundle, runs=tuple(run for run in bundle.runs if run.side is Side.BASE))

    (verdict,) = judge_bundle(bundle)

    assert verdict.outcome is Outcome.NOT_MEASURED


def test_a_workload_whose_step_time_was_not_read_is_not_green(build):
    verdicts = judge_bundle(build.bundle({"m:f": {"peak_memory": [(1.0, 1.0)] * 4}}))

    assert verdicts[0].metric is STEP_TIME
    assert verdicts[0].outcome is Outcome.NOT_MEASURED


def test_a_failure_is_one_verdict_whatever_pairs_there_are(build):
    bundle = build.bundle(
        {"m:f": {"step_time_p50": build.changed(1.0), "peak_memory": build.changed(1.0)}},
        failures=(
            build.failure(detail="ValueError: no\n  at line 3"),
            build.failure(side=Side.BASE, why=FailureReason.HUNG),
        ),
    )

    (verdict,) = judge_bundle(bundle)

    assert (verdict.workload, verdict.metric) == ("m:f", STEP_TIME)
    assert (verdict.outcome, verdict.estimate) == (Outcome.NOT_MEASURED, None)
    assert verdict.reason == "raised on head: ValueError: no"


@pytest.mark.parametrize("detail", ["", " \n "])
def test_a_failure_without_words_still_says_why(build, detail):
    bundle = build.bundle(
        {"m:f": {}}, failures=(build.failure(why=FailureReason.KILLED, detail=detail),)
    )

    assert judge_bundle(bundle)[0].reason == "killed on head"


def test_a_long_failure_is_cut(build):
    bundle = build.bundle({"m:f": {}}, failures=(build.failure(detail="x" * 10_000),))

    assert len(judge_bundle(bundle)[0].reason) == MAX_REASON_LENGTH


def test_a_failure_of_an_unregistered_workload_is_not_lost(build):
    bundle = build.bundle({}, failures=(build.failure("m:gone", why=FailureReason.MISSING),))

    assert [verdict.workload for verdict in judge_bundle(bundle)] == ["m:gone"]


def test_runs_of_an_unregistered_workload_are_judged(build):
    bundle = replace(build.bundle({"m:f": {"step_time_p50": build.changed(1.05)}}), workloads=())

    assert [verdict.outcome for verdict in judge_bundle(bundle)] == [Outcome.REGRESSED]


def test_new_and_skipped_workloads_have_no_verdict(build):
    bundle = build.bundle(
        {"m:f": {"step_time_p50": build.changed(1.0)}, "m:new": {}, "m:same": {}},
        new_workloads=("m:new",),
        skipped={"m:same": "same kernels on both sides"},
        failures=(build.failure("m:new", side=Side.BASE, why=FailureReason.MISSING),),
    )

    assert [verdict.workload for verdict in judge_bundle(bundle)] == ["m:f"]


@pytest.mark.parametrize(
    ("side", "why"),
    [
        (Side.HEAD, FailureReason.RAISED),
        (Side.BASE, FailureReason.RAISED),
        (Side.HEAD, FailureReason.MISSING),
    ],
)
def test_a_new_or_skipped_workload_that_failed_is_not_measured(build, side, why):
    bundle = build.bundle(
        {"m:new": {}, "m:same": {}},
        new_workloads=("m:new",),
        skipped={"m:same": "same kernels on both sides"},
        failures=tuple(build.failure(name, side=side, why=why) for name in ("m:new", "m:same")),
    )

    assert {verdict.outcome for verdict in judge_bundle(bundle)} == {Outcome.NOT_MEASURED}


@pytest.mark.parametrize("wrong", [0.0, math.nan, -1.0])
def test_one_sample_that_is_no_reading_is_left_out_and_counted(build, wrong):
    samples = [1.0, 1.001, 0.999, 1.0] * 5
    pairs = [(samples, samples[::-1]) for _ in range(6)]
    pairs[2] = ([*samples[:-1], wrong], samples)

    (verdict,) = judge_bundle(build.bundle({"m:f": {"step_time_p50": pairs}}))

    assert verdict.outcome is Outcome.UNCHANGED
    assert verdict.reason.endswith("; 1 sample left out: zero, negative or not a number")


@pytest.mark.parametrize("wrong", [0.0, math.nan, -1.0])
def test_many_samples_that_are_no_readings_are_not_measured(build, wrong):
    samples = [1.0] * 20
    pairs = [(samples, samples) for _ in range(6)]
    pairs[2] = ([*samples[:-8], *[wrong] * 8], samples)

    (verdict,) = judge_bundle(build.bundle({"m:f": {"step_time_p50": pairs}}))

    assert verdict.outcome is Outcome.NOT_MEASURED
    assert "left out" not in verdict.reason
