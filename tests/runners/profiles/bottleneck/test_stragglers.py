from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket, CollectiveTimes, DeviceStep, Operation, Profile
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import BottleneckDetail
from perfledger_profiles.bottleneck.communication_bound import communication_detail
from perfledger_profiles.bottleneck.stragglers import stragglers_of, with_late_device

STEP_S = 1000e-6
GROUP = {"Collective name": "allreduce", "Group size": 3}


@pytest.fixture
def rank(trace):
    """Return a function that makes the profile of one rank, from the trace of one step."""

    def make(number, *, compute, waits, **facts):
        mine = type(trace)()
        mine.header = {"distributedInfo": {"backend": "nccl", "rank": number, "world_size": 3}}
        mine.step(1, 0, 1000).add("gemm", 10, compute, cat="kernel", thread=(0, 7), stream=7)
        for place, wait in enumerate(waits):
            at = 500 + 100 * place
            lane = {"thread": (0, 20), "stream": 20}
            mine.add("ncclAllReduce", at - wait, wait, cat="kernel", **lane, **facts)
        return mine.read()

    return make


def test_the_rank_that_is_waited_for_is_named_with_how_often_and_how_long(rank):
    stragglers = stragglers_of(
        [
            rank(4, compute=100, waits=(60, 50)),
            rank(5, compute=150, waits=(10, 10)),
            rank(6, compute=100, waits=(50, 60)),
        ]
    )

    assert stragglers is not None
    slowest = stragglers.slowest
    assert (slowest.rank, slowest.last, stragglers.collectives) == (5, 2, 2)
    assert stragglers.compute_ratio == pytest.approx(1.5)
    assert stragglers.skew == pytest.approx(50 / 40)
    assert stragglers.is_uneven
    assert slowest.late_seconds == pytest.approx(90e-6)
    assert [one.wait_seconds for one in stragglers.ranks] == pytest.approx([90e-6, 0.0, 90e-6])


def test_each_collective_names_the_rank_that_is_waited_for_longest_in_it():
    """Rank 0 is last in the gathers, rank 1 in the reductions, which wait longer."""
    times: dict[str, list[tuple[float, ...]]] = {
        "reduce": [(90e-6, 50e-6), (10e-6, 20e-6)],
        "gather": [(5e-6,), (9e-6,)],
    }
    stragglers = stragglers_of(
        [
            replace(
                device(rank, compute=100e-6, waits=()),
                collectives=tuple(
                    CollectiveTimes(name=name, step=0, seconds=by_rank[rank])
                    for name, by_rank in times.items()
                ),
            )
            for rank in (0, 1)
        ]
    )

    assert stragglers is not None
    reduce, gather = stragglers.by_collective
    assert (reduce.name, reduce.rank, reduce.last, reduce.calls) == ("reduce", 1, 2, 2)
    assert reduce.late_seconds == pytest.approx(110e-6)
    assert (gather.name, gather.rank, gather.last, gather.calls) == ("gather", 0, 1, 1)
    assert gather.late_seconds == pytest.approx(4e-6)


def test_uneven_ranks_make_it_a_straggler_that_a_step_waits_for(rank):
    ranks = [rank(0, compute=100, waits=(60,)), rank(1, compute=150, waits=(10,))]

    stragglers = stragglers_of(ranks)

    assert stragglers is not None
    assert communication_detail(ranks[0]) is not BottleneckDetail.STRAGGLER
    told_rank = replace(ranks[0], readings=(*ranks[0].readings, *stragglers.readings()))
    assert communication_detail(told_rank) is BottleneckDetail.STRAGGLER


def test_collectives_that_not_all_ranks_ran_are_not_compared(rank):
    stragglers = stragglers_of(
        [rank(0, compute=100, waits=(60, 50)), rank(1, compute=105, waits=(60,))]
    )

    assert stragglers is not None
    assert (stragglers.collectives, stragglers.skew, stragglers.slowest.rank) == (0, None, 1)
    assert not stragglers.is_uneven
    assert [reading.name for reading in stragglers.readings()] == ["straggler_ratio"]


