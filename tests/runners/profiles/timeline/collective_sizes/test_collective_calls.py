from typing import Any

import pytest

from perfledger.profile import CollectiveTimes
from perfledger_profiles.timeline import collective_sizes
from perfledger_profiles.timeline.call_labels import own_buckets
from perfledger_profiles.timeline.collective_sizes import collectives_of
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.step_windows import steps_of

GROUP = {"Collective name": "allreduce", "Group size": 8}


@pytest.fixture
def collectives(trace):
    """Return a function that reads the collectives of the steps."""

    def read():
        columns = trace.columns()
        steps = steps_of(columns, launches_of(columns))
        return collectives_of(columns, own_buckets(columns)[0], steps)

    return read


def near(*seconds: float) -> Any:
    return tuple(map(pytest.approx, seconds))


def add_collective(trace, start, duration, *, name="ncclDevKernel_AllReduce", **args):
    trace.add(name, start, duration, cat="kernel", thread=(0, 20), stream=20, **args)


def test_each_step_has_its_calls_in_order(trace, collectives):
    for number, begin in ((4, 0), (5, 1000), (6, 2000)):
        trace.step(number, begin, 1000)
        add_collective(trace, begin + 500, 20, **GROUP)
        add_collective(trace, begin + 100, 10 * number, **GROUP)

    assert collectives() == tuple(
        CollectiveTimes(
            name="ncclDevKernel_AllReduce",
            step=number,
            seconds=near(number * 10e-6, 20e-6),
            ranks=8,
        )
        for number in (5, 6)
    )


def test_calls_between_two_ranks_are_left_out(trace, collectives):
    trace.step(1, 0, 1000).step(2, 1000, 1000)
    add_collective(trace, 100, 10, name="ncclDevKernel_SendRecv", **{"Collective name": "send"})

    assert collectives() == ()


def test_other_kernels_are_no_collectives(trace, collectives):
    trace.step(1, 0, 1000)
    add_collective(trace, 100, 10, name="gemm")

    assert collectives() == ()


def test_only_the_first_of_very_many_are_kept(trace, collectives, monkeypatch):
    monkeypatch.setattr(collective_sizes, "MAX_COLLECTIVE_CALLS", 2)
    trace.step(1, 0, 1000)
    for start in (300, 100, 200):
        add_collective(trace, start, start / 10, **GROUP)

    (collective_time,) = collectives()
    assert collective_time.seconds == (pytest.approx(10e-6), pytest.approx(20e-6))
