"""Turn the size and time of a collective into the bandwidth of the links that it ran over."""

from enum import StrEnum


class Collective(StrEnum):
    """An operation of several ranks, by the name of its program in nccl-tests."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "alltoall"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    SEND_RECEIVE = "sendrecv"


def bus_bandwidth(collective: Collective, size_bytes: float, seconds: float, ranks: int) -> float:
    """Return the bytes per second that each link had to carry, whatever the number of ranks.

    `size_bytes` is the whole message: of an all-gather, a reduce-scatter and an all-to-all the sum
    over the ranks. Source: nccl-tests, doc/PERFORMANCE.md (size / time x `bus_factor`). Raises
    ValueError for a time that is not positive and a negative size.
    """
    if seconds <= 0 or size_bytes < 0:
        msg = f"a collective of {size_bytes} bytes cannot take {seconds} s: give a positive time"
        raise ValueError(msg)
    return size_bytes / seconds * bus_factor(collective, ranks)


def bus_factor(collective: Collective, ranks: int) -> float:
    """Return how many times each link carries the message: an all-reduce 2(n-1)/n times.

    Raises ValueError for less than one rank.
    """
    if ranks < 1:
        msg = f"a collective has at least one rank, not {ranks}"
        raise ValueError(msg)
    match collective:
        case Collective.ALL_REDUCE:
            return 2 * (ranks - 1) / ranks
        case (
            Collective.ALL_GATHER
            | Collective.REDUCE_SCATTER
            | Collective.ALL_TO_ALL
            | Collective.GATHER
            | Collective.SCATTER
        ):
            return (ranks - 1) / ranks
        case Collective.BROADCAST | Collective.REDUCE | Collective.SEND_RECEIVE:
            return 1.0