@pytest.mark.parametrize(
    "facts", [{"Collective name": "send"}, {"Collective name": "allreduce", "Group size": 2}]
)
def test_what_is_not_among_all_ranks_is_not_compared(rank, facts):
    ranks = [rank(n, compute=100, waits=(wait,), **facts) for n, wait in enumerate((9, 5, 5))]

    stragglers = stragglers_of(ranks)

    assert stragglers is not None
    assert stragglers.collectives == 0


def test_collectives_among_all_ranks_are_compared(rank):
    ranks = [rank(n, compute=100, waits=(wait,), **GROUP) for n, wait in enumerate((9, 5, 5))]

    stragglers = stragglers_of(ranks)

    assert stragglers is not None
    assert stragglers.collectives == 1


def test_ranks_that_no_file_states_are_numbered_by_their_order(rank):
    same = rank(3, compute=100, waits=(10,))

    stragglers = stragglers_of([same, same])

    assert stragglers is not None
    assert [one.rank for one in stragglers.ranks] == [0, 1]


def test_one_rank_has_no_straggler(rank):
    assert stragglers_of([rank(0, compute=100, waits=())]) is None


def test_a_rank_that_computes_nothing_is_not_compared(rank, trace):
    idle = trace.step(1, 0, 100).add("aten::mm", 0, 50, cat="cuda_runtime").read()

    assert stragglers_of([rank(0, compute=100, waits=()), idle]) is None


def loaded(seconds):
    """Return a made-up profile of one rank with a step of collectives of these durations."""
    compute = Operation(name="gemm", bucket=Bucket.COMPUTE, seconds=STEP_S, count=1.0)
    return Profile(
        workload="w",
        side=Side.HEAD,
        tool="made up",
        steps=1,
        step_seconds=STEP_S,
        operations=(compute,),
        collectives=(CollectiveTimes(name="all", step=1, seconds=tuple(seconds)),),
    )


DURATIONS = st.lists(st.floats(1e-6, 1.0), min_size=3, max_size=3)


@given(st.lists(DURATIONS, min_size=2, max_size=5))
def test_what_ranks_wait_is_what_they_are_waited_for(rows):
    stragglers = stragglers_of([loaded(row) for row in rows])

    assert stragglers is not None
    waited = sum(one.wait_seconds for one in stragglers.ranks) / (len(rows) - 1)
    assert sum(one.late_seconds for one in stragglers.ranks) == pytest.approx(waited)
    assert sum(one.last for one in stragglers.ranks) == stragglers.collectives == 3
    assert min(one.wait_seconds for one in stragglers.ranks) >= 0


def device(number, *, compute, waits):
    buckets = tuple(compute if bucket is Bucket.COMPUTE else 0.0 for bucket in Bucket)
    calls = (CollectiveTimes(name="all_gather", step=0, seconds=waits),) if waits else ()
    return DeviceStep(
        name=f"device {number}",
        rank=number,
        steps=1,
        step_seconds=1.0,
        buckets=buckets,
        collectives=calls,
    )


def test_the_device_of_one_recording_that_the_others_wait_for_is_named(make):
    waiting = device(0, compute=0.7, waits=(0.02, 0.01))
    late = device(1, compute=0.8, waits=(0.002, 0.001))

    profile = with_late_device(replace(make.profile(), devices=(waiting, late)))

    assert profile.notes == (
        "the other devices wait for device 1, about 27 ms a step: it joins 2 of 2 collectives last",
    )
    assert profile.reading("comm_start_skew") == pytest.approx(0.018 / 0.011)


def test_devices_that_join_together_or_share_no_collective_wait_for_none(make):
    alike = tuple(device(number, compute=0.7, waits=(0.02,)) for number in range(2))
    alone = tuple(device(number, compute=0.7 + number, waits=()) for number in range(2))

    for devices in (alike, alone, ()):
        profile = replace(make.profile(), devices=devices)

        assert with_late_device(profile).notes == profile.notes
