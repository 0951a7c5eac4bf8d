"""Tests when a head that may not do its work is not measured, however fast it is."""

from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import FailureReason, Side
from perfledger.step_evidence import ResultState, StepEvidence
from perfledger.step_work import BYTES, FLOPS, CountedWork, StepWork
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.work_evidence.example_work import (
    FINITE,
    count,
    failures_of,
    outcome,
    whys,
    work,
)


@pytest.mark.parametrize(
    ("ratio", "base", "head", "expected"),
    [
        pytest.param(0.3, [count(FLOPS, 1e9)], [count(FLOPS, 1e9)], "improved", id="equal"),
        pytest.param(0.3, [count(FLOPS, 1e9)], [count(FLOPS, 1e8)], "improved", id="a tenth"),
        pytest.param(0.3, [count(FLOPS, 1e9)], [count(FLOPS, 9e7)], "not measured", id="less"),
        pytest.param(0.6, [count(FLOPS, 1e9)], [count(FLOPS, 9e7)], "improved", id="a small gain"),
        pytest.param(
            0.3,
            [count(FLOPS, 1e9)],
            [count(FLOPS, 1e9, is_complete=False)],
            "not measured",
            id="incomplete on head",
        ),
        pytest.param(
            0.3,
            [count(FLOPS, 1e9, is_complete=False)],
            [count(FLOPS, 1e6)],
            "improved",
            id="incomplete on base: nothing to compare with",
        ),
        pytest.param(0.3, [count(FLOPS, 1e9)], [], "not measured", id="not counted on head"),
        pytest.param(0.3, [], [], "improved", id="never counted"),
        pytest.param(0.05, [], [], "not measured", id="never counted, a huge gain"),
        pytest.param(
            0.3,
            [count(FLOPS, 0.0), count(BYTES, 1e9)],
            [count(FLOPS, 0.0), count(BYTES, 10.0)],
            "not measured",
            id="fewer bytes, where there are no products",
        ),
        pytest.param(1.5, [count(FLOPS, 1e9)], [count(FLOPS, 0.0)], "regressed", id="slower"),
    ],
)
def test_a_large_gain_needs_counts_that_confirm_it(checked, ratio, base, head, expected):
    assert outcome(checked(ratio=ratio, counts=(base, head))) == expected


def test_an_unproven_gain_says_why_and_how_to_go_on(checked):
    bundle = checked(ratio=0.02, counts=([count(FLOPS, 6e8)], [count(FLOPS, 0.0)]))

    judgement = judgement_of(bundle)

    (failure,) = judgement.failures
    (verdict,) = judgement.verdicts
    assert (failure.why, failure.side) == (FailureReason.UNPROVEN, Side.HEAD)
    assert failure.detail == (
        "cannot tell whether head still does the work: it is 98 % faster, and its counted work "
        "fell from 600,000,000 to 0 FLOP; give the workload a check=, or name it in accepted_work"
    )
    assert verdict.metric is STEP_TIME
    assert verdict.estimate is None
    assert verdict.reason.startswith("unproven work on head: cannot tell whether head still does")


def test_every_metric_of_a_doubtful_workload_is_not_measured(build):
    bundle = build.bundle(
        {"m:f": {"step_time_p50": build.changed(0.1), "peak_memory": build.changed(1.0)}}
    )
    works = (work(Side.BASE, count(FLOPS, 1e9)), work(Side.HEAD, count(FLOPS, 0.0)))

    assert outcome(replace(bundle, work=works)) is Outcome.NOT_MEASURED


@pytest.mark.parametrize(
    ("base", "head", "is_doubtful"),
    [
        (ResultState.FINITE, ResultState.NOT_FINITE, True),
        (ResultState.FINITE, ResultState.NOT_READY, True),
        (ResultState.UNKNOWN, ResultState.NOT_READY, True),
        (ResultState.NOT_FINITE, ResultState.NOT_FINITE, False),
        (ResultState.NOT_READY, ResultState.NOT_READY, True),
        (ResultState.NOT_READY, ResultState.FINITE, False),
        (ResultState.FINITE, ResultState.NO_DATA, True),
        (ResultState.UNKNOWN, ResultState.NO_DATA, True),
        (ResultState.NO_DATA, ResultState.NO_DATA, False),
        (ResultState.NO_DATA, ResultState.FINITE, False),
        (ResultState.UNKNOWN, ResultState.NOT_FINITE, False),
        (ResultState.FINITE, ResultState.UNKNOWN, False),
        (ResultState.NOT_FINITE, ResultState.FINITE, False),
    ],
)
@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.5])
def test_a_result_that_base_had_and_head_lacks_is_not_measured_at_any_speed(
    checked, base, head, is_doubtful, ratio
):
    bundle = checked(ratio=ratio, base=StepEvidence(result=base), head=StepEvidence(result=head))

    assert (outcome(bundle) is Outcome.NOT_MEASURED) is is_doubtful
    assert whys(bundle) == [FailureReason.UNPROVEN] * is_doubtful


