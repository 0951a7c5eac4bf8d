import pytest

from perfledger_profiles.stragglers import straggler_readings


@pytest.fixture
def rank(trace):
    """Return a function that makes the trace of one rank."""

    def make(number, *, compute, waits):
        mine = type(trace)()
        mine.header = {"distributedInfo": {"backend": "nccl", "rank": number, "world_size": 3}}
        mine.step(1, 0, 1000).add("gemm", 10, compute, cat="kernel", thread=(0, 7), stream=7)
        for place, wait in enumerate(waits):
            at = 500 + 100 * place
            mine.add("ncclAllReduce", at - wait, wait, cat="kernel", thread=(0, 20), stream=20)
        return mine.columns()

    return make


def test_the_slowest_rank_is_named_and_joins_last(rank):
    ranks = [
        rank(4, compute=100, waits=(60, 50)),
        rank(5, compute=150, waits=(10, 10)),
        rank(6, compute=100, waits=(50, 60)),
    ]

    ratio, skew = straggler_readings(ranks)

    assert (ratio.name, ratio.subject) == ("straggler_ratio", "rank 5")
    assert ratio.value == pytest.approx(1.5)
    assert (skew.name, skew.subject) == ("collective_skew", "rank 5")
    assert skew.value == pytest.approx(50 / 40)


def test_collectives_that_not_all_ranks_ran_are_not_compared(rank):
    ranks = [rank(0, compute=100, waits=(60, 50)), rank(1, compute=100, waits=(60,))]

    assert [reading.name for reading in straggler_readings(ranks)] == ["straggler_ratio"]


def test_one_rank_has_no_straggler(rank):
    assert straggler_readings([rank(0, compute=100, waits=())]) == ()


def test_a_rank_that_computes_nothing_is_not_compared(rank, trace):
    idle = trace.step(1, 0, 100).add("aten::mm", 0, 50).columns()

    assert straggler_readings([rank(0, compute=100, waits=()), idle]) == ()
