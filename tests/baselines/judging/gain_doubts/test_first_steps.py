from dataclasses import replace

import pytest

from perfledger.records import Side
from perfledger.step_evidence import StepEvidence
from perfledger_baselines.judging.gain_doubts.first_steps import kept_work, start_trade
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads

GAIN = 0.3


@pytest.fixture
def pairs_of(checked):
    """Return the pairs of a check whose processes begin in this way."""

    def make(*, starts_s=(None, None), firsts_s=(None, None), cpu_time=None):
        sides = [StepEvidence(start_cpu_s=each) for each in starts_s]
        bundle = checked(ratio=1 - GAIN, base=sides[0], head=sides[1])
        firsts = dict(zip(Side, firsts_s, strict=True))
        runs = tuple(
            replace(
                run,
                warmups_s=() if firsts[run.side] is None else (firsts[run.side], 1.0),
                samples=run.samples
                if cpu_time is None
                else {**run.samples, "cpu_time": (cpu_time,)},
            )
            for run in bundle.runs
        )
        return pairs_of_workloads(replace(bundle, runs=runs))["m:f"]

    return make


@pytest.mark.parametrize(
    ("base_s", "head_s", "is_trade"),
    [
        (1.0, 4.0, True),
        (1.0, 1.2, False),  # less than a step saves
        (100.0, 105.0, False),  # as starts of unchanged processes differ
        (4.0, 1.0, False),
        (None, 4.0, False),
        (1.0, None, False),
    ],
)
def test_a_start_that_costs_more_than_the_steps_save_is_a_trade(pairs_of, base_s, head_s, is_trade):
    words = start_trade(pairs_of(starts_s=(base_s, head_s)), GAIN)

    assert bool(words) is is_trade
    assert not is_trade or "3 s more CPU time, as much as 10 steps save" in words


def test_without_a_gain_or_pairs_there_is_no_trade(pairs_of):
    assert start_trade(pairs_of(starts_s=(1.0, 4.0)), 0.0) == ""
    assert start_trade({}, GAIN) == ""


@pytest.mark.parametrize(
    ("base_s", "head_s", "is_kept"),
    [
        (1.0, 1.0, True),
        (1.0, 0.95, True),
        (1.0, 0.7, False),  # all steps are faster
        (3.0, 3.0, False),  # the first step of base compiles
        (None, 1.0, False),
        (1.0, None, False),
    ],
)
def test_a_first_step_that_gains_nothing_may_keep_the_work_of_later_ones(
    pairs_of, base_s, head_s, is_kept
):
    assert bool(kept_work(pairs_of(firsts_s=(base_s, head_s)), GAIN)) is is_kept


@pytest.mark.parametrize(("head_s", "is_kept"), [(1.0, True), (0.7, False)])
def test_without_a_set_up_cpu_time_tells_it_beside_other_programs(pairs_of, head_s, is_kept):
    """The wall times of the first steps have waits for a core."""
    pairs = pairs_of(starts_s=(1.0, head_s), firsts_s=(4.0, 1.0), cpu_time=1.0)

    assert bool(kept_work(pairs, GAIN)) is is_kept


def test_small_gains_and_no_pairs_tell_nothing(pairs_of):
    assert kept_work(pairs_of(firsts_s=(1.0, 1.0)), 0.05) == ""
    assert kept_work({}, GAIN) == ""
