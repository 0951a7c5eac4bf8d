"""Transfers the shapes of operations from a window that recorded them to one that did not.

Recording shapes distorts a window's times, so the times come from windows without shapes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.timeline.breakdown import longest_operations

_OperationKey = tuple[str, Bucket, str]  # an operation's name, bucket and path


def with_shapes(timed: Profile, shaped: Profile) -> Profile:
    """Return the timed profile with the shaped one's shapes, and the readings that need them.

    The seconds and calls of an operation at one path are divided among its shapes in the
    proportions of the shaped window; seconds by calls if that window has no time for it. An
    operation that the shaped window lacks has no shapes.
    """
    shapes: defaultdict[_OperationKey, list[Operation]] = defaultdict(list)
    for operation in shaped.operations:
        shapes[_operation_key(operation)].append(operation)
    names = {(reading.name, reading.subject) for reading in timed.readings}
    return replace(
        timed,
        operations=longest_operations(
            [part for one in timed.operations for part in _divide_by_shapes(one, shapes)]
        ),
        call_times=(),  # which are of the undivided operations
        readings=(
            *timed.readings,
            *(one for one in shaped.readings if (one.name, one.subject) not in names),
        ),
    )


def _divide_by_shapes(
    operation: Operation, shapes: Mapping[_OperationKey, Sequence[Operation]]
) -> Iterator[Operation]:
    parts = shapes.get(_operation_key(operation), ())
    seconds, count = sum(one.seconds for one in parts), sum(one.count for one in parts)
    if not parts or not (seconds or count):
        yield operation
        return
    for part in parts:
        by_count = part.count / count if count else 0.0
        by_time = part.seconds / seconds if seconds else by_count
        yield replace(
            operation,
            shapes=part.shapes,
            seconds=operation.seconds * by_time,
            count=operation.count * (by_count if count else by_time),
        )


def _operation_key(operation: Operation) -> _OperationKey:
    return operation.name, operation.bucket, operation.path
