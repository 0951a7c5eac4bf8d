"""Tests when head is doubted because it computes between its steps."""

import math
import re
from dataclasses import replace

import pytest

from perfledger.records import CoreTimes, Run, Side
from perfledger.step_evidence import StepEvidence
from perfledger_baselines.judging.gain_doubts.leftover_work import leftover_doubt, unawaited_work
from perfledger_baselines.judging.gain_doubts.undone_steps import (
    undone_doubt,
    undone_on_both_sides,
)
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads
from perfledger_baselines.judging.judge import judgement_of
from tests.baselines.judging.work_evidence.example_work import outcome


def paused(*cores):
    return dict(
        zip(("base", "head"), (StepEvidence(paused_cores=each) for each in cores), strict=True)
    )


@pytest.mark.parametrize(
    ("base", "head", "doubt"),
    [
        (0.0, 0.04, ""),
        (0.0, 0.063, "it has work for 0.063 cores between its steps, 7.9 % of their time:"),
        (0.5, 0.54, ""),
        pytest.param(0.1, 0.15, "", id="a data loader's batches differ"),
        pytest.param(0.1, 0.3, "it has work for 0.3 cores", id="twice as much again"),
        (None, 0.9, ""),
        (0.0, None, "whether it computes between its steps is known only for base"),
        (None, None, ""),
    ],
)
def test_a_head_is_doubted_if_it_may_compute_between_its_steps(checked, base, head, doubt):
    bundle = checked(ratio=0.8, **paused(base, head))

    assert outcome(bundle) == ("not measured" if doubt else "improved")
    assert doubt in "".join(failure.detail for failure in judgement_of(bundle).failures)


def with_steps(bundle, side, seconds, *, number=1):
    """Return a bundle whose runs of a side took this many steps of so many seconds."""
    return replace(
        bundle,
        runs=tuple(
            replace(run, samples={"step_time_p50": (seconds,) * number})
            if run.side is side
            else run
            for run in bundle.runs
        ),
    )


@pytest.mark.parametrize(
    ("base", "head", "head_s", "is_doubted"),
    [
        pytest.param((0.0, 0.0), (0.04, 0.04), 1.0, False, id="less than a twentieth"),
        pytest.param((0.0, 0.0), (0.05, 0.05), 1.0, True, id="a twentieth"),
        pytest.param((0.0, 0.0), (0.01, 0.01), 0.1, True, id="of a shorter step it is more"),
        pytest.param((0.0, 0.0), (0.0025, 2.0), 0.7, True, id="in pauses that load makes long"),
        pytest.param((0.3, 0.1), (0.3, 1.0), 0.1, False, id="a thread at its own pace"),
        pytest.param((0.3, 0.1), (0.6, 2.0), 0.1, True, id="a thread that works more"),
        pytest.param((0.1, 0.5), (0.2, 0.5), 1.0, False, id="as much per step as base"),
        pytest.param((0.0, 0.0), (0.0, 0.0), 1.0, False, id="none"),
        pytest.param((0.002, 0.0), (0.002, 0.2), 1.0, True, id="what is done before the pauses"),
        pytest.param((0.002, 0.001), (0.003, 0.06), 1.0, True, id="the harness's use is no pace"),
        pytest.param((0.0, 0.0), (0.0, 0.2), 1.0, True, id="in no pause"),
        pytest.param((0.3, 0.1), (0.3, 3.0), 0.1, False, id="its own pace in long pauses"),
        pytest.param((0.01, 0.001), (0.01, 0.01), 0.1, False, id="a slow pace of its own"),
    ],
)
def test_leftover_work_counts_beside_the_steps_that_leave_it(
    checked, base, head, head_s, is_doubted
):
    evidence = {
        side: StepEvidence(paused_cores=cores, leftover_s=left)
        for side, (cores, left) in zip(("base", "head"), (base, head), strict=True)
    }
    bundle = with_steps(checked(**evidence), Side.BASE, 1.0)
    bundle = with_steps(bundle, Side.HEAD, head_s)

    assert bool(leftover_doubt(pairs_of_workloads(bundle)["m:f"])) is is_doubted


@pytest.mark.parametrize("seconds", [(math.inf, -math.inf), (math.nan,), (0.0,)])
@pytest.mark.parametrize("side", Side)
def test_times_that_are_no_sizes_show_no_leftover_work_and_are_not_measured(checked, side, seconds):
    bundle = checked(ratio=0.8, **paused(0.0, 0.04))
    runs = tuple(
        replace(run, samples={"step_time_p50": seconds}) if run.side is side else run
        for run in bundle.runs
    )
    unmeasured = replace(bundle, runs=runs)

    assert leftover_doubt(pairs_of_workloads(unmeasured)["m:f"]) == ""
    assert outcome(unmeasured) == "not measured"


