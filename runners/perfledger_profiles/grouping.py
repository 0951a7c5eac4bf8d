"""Turn many small changes into fewer: those of one other input, one ratio of calls, one place.

An optimizer's forty operations are one thing to the author of a change, and so is a larger batch.
Every grouping is a partition, so that the changes' deltas go on summing to the step's.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from perfledger.profile import Operation
from perfledger_profiles.change import Change, Stage
from perfledger_profiles.inputs import input_change
from perfledger_profiles.names import normal_name, normal_path

# A place that holds more of the step than this says no more than that the step changed.
MAX_PLACE_SHARE = 0.8

_KeyOf = Callable[[Change], Hashable]


def coarser(changes: Sequence[Change], *, step_seconds: float) -> Iterator[tuple[Change, ...]]:
    """Return the changes as they are, then grouped in one way after the other.

    By what became of their inputs, by how many times as often they are called, by name, by place.
    `step_seconds` is the longer step's: a place that is nearly all of it says nothing.
    """
    yield tuple(changes)
    for key in (_other_input, _other_count):
        yield _grouped(changes, key, limit_s=float("inf"), is_place=False)
    for key in (_name, _place, _outermost_place):
        yield _grouped(changes, key, limit_s=MAX_PLACE_SHARE * step_seconds)


def longest(operations: Sequence[Operation]) -> Operation:
    """Return the operation that takes most of the time."""
    return max(operations, key=lambda operation: operation.seconds)


def name_of(operations: Sequence[Operation]) -> str:
    """Return the name that took the longest, and how many others there are."""
    seconds: dict[str, float] = {}
    for operation in operations:
        seconds[operation.name] = seconds.get(operation.name, 0.0) + operation.seconds
    longest_name = max(seconds, key=lambda name: seconds[name])
    return longest_name if len(seconds) == 1 else f"{longest_name} (+{len(seconds) - 1})"


def _grouped(
    changes: Sequence[Change], key: _KeyOf, *, limit_s: float, is_place: bool = True
) -> tuple[Change, ...]:
    """Put together what has one key; what that is not a place of is named after its longest."""
    groups: defaultdict[Hashable, list[Change]] = defaultdict(list)
    for number, change in enumerate(changes):
        found = key(change)
        groups[number if found is None else found].append(change)
    merged: list[Change] = []
    for label, group in groups.items():
        one = _together(group, str(label), is_place=is_place) if len(group) > 1 else group[0]
        is_all = max(one.base_seconds, one.head_seconds) > limit_s
        merged += group if is_all else [one]
    return tuple(merged)


def _together(group: Sequence[Change], common: str, *, is_place: bool) -> Change:
    stages = {change.stage for change in group}
    base = tuple(one for change in group for one in change.base)
    head = tuple(one for change in group for one in change.head)
    return Change(
        base=base,
        head=head,
        stage=stages.pop() if len(stages) == 1 else Stage.NAME,
        between_seconds=sum(change.between_seconds for change in group),
        label=common if is_place else f"{name_of(head or base)}: {common}",
    )


def _other_input(change: Change) -> Hashable:
    """Return the type or size that became another one: a type or a batch runs through a program."""
    found = input_change(change) if change.base and change.head else None
    return found.difference or None if found is not None else None


def _other_count(change: Change) -> Hashable:
    """Return how many times as often it is called: so are all the operations of one layer."""
    if not (change.base_count > 0 and change.head_count > 0):
        return None
    ratio = f"{change.head_count / change.base_count:.3g}"
    return None if ratio == "1" else f"{ratio} times as many calls"


def _name(change: Change) -> Hashable:
    return normal_name(_main(change).name)


def _place(change: Change) -> Hashable:
    """Return the path of the operation around it; one at the top is its own place."""
    main = _main(change)
    return normal_path(main.path) or normal_path(main.name)


def _outermost_place(change: Change) -> Hashable:
    return str(_place(change)).partition("/")[0]


def _main(change: Change) -> Operation:
    return longest(change.base + change.head)