@pytest.mark.parametrize(("empty_steps", "is_doubtful"), [(0.9, True), (1.9, True), (2.0, False)])
def test_a_step_that_takes_as_long_as_an_empty_one_is_not_measured(
    checked, empty_steps, is_doubtful
):
    bundle = checked()
    step_s = bundle.runs[0].samples["step_time_p50"][0]
    short = replace(FINITE, steps_per_reading=20, empty_step_s=step_s / empty_steps)

    assert (outcome(checked(head=short)) is Outcome.NOT_MEASURED) is is_doubtful
    assert outcome(checked(base=short)) is not Outcome.NOT_MEASURED


@pytest.mark.parametrize(("short_runs", "is_doubtful"), [(3, False), (4, True)])
def test_more_than_half_of_six_runs_must_be_as_short_as_an_empty_step(
    checked, short_runs, is_doubtful
):
    bundle = checked()
    runs = tuple(
        replace(run, evidence=replace(FINITE, steps_per_reading=20, empty_step_s=1.0))
        if run.side is Side.HEAD and run.pair < short_runs
        else run
        for run in bundle.runs
    )

    assert (outcome(replace(bundle, runs=runs)) is Outcome.NOT_MEASURED) is is_doubtful


DOUBTFUL = replace(FINITE, result=ResultState.NOT_FINITE)


def answered(evidence, answer, tolerance=0.0):
    return replace(evidence, answer=answer, tolerance=tolerance)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (answered(FINITE, {"": 1.0}), answered(DOUBTFUL, {"": 1.0})),
        (answered(FINITE, {"": 100.0}, 0.01), answered(DOUBTFUL, {"": 101.0}, 0.01)),
        (answered(FINITE, {"a": True, "b": "x"}), answered(DOUBTFUL, {"a": True, "b": "x"})),
    ],
)
def test_a_check_that_agrees_settles_the_doubt(checked, base, head):
    lessened = ([count(FLOPS, 1e9)], [count(FLOPS, 0.0)])

    assert outcome(checked(ratio=0.1, base=base, head=head, counts=lessened)) is Outcome.IMPROVED


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (answered(FINITE, {"": 1.0}), answered(FINITE, {"": 1.0 + 1e-12})),
        (answered(FINITE, {"": 100.0}, 0.01), answered(FINITE, {"": 102.0}, 0.01)),
        pytest.param(
            answered(FINITE, {"": 100.0}, 0.01),
            answered(FINITE, {"": 50.0}, 0.9),
            id="head relaxes its own tolerance",
        ),
        (answered(FINITE, {"a": 1.0}), answered(FINITE, {"b": 1.0})),
        (answered(FINITE, {"a": 1}), answered(FINITE, {"a": True})),
        (answered(FINITE, {"a": "x"}, 0.5), answered(FINITE, {"a": "y"}, 0.5)),
    ],
)
def test_a_check_that_disagrees_is_not_measured_whatever_the_speed(checked, base, head):
    bundle = checked(base=base, head=head)

    assert outcome(bundle) is Outcome.NOT_MEASURED
    assert whys(bundle) == [FailureReason.DIFFERENT]


def test_one_pair_that_disagrees_is_enough(checked):
    bundle = checked(base=answered(FINITE, {"loss": 1.0}), head=answered(FINITE, {"loss": 1.0}))
    *others, last = bundle.runs
    runs = (*others, replace(last, evidence=answered(FINITE, {"loss": 2.0})))

    (failure,) = failures_of(replace(bundle, runs=runs))

    assert failure.detail == "the workload's check disagrees between base and head: loss"


def test_a_check_whose_answers_differ_on_base_alone_is_said_to_be_unsteady(checked):
    bundle = checked(base=answered(FINITE, {"": 1.0}), head=answered(FINITE, {"": 1.0}))
    runs = tuple(
        replace(run, evidence=answered(FINITE, {"": 1.0 + number}))
        for number, run in enumerate(bundle.runs)
    )

    (failure,) = failures_of(replace(bundle, runs=runs))

    assert failure.why is FailureReason.DIFFERENT
    assert failure.detail == (
        "the workload's check disagrees between base and head: its value; base's answers differ "
        "from process to process, too: fix its seeds, or give it a check_tolerance"
    )


def test_a_check_that_only_head_has_settles_nothing(checked):
    bundle = checked(base=FINITE, head=answered(DOUBTFUL, {"": 1.0}))

    assert whys(bundle) == [FailureReason.UNPROVEN]


@pytest.mark.parametrize(("pattern", "is_accepted"), [("m:*", True), ("m:g", False)])
def test_what_is_accepted_is_judged_as_it_is(checked, pattern, is_accepted):
    lessened = ([count(FLOPS, 1e9)], [count(FLOPS, 0.0)])
    bundle = checked(ratio=0.1, head=DOUBTFUL, counts=lessened, accepted_work=(pattern,))

    assert (outcome(bundle) is Outcome.IMPROVED) is is_accepted