@pytest.mark.parametrize(
    ("head_s", "head_steps", "cores", "is_doubted"),
    [
        # Short steps: turns take as long, and head has ten times as many steps in its own.
        (0.1, 10, 0.04, False),
        (0.1, 10, 0.06, True),
        # Long ones: a turn is a step, and 0.03 cores in base's second are a third of head's.
        (0.1, 1, 0.03, True),
        # A slower head pauses less than it works.
        (2.0, 1, 0.08, False),
        (2.0, 1, 0.12, True),
    ],
)
def test_in_older_bundles_pauses_are_as_long_as_the_other_sides_steps(
    checked, head_s, head_steps, cores, is_doubted
):
    bundle = with_steps(checked(**paused(0.0, cores)), Side.BASE, 1.0)
    bundle = with_steps(bundle, Side.HEAD, head_s, number=head_steps)

    assert bool(leftover_doubt(pairs_of_workloads(bundle)["m:f"])) is is_doubted


def test_steps_per_reading_count_too(checked):
    bundle = with_steps(checked(**paused(0.0, 0.03)), Side.BASE, 1e-5)
    bundle = with_steps(bundle, Side.HEAD, 1e-6)
    short = StepEvidence(paused_cores=0.03, steps_per_reading=10)
    runs = tuple(
        replace(run, evidence=short) if run.side is Side.HEAD else run for run in bundle.runs
    )

    assert leftover_doubt(pairs_of_workloads(bundle)["m:f"])
    assert not leftover_doubt(pairs_of_workloads(replace(bundle, runs=runs))["m:f"])


@pytest.mark.parametrize(
    ("ratio", "words"), [(0.8, "it is 20 % faster, and it has work for"), (1.0, "")]
)
def test_a_step_that_computes_afterwards_is_called_faster_only_if_it_is(checked, ratio, words):
    (failure,) = judgement_of(checked(ratio=ratio, **paused(0.0, 0.5))).failures

    assert failure.detail.startswith(
        f"cannot tell whether head still does the work: {words or 'it has work for'} 0.5 cores"
    )


def test_a_slower_step_that_computes_afterwards_too_is_regressed(checked):
    assert outcome(checked(ratio=1.5, **paused(0.0, 0.5))) == "regressed"


def with_threads(bundle, side, *, helpers_s, left_s, step_s=0.001, steps=30, turns=4, asleep_s=0.0):
    """Return a bundle whose runs of a side have threads that work beside and after a turn."""
    return replace(
        bundle,
        runs=tuple(
            replace(
                run,
                samples={
                    "step_time_p50": (step_s,) * steps * turns,
                    "cpu_time": (step_s,) * turns,
                },
                turns=(steps,) * turns,
                core_times=CoreTimes(
                    elapsed_s=(step_s - helpers_s + asleep_s,) * turns,
                    queued_s=(0.0,) * turns,
                    helpers_s=(helpers_s,) * turns,
                ),
                evidence=StepEvidence(paused_cores=0.001, leftover_s=left_s / steps),
            )
            if run.side is side
            else run
            for run in bundle.runs
        ),
    )


@pytest.mark.parametrize(
    ("base", "head", "is_doubted"),
    [
        pytest.param(
            (0.0, 0.0), (2e-4, 1e-4), True, id="a fifth of each step, of the last one later"
        ),
        pytest.param((0.0, 0.0), (4.9e-5, 4.9e-4), False, id="less than a twentieth"),
        pytest.param((0.0, 0.0), (5.1e-5, 4.9e-4), True, id="a twentieth"),
        pytest.param((0.0, 0.0), (4e-4, 9e-5), False, id="threads that a step waits for"),
        pytest.param((0.0, 0.0), (6e-5, 4.9e-5), False, id="a pool that goes back to sleep"),
        pytest.param((2e-4, 1e-4), (2e-4, 1e-4), False, id="as much as base"),
        pytest.param((2e-4, 1e-4), (4e-4, 2e-4), True, id="more than base"),
        pytest.param((0.0, 1e-4), (2e-4, 1e-4), False, id="later as much as base"),
    ],
)
def test_what_is_left_of_short_steps_shows_at_the_end_of_their_turns(
    checked, base, head, is_doubted
):
    bundle = checked()
    for side, (helpers_s, left_s) in zip(Side, (base, head), strict=True):
        bundle = with_threads(bundle, side, helpers_s=helpers_s, left_s=left_s)

    doubt = leftover_doubt(pairs_of_workloads(bundle)["m:f"])

    assert bool(doubt) is is_doubted
    assert not doubt or re.fullmatch(
        r"other threads do [\d.]+ % of its work, and go on after the last step of a turn: its "
        "steps may return before they are done",
        doubt,
    )


