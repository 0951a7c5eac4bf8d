import math
from dataclasses import replace

import pytest

from perfledger.metrics import (
    CPU_ACTIVE,
    CPU_TIME,
    FLOPS_PER_STEP,
    METRICS,
    PEAK_MEMORY,
    STEP_TIME,
    Metric,
    MetricKind,
    MetricScale,
    WorseDirection,
)
from perfledger.records import Side
from perfledger_baselines.estimation.pairing import (
    Pair,
    PairedTest,
    chosen_metrics,
    estimate_pairs,
    judged_metrics,
    match_runs,
    tests_of as find_tests,
)

RECOMPILES = Metric(
    name="recompiles",
    unit="1",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.MEMORY,
    scale=MetricScale.EXACT,
)


def paired(base, head, metric=STEP_TIME):
    return PairedTest(
        workload="m:f",
        metric=metric,
        base=tuple(base),
        head=tuple(head),
        numbers=tuple(range(1, len(base) + 1)),
    )


def test_runs_are_matched_by_workload_and_number(build):
    pairs = build.pairs("m:f", step_time_p50=[(1.0, 2.0), (3.0, 4.0)])
    others = build.pairs("m:g", step_time_p50=[(5.0, 6.0)])
    runs = [run for pair in [*pairs, *others] for run in pair]

    assert match_runs(reversed(runs)) == {"m:f": tuple(pairs), "m:g": tuple(others)}


def test_a_pair_with_a_side_missing_does_not_count(build):
    (base, head), (lonely, _) = build.pairs(step_time_p50=[(1.0, 2.0), (3.0, 4.0)])

    assert match_runs([base, head, lonely]) == {"m:f": ((base, head),)}


def test_of_a_repeated_run_the_latest_process_stands(build):
    base, head = build.pairs(step_time_p50=[(1.0, 2.0)])[0]
    again = replace(head, process=9, samples={"step_time_p50": (7.0,)})

    assert match_runs([again, base, head]) == {"m:f": ((base, again),)}


def test_every_run_is_reduced_to_one_location_a_metric(build):
    pairs = build.pairs(
        step_time_p50=[((1.0, 1.0), 2.0), (3.0, 4.0)], peak_memory=[(10.0, None), (30.0, 40.0)]
    )

    first, second = estimate_pairs(pairs, [STEP_TIME, PEAK_MEMORY])

    assert first.base == pytest.approx({"step_time_p50": 1.0, "peak_memory": 10.0})
    assert first.head == pytest.approx({"step_time_p50": 2.0})
    assert second.head == pytest.approx({"step_time_p50": 4.0, "peak_memory": 40.0})


def read(step_time=1.0, peak_memory=None):
    values = {"step_time_p50": step_time, "peak_memory": peak_memory}
    return {name: value for name, value in values.items() if value is not None}


def test_there_is_a_test_for_each_metric_that_some_pair_read_on_both_sides():
    pairs = [Pair(read(), read(peak_memory=5.0)), Pair(read(peak_memory=4.0), read(peak_memory=5))]

    time, memory = find_tests("m:f", pairs, judged_metrics(METRICS.values()))

    assert time == paired([1.0, 1.0], [1.0, 1.0])
    assert memory == paired([None, 4.0], [5.0, 5], PEAK_MEMORY)


@pytest.mark.parametrize(
    "pairs",
    [
        [Pair(read(), read(peak_memory=5.0))],
        [Pair(read(peak_memory=5.0), read())],
        [Pair(read(peak_memory=5.0), read()), Pair(read(), read(peak_memory=5.0))],
    ],
)
def test_a_metric_that_no_pair_read_on_both_sides_has_no_test(pairs):
    tests = find_tests("m:f", pairs, judged_metrics(METRICS.values()))

    assert [test.metric for test in tests] == [STEP_TIME]


def test_a_reading_of_zero_is_no_missing_one():
    (_, memory) = find_tests(
        "m:f",
        [Pair(read(peak_memory=0.0), read(peak_memory=5.0))],
        [
            STEP_TIME,
            PEAK_MEMORY,
        ],
    )

    assert memory.flaw == "peak_memory reads zero on base: there is no ratio to zero"