def test_new_and_skipped_workloads_are_not_doubted(checked):
    assert failures_of(checked(head=DOUBTFUL, new_workloads=("m:f",))) == ()
    assert failures_of(checked(head=DOUBTFUL, skipped={"m:f": "same"})) == ()


PARTLY = StepEvidence(result=ResultState.PARTLY_EXAMINED)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(([], []), "not measured", id="nothing else confirms the gain"),
        pytest.param(([count(FLOPS, 1e9)], [count(FLOPS, 1e9)]), "improved", id="counts do"),
    ],
)
def test_a_large_gain_with_a_result_that_is_not_examined_whole_needs_counts(
    checked, counts, expected
):
    bundle = checked(ratio=0.4, base=PARTLY, head=PARTLY, counts=counts)

    assert outcome(bundle) == expected


@pytest.mark.parametrize(
    ("ratio", "expected"), [(0.45, Outcome.NOT_MEASURED), (0.6, Outcome.IMPROVED)]
)
def test_a_large_gain_of_a_step_that_no_longer_returns_numbers_is_unproven(
    checked, ratio, expected
):
    """Its arrays may have no data, as on torch's device "meta", whose operators are counted."""
    counts = ([count(FLOPS, 1e9)], [count(FLOPS, 1e9)])
    bundle = checked(ratio=ratio, counts=counts, head=StepEvidence())

    assert outcome(bundle) is expected
    assert outcome(checked(ratio=ratio, counts=counts)) is Outcome.IMPROVED


def test_a_nan_is_doubted_even_if_base_was_not_examined_whole(checked):
    head = StepEvidence(result=ResultState.NOT_FINITE)

    assert outcome(checked(base=PARTLY, head=head)) is Outcome.NOT_MEASURED


def test_one_pair_is_enough_to_doubt_a_gain_that_its_counts_do_not_confirm(checked):
    bundle = checked(ratio=0.05, counts=([count(FLOPS, 1e8)], [count(FLOPS, 1e6)]))
    first = replace(bundle, runs=tuple(run for run in bundle.runs if run.pair == 0))

    assert outcome(first) is Outcome.NOT_MEASURED
    assert whys(first) == [FailureReason.UNPROVEN]


def test_a_check_that_head_removes_confirms_no_gain(checked):
    answered = StepEvidence(answer={"": 1.0})
    lost = checked(ratio=0.3, base=answered)

    assert outcome(lost) == "not measured"
    assert "no longer has the check that base has" in judgement_of(lost).failures[0].detail
    assert outcome(checked(ratio=0.3, base=answered, head=answered)) == "improved"
    assert outcome(checked(ratio=0.6, base=answered)) == "improved"


@pytest.mark.parametrize(
    ("cut", "limit", "why"),
    [
        (Side.BASE, "budget: it ended", "on base (the budget ended it: raise the budget)"),
        (Side.HEAD, "budget: it ended", "on head (the budget ended it: raise the budget)"),
        (Side.HEAD, "hung: after 120 s", "on head (it took longer than the time limit)"),
    ],
)
def test_a_count_that_time_ended_confirms_no_large_gain(checked, cut, limit, why):
    counted = [count(FLOPS, 1e9)]
    unfinished = CountedWork(
        workload="m:f", side=cut, work=StepWork(limits=(f"not counted: {limit}",))
    )

    def with_cut(bundle):
        return replace(
            bundle, work=tuple(unfinished if each.side is cut else each for each in bundle.work)
        )

    large = with_cut(checked(ratio=0.3, counts=(counted, counted)))

    (failure,) = judgement_of(large).failures
    assert f"it is 70 % faster, and its work was not counted {why}; give" in failure.detail
    assert outcome(with_cut(checked(ratio=0.6, counts=(counted, counted)))) == "improved"


def test_a_step_that_fails_while_it_is_counted_is_no_matter_of_time(checked):
    bundle = checked(ratio=0.3)
    failed = StepWork(limits=("not counted: raised: ValueError",))
    works = tuple(CountedWork(workload="m:f", side=side, work=failed) for side in Side)

    assert outcome(replace(bundle, work=works)) == "improved"


@pytest.mark.parametrize(
    ("suite", "advice"),
    [
        ("perfledger", "; give the workload a check=, or name it in accepted_work"),
        (
            "pytest",
            "; assert in the test that its result is right, and name it in accepted_work",
        ),
        ("asv", "; make sure that its result is right, and name it in accepted_work"),
    ],
)
def test_the_advice_is_what_the_suite_can_do(checked, suite, advice):
    settings = {"suite": suite}
    huge = judgement_of(checked(ratio=0.02, settings=settings)).failures
    doubtful = judgement_of(checked(head=DOUBTFUL, settings=settings)).failures

    assert [failure.detail.endswith(advice) for failure in (*huge, *doubtful)] == [True, True]
