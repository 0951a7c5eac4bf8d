"""A pair whose two sides found the device in different clock states says nothing of the code."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Side
from perfledger_baselines.clocks import in_usual_clocks
from perfledger_baselines.judge import judge_bundle
from perfledger_baselines.sequential import State
from perfledger_baselines.verdict import Outcome

FULL, HELD = 1980.0, 1200.0


@pytest.fixture(scope="session")
def clocked(build):
    """Return a function that builds a check whose step times follow the clocks of its pairs."""

    def make(clocks, ratio=1.0):
        times = [
            (FULL / base, ratio * (1 + 0.001 * (pair % 3 - 1)) * FULL / head)
            for pair, (base, head) in enumerate(clocks)
        ]
        bundle = build.bundle({"m:f": {"step_time_p50": times}})
        runs = (
            replace(run, clock_mhz=clocks[run.pair][run.side is Side.HEAD]) for run in bundle.runs
        )
        return replace(bundle, runs=tuple(runs))

    return make


def test_pairs_made_in_different_clock_states_are_left_out_and_counted(clocked):
    clocks = [(FULL, HELD) if pair in {1, 4} else (FULL, FULL) for pair in range(10)]

    [verdict] = judge_bundle(clocked(clocks))

    assert verdict.outcome is Outcome.UNCHANGED
    assert verdict.estimate is not None
    assert verdict.estimate.pairs == 8
    assert verdict.reason.endswith("; 2 pairs left out, made at clocks that differ")


def test_a_state_that_both_sides_of_a_pair_share_is_no_reason(clocked):
    clocks = [(HELD, HELD) if pair in {1, 4} else (FULL, FULL) for pair in range(10)]

    [verdict] = judge_bundle(clocked(clocks))

    assert verdict.estimate is not None
    assert verdict.estimate.pairs == 10


def test_code_that_always_clocks_lower_is_slower(clocked):
    [verdict] = judge_bundle(clocked([(FULL, HELD)] * 6))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.estimate is not None
    assert verdict.estimate.pairs == 6


def test_of_two_pairs_or_unread_clocks_nobody_can_tell():
    assert in_usual_clocks([0.0, 0.5]) == (True, True)
    assert in_usual_clocks([None, 0.0, 0.5]) == (True, True, True)
    assert in_usual_clocks([None, 0.0, 0.5, 0.0]) == (True, True, False, True)


@given(st.lists(st.none() | st.floats(-3, 3), max_size=12))
def test_swapping_the_sides_leaves_the_same_pairs_out(differences):
    swapped = [None if each is None else -each for each in differences]

    assert in_usual_clocks(swapped) == in_usual_clocks(differences)


def test_clocks_go_with_a_check_that_is_resumed():
    from_state = State.from_json(
        '{"version": 2, "finished": [], "pairs": {"m:f": [[{"a": 1}, {"a": 2}, 0.5]]}}'
    )

    [pair] = from_state.pairs["m:f"]

    assert pair.clock_difference == 0.5
    assert State.from_json(from_state.to_json()) == from_state


def test_a_state_from_before_clocks_were_kept_is_read():
    state = State.from_json('{"version": 1, "finished": [], "pairs": {"m:f": [[{}, {"a": 2}]]}}')

    [pair] = state.pairs["m:f"]

    assert pair.clock_difference is None
    assert pair.head == {"a": 2.0}
