import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.timeline.bus_bandwidth import (
    CollectiveOperation,
    bus_bandwidth,
    bus_factor,
)

RANKS = st.integers(min_value=1, max_value=4096)
SECONDS = st.floats(min_value=1e-7, max_value=1e3)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        (CollectiveOperation.ALL_REDUCE, 2 * 7 / 8),
        (CollectiveOperation.ALL_GATHER, 7 / 8),
        (CollectiveOperation.REDUCE_SCATTER, 7 / 8),
        (CollectiveOperation.ALL_TO_ALL, 7 / 8),
        (CollectiveOperation.GATHER, 7 / 8),
        (CollectiveOperation.SCATTER, 7 / 8),
        (CollectiveOperation.BROADCAST, 1),
        (CollectiveOperation.REDUCE, 1),
        (CollectiveOperation.SEND_RECEIVE, 1),
    ],
)
def test_each_collective_has_its_factor(collective, factor):
    assert bus_factor(collective, 8) == factor


def test_the_bandwidth_of_a_known_all_reduce():
    # 8 GiB among eight ranks in 63,896 us: nccl-tests prints 134.44 and 235.26 GB/s.
    found_bus_bandwidth = bus_bandwidth(CollectiveOperation.ALL_REDUCE, 8589934592, 63896e-6, 8)

    assert found_bus_bandwidth == pytest.approx(235.26e9, rel=1e-4)


@given(st.sampled_from(CollectiveOperation), st.integers(0, 2**40), SECONDS, RANKS)
def test_twice_the_time_is_half_the_bandwidth(collective, size, seconds, ranks):
    once = bus_bandwidth(collective, size, seconds, ranks)

    assert bus_bandwidth(collective, size, 2 * seconds, ranks) == pytest.approx(once / 2)


@given(st.integers(1, 2**40), SECONDS, RANKS)
def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather(size, seconds, ranks):
    parts = (CollectiveOperation.REDUCE_SCATTER, CollectiveOperation.ALL_GATHER)

    assert bus_bandwidth(CollectiveOperation.ALL_REDUCE, size, seconds, ranks) == pytest.approx(
        sum(bus_bandwidth(part, size, seconds, ranks) for part in parts)
    )


@pytest.mark.parametrize(("size", "seconds", "ranks"), [(1, 0, 8), (-1, 1, 8), (1, 1, 0)])
def test_what_cannot_be_is_refused(size, seconds, ranks):
    with pytest.raises(ValueError, match="collective"):
        bus_bandwidth(CollectiveOperation.BROADCAST, size, seconds, ranks)
