from dataclasses import replace

from perfledger_baselines.judging.gain_doubts.workload_pairs import (
    complete_pairs,
    growth,
    pairs_of_workloads,
    step_times,
)


def test_new_and_skipped_workloads_have_no_pairs(build):
    steps = {"step_time_p50": [(1.0, 2.0)]}
    bundle = build.bundle({"m:f": steps, "m:new": steps, "m:skipped": steps})
    bundle = replace(bundle, new_workloads=("m:new",), skipped={"m:skipped": "the same code"})

    assert list(pairs_of_workloads(bundle)) == ["m:f"]


def test_a_pair_is_complete_with_both_sides(build):
    (pair, other) = build.pairs(step_time_p50=[(1.0, 2.0), (3.0, 4.0)])
    runs = {0: {run.side: run for run in pair}, 1: {other[0].side: other[0]}}

    assert complete_pairs(runs) == [pair]
    assert [step_times(run) for run in pair] == [(1.0,), (2.0,)]


def test_a_growth_needs_both_sides():
    assert growth(1.0, 3.0) == 2.0
    assert growth(None, 3.0) is None
    assert growth(1.0, None) is None
