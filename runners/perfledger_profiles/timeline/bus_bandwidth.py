"""Computes the bus bandwidth of a collective by nccl-tests' formulas."""

from enum import StrEnum


class CollectiveOperation(StrEnum):
    """A collective operation, by the name of its program in nccl-tests."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "alltoall"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    SEND_RECEIVE = "sendrecv"


def bus_bandwidth(
    collective: CollectiveOperation, size_bytes: float, seconds: float, ranks: int
) -> float:
    """Return the bytes per second that each link carries, comparable across numbers of ranks.

    `size_bytes` is the size of the whole message: for an all-gather, a reduce-scatter and an
    all-to-all, the sum over the ranks. Source: nccl-tests, doc/PERFORMANCE.md (size / time x
    `bus_factor`). Raises ValueError for a time that is not positive and for a negative size.
    """
    if seconds <= 0 or size_bytes < 0:
        msg = f"a collective of {size_bytes} bytes cannot take {seconds} s: give a positive time"
        raise ValueError(msg)
    return size_bytes / seconds * bus_factor(collective, ranks)


def bus_factor(collective: CollectiveOperation, ranks: int) -> float:
    """Return how many times each link carries the message: 2(n-1)/n for an all-reduce.

    Raises ValueError if there is no rank.
    """
    if ranks < 1:
        msg = f"a collective has {ranks} ranks: give at least one"
        raise ValueError(msg)
    match collective:
        case CollectiveOperation.ALL_REDUCE:
            return 2 * (ranks - 1) / ranks
        case (
            CollectiveOperation.ALL_GATHER
            | CollectiveOperation.REDUCE_SCATTER
            | CollectiveOperation.ALL_TO_ALL
            | CollectiveOperation.GATHER
            | CollectiveOperation.SCATTER
        ):
            return (ranks - 1) / ranks
        case (
            CollectiveOperation.BROADCAST
            | CollectiveOperation.REDUCE
            | CollectiveOperation.SEND_RECEIVE
        ):
            return 1.0