@pytest.mark.parametrize(
    ("base_s", "head_s", "asleep_s", "is_noted"),
    [
        pytest.param(0.0, 2.5e-4, 0.0, True, id="a quarter, without any wait"),
        pytest.param(0.0, 2.5e-4, 1e-5, False, id="a quarter, which is waited for"),
        pytest.param(0.0, 4e-5, 0.0, False, id="hardly any"),
        pytest.param(2.5e-4, 2.6e-4, 0.0, False, id="as on base"),
    ],
)
def test_threads_whose_work_no_step_waits_for_are_a_note(
    checked, base_s, head_s, asleep_s, is_noted
):
    bundle = with_threads(checked(), Side.BASE, helpers_s=base_s, left_s=0.0)
    bundle = with_threads(bundle, Side.HEAD, helpers_s=head_s, left_s=0.0, asleep_s=asleep_s)

    note = unawaited_work(pairs_of_workloads(bundle)["m:f"])

    assert note == is_noted * "other threads do 25 % of its work, and its steps never wait"


@pytest.mark.parametrize(
    "change",
    [{"core_times": CoreTimes()}, {"turns": ()}, {"evidence": StepEvidence()}],
)
def test_without_readings_short_steps_leave_nothing(checked, change):
    bundle = with_threads(checked(), Side.BASE, helpers_s=0.0, left_s=0.0)
    bundle = with_threads(bundle, Side.HEAD, helpers_s=2e-4, left_s=1e-4)
    runs = tuple(replace(run, **change) for run in bundle.runs)

    assert leftover_doubt(pairs_of_workloads(replace(bundle, runs=runs))["m:f"]) == ""


EXAMPLE_RUN = Run(
    workload="m:f",
    side=Side.BASE,
    pair=0,
    position=0,
    process=0,
    started_at="2026-11-20T12:00:00+00:00",
    samples={"step_time_p50": (1.0,)},
)
SLOW = (1.0,) * 6
WARM = {"warmups_s": (9.0, 1.0, 1.0, 1.0)}
STEADY = (1.0,) * 20


def sides_of(base, head, *, base_warmups_s=(), **facts):
    """Return two pairs whose sides took these step times, with more facts of head's runs."""
    sides = {
        Side.BASE: replace(EXAMPLE_RUN, samples={"step_time_p50": base}, warmups_s=base_warmups_s),
        Side.HEAD: replace(EXAMPLE_RUN, samples={"step_time_p50": head}, **facts),
    }
    return {0: sides, 1: sides}


@pytest.mark.parametrize(
    ("base", "head", "facts", "doubt"),
    [
        pytest.param(STEADY, STEADY, WARM, "", id="steady"),
        pytest.param(STEADY, (0.09,) * 20, WARM, "its steps take 0.09 times", id="ended"),
        pytest.param(
            (0.09,) * 20, (0.09,) * 20, WARM, "its steps take 0.09 times", id="base's unknown"
        ),
        pytest.param(STEADY, (0.11,) * 20, WARM, "", id="nine times faster"),
        pytest.param(STEADY, (0.05,) * 20, {}, "", id="faster from the first step on"),
        pytest.param(STEADY, (0.05,) * 20, {"warmups_s": (9.0, 9.0, 9.0)}, "", id="compiling"),
        pytest.param(STEADY, (1.0, 0.01) * 10, {}, "50 % of its steps take less", id="skipped"),
        pytest.param((1.0, 1.0, 0.01) * 10, (1.0, 0.01, 1.0) * 10, {}, "", id="as on base"),
        pytest.param(STEADY, (*(1.0,) * 39, 0.01), {}, "", id="hardly any"),
        pytest.param((1.0,) * 10, (*(1.0,) * 9, 0.01), {}, "", id="two of twenty by chance"),
        pytest.param(STEADY, (0.01,) * 20, {}, "", id="all"),
        pytest.param(
            STEADY,
            (*(1.0,) * 5, *(0.8,) * 10, *(0.7,) * 5),
            {},
            "its last steps are 30 % shorter than its first ones",
            id="shrinking",
        ),
        pytest.param((1.0,) * 15, (*(1.0,) * 8, *(0.7,) * 7), {}, "", id="too few"),
        pytest.param(
            (*(2.0,) * 10, *(1.0,) * 10), (*(2.0,) * 10, *(1.0,) * 10), {}, "", id="both shrink"
        ),
    ],
)
def test_steps_that_do_less_than_others_are_doubted(base, head, facts, doubt):
    reason = undone_doubt(sides_of(base, head, **facts))

    assert reason.startswith(doubt)
    assert bool(reason) is bool(doubt)


def test_a_single_pair_does_not_show_that_an_input_shrinks():
    first_pair = {0: sides_of(STEADY, (*(1.0,) * 5, *(0.7,) * 15))[0]}

    assert not undone_doubt(first_pair)


