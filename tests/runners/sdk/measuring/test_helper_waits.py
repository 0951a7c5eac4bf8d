"""How long steps may have waited for helpers that waited for a core."""

import pytest

from perfledger.measuring.helper_waits import HelperTimes, HelperWatch
from perfledger.meters.child_processes import ThreadTime

EARLY = {1: ThreadTime(1.0, 2.0), 2: ThreadTime(5.0, 0.0)}
LATE = {1: ThreadTime(1.5, 2.25), 2: ThreadTime(5.0, 1.0), 3: ThreadTime(0.25, 0.5)}


@pytest.mark.parametrize(
    ("ran_s", "waited_s", "used_s", "expected"),
    [
        pytest.param(1.0, 0.5, 1.0, 0.5, id="all helpers are known"),
        pytest.param(1.0, 9.0, 1.0, 2.0, id="no longer than the thread was asleep"),
        pytest.param(0.95, 0.5, 1.0, 0.5, id="hardly anything unseen"),
        pytest.param(0.5, 0.5, 1.0, 2.0, id="helpers that ended"),
        pytest.param(0.0, 0.0, 0.015, 0.0, id="the clocks' own noise"),
        pytest.param(0.0, 0.0, 0.03, 2.0, id="a short helper that ended"),
        pytest.param(3.0, 0.5, 1.0, 0.5, id="helpers that ran after the block"),
    ],
)
def test_a_step_waits_at_most_as_long_as_it_sleeps_and_its_helpers_wait(
    ran_s, waited_s, used_s, expected
):
    helpers = HelperTimes(ran_s, waited_s)

    assert helpers.step_wait_s(used_s=used_s, asleep_s=2.0, elapsed_s=10.0) == expected


def test_a_pauses_readings_are_those_of_the_blocks_beside_it():
    watch = HelperWatch(lambda: EARLY)
    watch.begin_block()
    watch.end_block(LATE)
    watch.end_pause(LATE)
    watch.begin_block()
    watch.end_block(LATE)

    assert watch.blocks() == (HelperTimes(0.75, 1.75), HelperTimes(0.0, 0.0))


def test_blocks_without_pauses_are_read_at_both_ends():
    readings = iter([EARLY, LATE, EARLY, LATE])
    watch = HelperWatch(lambda: next(readings))
    watch.begin_block()
    watch.begin_block()

    assert watch.blocks() == (HelperTimes(0.75, 1.75),) * 2


def test_what_nobody_read_is_unknown():
    watch = HelperWatch(lambda: EARLY)
    watch.begin_block()
    watch.end_block(None)
    watch.end_pause(None)
    watch.begin_block()
    watch.end_block(LATE)
    watch.end_pause(EARLY)
    watch.begin_block()

    assert watch.blocks() == (None, None, HelperTimes(0.0, 0.0))


def test_a_pause_before_any_block_ends_none():
    watch = HelperWatch(lambda: LATE)
    watch.end_block(EARLY)
    watch.end_pause(EARLY)
    watch.begin_block()

    assert watch.blocks() == (HelperTimes(0.75, 1.75),)
