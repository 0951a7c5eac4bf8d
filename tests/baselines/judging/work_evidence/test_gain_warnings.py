"""Tests when a gain is improved with a warning."""

from dataclasses import replace

import pytest

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import CoreTimes, Side
from perfledger.step_evidence import StepEvidence
from perfledger.step_work import FLOPS
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_baselines.judging.work_evidence import (
    HUGE_GAIN,
    gain_warnings,
    undone_warnings,
)
from tests.baselines.judging.work_evidence.example_work import count, outcome


def warnings_of(bundle):
    return gain_warnings(bundle, judge_bundle(bundle))


@pytest.mark.parametrize(("ratio", "is_huge"), [(0.2, False), (0.05, True)])
def test_a_huge_gain_is_improved_with_a_warning(checked, ratio, is_huge):
    bundle = checked(ratio=ratio, counts=([count(FLOPS, 1e9)], [count(FLOPS, 1e9)]))

    assert outcome(bundle) is Outcome.IMPROVED
    assert warnings_of(bundle) == (
        ("m:f is 95 % faster: check that its result is still right",) if is_huge else ()
    )


def test_a_large_gain_of_uncounted_work_is_improved_with_a_warning(checked):
    bundle = checked(ratio=0.3)

    assert outcome(bundle) is Outcome.IMPROVED
    (warning,) = warnings_of(bundle)
    assert warning == (
        "m:f is 70 % faster and none of its work can be counted: check that its step still does "
        "all that base's does, or give the workload a check="
    )
    assert warnings_of(checked(ratio=0.6)) == ()


def test_a_step_that_no_longer_returns_numbers_is_improved_with_a_warning(checked):
    (warning,) = warnings_of(checked(ratio=0.8, head=StepEvidence()))

    assert warning.startswith("m:f is 20 % faster and its step no longer returns numbers: check")
    assert warnings_of(checked(ratio=0.8, base=StepEvidence(), head=StepEvidence())) == ()


@pytest.mark.parametrize("cpu_times_s", [(1.0,), (1.0, 1.0)])
def test_a_gain_by_threads_that_no_step_waits_for_is_improved_with_a_warning(checked, cpu_times_s):
    bundle = checked(ratio=0.75)
    runs = tuple(
        replace(
            run,
            samples={**run.samples, CPU_TIME.name: cpu_times_s},
            core_times=CoreTimes(
                elapsed_s=(elapsed_s,), queued_s=(0.0,), helpers_s=(1.0 - elapsed_s,)
            ),
        )
        for run in bundle.runs
        for elapsed_s in [1.0 if run.side is Side.BASE else 0.75]
    )

    text = (
        "m:f is 25 % faster and other threads do 25 % of its work, and its steps never wait: check "
        "that it is done when a step returns"
    )
    is_known = len(cpu_times_s) == 1
    assert gain_warnings(replace(bundle, runs=runs), judge_bundle(bundle)) == (text,) * is_known


def test_a_gain_by_less_counted_work_is_improved_with_a_warning(checked):  # a smaller batch
    bundle = checked(ratio=0.6, counts=([count(FLOPS, 1e9)], [count(FLOPS, 6e8)]))

    assert outcome(bundle) is Outcome.IMPROVED
    (warning,) = warnings_of(bundle)
    assert warning == (
        "m:f is 40 % faster and its counted work fell from 1,000,000,000 to 600,000,000 FLOP: "
        "check that its step still does all that base's does"
    )


@pytest.mark.parametrize(
    "head",
    [
        [count(FLOPS, 9e8)],
        [count(FLOPS, 6e8, is_complete=False)],
        [],
    ],
)
def test_a_gain_that_less_counted_work_does_not_explain_is_no_warning(checked, head):
    assert warnings_of(checked(ratio=0.6, counts=([count(FLOPS, 1e9)], head))) == ()


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_less_work_in_no_less_time_is_no_warning(checked, ratio):
    counts = ([count(FLOPS, 1e9)], [count(FLOPS, 1e8)])

    assert warnings_of(checked(ratio=ratio, counts=counts)) == ()


def test_what_is_accepted_or_confirmed_by_a_check_is_no_warning(checked):
    answered = StepEvidence(answer={"": 1.0})

    assert warnings_of(checked(ratio=0.3, base=answered, head=answered)) == ()
    assert warnings_of(checked(ratio=0.3, accepted_work=("m:f",))) == ()


def improvement(gain):
    """Return the verdict of a step that takes so much less time."""
    times = EffectEstimate(
        base=1.0,
        head=1.0 - gain,
        change=-gain,
        low=-gain,
        high=-gain,
        narrow_low=-gain,
        narrow_high=-gain,
        pairs=8,
        p_value=0.001,
        smallest_detectable=0.01,
    )
    return Verdict(
        workload="m:f",
        metric=STEP_TIME,
        outcome=Outcome.IMPROVED,
        estimate=times,
        adjusted_p=0.001,
        is_warning=False,
        reason="",
    )


@pytest.mark.parametrize(("gain", "warnings"), [(HUGE_GAIN, 0), (0.95, 1)])
def test_only_more_than_a_huge_gain_is_a_warning(checked, gain, warnings):
    bundle = checked(counts=([count(FLOPS, 1e9)], [count(FLOPS, 1e9)]))

    assert len(gain_warnings(bundle, [improvement(gain)])) == warnings


@pytest.mark.parametrize("suite", ["pytest", "asv"])
def test_benchmarks_of_other_tools_are_advised_no_check(checked, suite):
    (warning,) = warnings_of(checked(ratio=0.3, settings={"suite": suite}))

    assert warning.endswith("check that its step still does all that base's does")


def test_regressed_steps_that_do_little_have_a_warning_unless_they_are_accepted(checked):
    def slow_at_first(bundle):
        runs = [
            replace(run, warmups_s=(20 * run.samples[STEP_TIME.name][0],) * 6)
            for run in bundle.runs
        ]
        return replace(bundle, runs=tuple(runs))

    bundle = slow_at_first(checked())
    regressed = [replace(improvement(0.5), outcome=Outcome.REGRESSED)]

    (warning,) = undone_warnings(bundle, regressed)
    assert warning.startswith("m:f: steps of both sides take at most 0.05 times as long as")
    assert undone_warnings(replace(bundle, accepted_work=("m:*",)), regressed) == ()
    assert undone_warnings(bundle, [improvement(0.5)]) == ()
    assert undone_warnings(checked(), regressed) == ()