def test_step_time_that_only_one_side_read_is_a_flawed_test():
    (test,) = find_tests("m:f", [Pair(read(), read(None))], [STEP_TIME, PEAK_MEMORY])

    assert test.flaw == "step_time_p50 was not read on head"


def test_step_time_has_a_test_even_if_nobody_read_it():
    (test,) = find_tests("m:f", [], [STEP_TIME, PEAK_MEMORY])

    assert test == paired([], [])


def test_what_only_explains_is_not_judged():
    judged = judged_metrics(METRICS.values())

    assert set(METRICS.values()) - set(judged) == {FLOPS_PER_STEP, CPU_ACTIVE}


def names_of(metrics):
    return [metric.name for metric in metrics]


@pytest.mark.parametrize(
    ("named", "cpu_times", "judged"),
    [
        ((), (None, None), [STEP_TIME, PEAK_MEMORY, CPU_TIME]),
        ((CPU_TIME, PEAK_MEMORY), (1.0, 1.0), [PEAK_MEMORY, CPU_TIME]),
        ((CPU_TIME, PEAK_MEMORY), (1.0, None), [STEP_TIME, PEAK_MEMORY, CPU_TIME]),
        ((CPU_TIME, PEAK_MEMORY), (None, None), [STEP_TIME, PEAK_MEMORY, CPU_TIME]),
        ((PEAK_MEMORY,), (None, None), [PEAK_MEMORY]),
    ],
)
def test_the_step_time_stands_in_for_a_cpu_time_that_was_not_read(named, cpu_times, judged):
    base, head = ({CPU_TIME.name: each} if each else {} for each in cpu_times)

    chosen = chosen_metrics([STEP_TIME, PEAK_MEMORY, CPU_TIME], names_of(named), [Pair(base, head)])

    assert names_of(chosen) == names_of(judged)


def test_nothing_stands_in_for_a_cpu_time_before_the_first_pair():
    chosen = chosen_metrics([STEP_TIME, CPU_TIME], [CPU_TIME.name], [])

    assert names_of(chosen) == [CPU_TIME.name]


def test_step_time_is_judged_even_if_the_bundle_does_not_list_it():
    assert judged_metrics([PEAK_MEMORY]) == (STEP_TIME, PEAK_MEMORY)


@pytest.mark.parametrize(
    ("base", "head", "flaw"),
    [
        ([], [], "no pair has runs of both sides"),
        ([None, None], [1.0, 1.0], "step_time_p50 was not read on base"),
        ([1.0], [None], "step_time_p50 was not read on head"),
        ([0.0, 1.0], [1.0, 1.0], "step_time_p50 reads zero on base: there is no ratio to zero"),
        ([1.0], [0.0], "step_time_p50 reads zero on head: there is no ratio to zero"),
        ([1.0], [math.nan], "step_time_p50 on head has a reading that is negative or not a number"),
        ([-1.0], [1.0], "step_time_p50 on base has a reading that is negative or not a number"),
        ([1.0, None], [None, 1.0], "step_time_p50 was never read on both sides of a pair"),
        ([1.0, None], [1.0, 1.0], ""),
    ],
)
def test_what_has_no_ratio_is_flawed(base, head, flaw):
    test = paired(base, head)

    assert test.flaw == flaw
    assert test.is_noisy is (not flaw)


def test_a_pair_needs_the_metric_on_both_sides():
    assert paired([1.0, None, 3.0], [2.0, 2.0, None]).pairs == ((1.0, 2.0),)


def test_a_count_that_every_process_agrees_on_is_exact():
    assert paired([3.0, 3.0], [4.0, 4.0], RECOMPILES).is_exact
    assert not paired([3.0, 3.0], [4.0, 4.0], RECOMPILES).is_noisy
    assert paired([3.0, None], [4.0, 4.0], RECOMPILES).is_exact


def test_a_count_that_varies_is_as_noisy_as_a_time():
    assert paired([3.0, 3.0], [4.0, 5.0], RECOMPILES).is_noisy


def test_a_noisy_metric_is_never_exact():
    assert not paired([3.0, 3.0], [4.0, 4.0]).is_exact


def test_sides_are_named_in_the_order_of_a_pair(build):
    base, head = build.pairs(step_time_p50=[(1.0, 2.0)])[0]

    assert (base.side, head.side) == (Side.BASE, Side.HEAD)
