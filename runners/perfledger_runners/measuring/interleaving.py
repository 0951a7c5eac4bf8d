"""Interleaves two sides that stop at the same points."""

from collections import Counter
from collections.abc import Iterator, Sequence

from perfledger_runners.children.child_process import ChildContinuation
from perfledger_runners.children.protocol_parser import ReadyMessage, TurnMessage

STOP_BEFORE = "before {}"
STOP_AT_END = STOP_BEFORE.format("")


def stop_point(message: object) -> str | None:
    """Return the name of the stop where a child waits after this message, None if it continues."""
    match message:
        case TurnMessage():
            return message.workload
        case ReadyMessage() | ChildContinuation():
            return STOP_BEFORE.format(message.workload)
        case _:
            return None


def run_interleaved(first: Iterator[str], second: Iterator[str], workloads: Sequence[str]) -> None:
    """Run two sides to their ends, interleaved wherever they wait for a turn.

    Each yields its stops as `stop_point` names them: before a workload's set-up, at each of its
    turns, and before its end. The side that is behind continues until both are at the same stop;
    then the turns are first, second, second, first. Sides without stops run one after the other.
    """
    stops = (
        *(stop for name in workloads for stop in (STOP_BEFORE.format(name), name)),
        STOP_AT_END,
    )
    places = {name: index for index, name in enumerate(stops)}
    sides = (first, second)
    at = [places.get(next(side, ""), len(places)) for side in sides]
    turns: Counter[int] = Counter()  # by the stop
    while min(at) < len(places):
        if at[0] == at[1]:
            mine = (0, 1, 1, 0)[turns[at[0]] % 4]
            turns[at[0]] += 1
        else:
            mine = at.index(min(at))
        at[mine] = places.get(next(sides[mine], ""), len(places))