@pytest.mark.parametrize(
    ("base_s", "base_warmups_s", "head_s", "is_doubted", "is_noted"),
    [
        pytest.param(0.09, SLOW, 0.09, False, True, id="both alike"),
        pytest.param(0.09, SLOW, 0.0089, True, True, id="a tenth of base's"),
        pytest.param(0.11, SLOW, 0.09, False, False, id="hardly less than base"),
        pytest.param(0.5, SLOW, 0.049, True, False, id="base does its work"),
        pytest.param(2.0, SLOW, 0.09, True, False, id="base becomes slower"),
        pytest.param(0.09, SLOW[:3], 0.09, True, False, id="few warm-ups of base"),
        pytest.param(0.09, SLOW, 0.11, False, False, id="only base"),
    ],
)
def test_steps_that_are_as_short_beside_their_warmups_as_bases_are_doubted_on_both_sides(
    base_s, base_warmups_s, head_s, is_doubted, is_noted
):
    times = ((base_s,) * 20, (head_s,) * 20)
    pairs = sides_of(*times, base_warmups_s=base_warmups_s, warmups_s=SLOW)

    assert bool(undone_doubt(pairs)) is is_doubted
    assert bool(undone_on_both_sides(pairs)) is is_noted


GROUPED = StepEvidence(steps_per_reading=8)
SKIPPING = (9.0, 1.0, 0.01, 0.01, 1.0, 0.01)


@pytest.mark.parametrize(
    ("warmups_s", "evidence", "is_doubted"),
    [
        pytest.param(SKIPPING, GROUPED, True, id="averaged"),
        pytest.param(SKIPPING, StepEvidence(), False, id="each step is read"),
        pytest.param(SKIPPING[:4], GROUPED, False, id="too few"),
        pytest.param((9.0, 1.0, 1.0, 0.01, 0.01, 0.01), GROUPED, False, id="slow at first"),
        pytest.param((9.0, 1.0, 1.0, 1.0, 1.0, 1.0), GROUPED, False, id="none is short"),
    ],
)
def test_steps_whose_readings_are_averages_are_skipped_in_warmups(warmups_s, evidence, is_doubted):
    facts = {"warmups_s": warmups_s, "evidence": evidence}
    pairs = sides_of(STEADY, (0.35,) * 20, **facts)
    base = replace(pairs[0][Side.BASE], warmups_s=(9.0,) + (1.0,) * 5)

    reason = undone_doubt({number: {**sides, Side.BASE: base} for number, sides in pairs.items()})

    assert reason.startswith("67 % of its steps take less than a tenth" if is_doubted else "")
    assert bool(reason) is is_doubted


@pytest.mark.parametrize(("steady_pairs", "is_doubted"), [(2, True), (3, False)])
def test_steps_are_skipped_in_half_of_the_pairs(steady_pairs, is_doubted):
    steady = {2 + number: sides_of(STEADY, STEADY)[0] for number in range(steady_pairs)}

    assert bool(undone_doubt(sides_of(STEADY, (1.0, 0.01) * 10) | steady)) is is_doubted


@pytest.mark.parametrize(
    ("last_steps", "is_doubted"),
    [((0.78, 0.88), False), ((0.78, 0.81), True), ((0.6, 0.92), False), ((), False)],
)
def test_steps_shrink_in_every_pair(last_steps, is_doubted):
    pairs = {
        number: sides_of(STEADY, (*(1.0,) * 10, *(last,) * 10))[0]
        for number, last in enumerate(last_steps)
    }

    assert bool(undone_doubt(pairs)) is is_doubted


def test_shrinking_is_read_from_cpu_time_where_each_turn_has_one():
    wall_s = (*(1.0,) * 10, *(0.5,) * 10)
    samples = {"step_time_p50": wall_s, "cpu_time": STEADY}
    head = replace(EXAMPLE_RUN, side=Side.HEAD, samples=samples)
    base = sides_of(STEADY, STEADY)[0][Side.BASE]

    assert undone_doubt({0: {Side.BASE: base, Side.HEAD: head}}) == ""
    assert undone_doubt(sides_of(STEADY, wall_s)) != ""


def test_a_check_of_the_first_result_does_not_settle_what_later_steps_do(checked):
    agreed = {side: StepEvidence(answer={"loss": 1.0}) for side in ("base", "head")}
    bundle = checked(ratio=0.8, **agreed)
    times = {Side.BASE: STEADY, Side.HEAD: (1.0, 0.01) * 10}
    skipped = replace(
        bundle,
        runs=tuple(replace(run, samples={"step_time_p50": times[run.side]}) for run in bundle.runs),
    )

    assert outcome(bundle) == "improved"
    assert outcome(skipped) == "not measured"
