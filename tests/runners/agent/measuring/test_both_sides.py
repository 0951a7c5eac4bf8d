import math
from pathlib import Path

import pytest

from perfledger.records import Side
from perfledger_runners.children.harness import ChildLimits, Harness
from perfledger_runners.measuring.both_sides import on_both_sides


@pytest.fixture
def harness(tmp_path):
    return Harness(python=Path("python"), folder=tmp_path, environment={}, limits=ChildLimits())


def test_each_side_has_its_own_result(harness):
    assert on_both_sides(harness, lambda _, side: side.value) == {
        Side.BASE: "base",
        Side.HEAD: "head",
    }


@pytest.mark.parametrize("failing", Side)
def test_the_time_of_the_other_side_is_over_when_one_raises(harness, failing):
    seconds_left = []

    def task(hasty, side):
        if side is failing:
            raise KeyboardInterrupt
        while hasty.clock() < math.inf:
            pass
        seconds_left.append(hasty.seconds_left())

    with pytest.raises(KeyboardInterrupt):
        on_both_sides(harness, task)

    assert len(seconds_left) == 1
    assert harness.clock() < math.inf
