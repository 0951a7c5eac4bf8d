"""Lists a profile's kernels as rows with bars, or its operations if no kernel ran."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from perfledger.profile import Bucket, Kernel, Operation, OperationFamily, Profile
from perfledger_profiles.diff.grouping import longest_operation
from perfledger_profiles.diff.matching import match
from perfledger_profiles.diff.operation_change import OperationChange
from perfledger_profiles.parsing.copy_names import copy_bucket
from perfledger_service.rendering.chart.bar_rows import BarRow
from perfledger_service.rendering.chart.marks import Tone
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.short_name import short_name
from perfledger_service.rendering.trace.bucket_tones import BUCKET_TONES


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedKernelRow:
    """One kernel or operation on both sides; bars are relative to the longest time."""

    name: str  # untrusted
    short: str  # shortened to fit on a line
    base: str
    head: str
    delta: str
    base_part: float
    head_part: float
    tone: Tone


def bucket_rows(profile: Profile) -> tuple[BarRow, ...]:
    """Return the buckets of the step's time, the longest first."""
    spent = {bucket: seconds for bucket, seconds in profile.bucket_seconds().items() if seconds > 0}
    longest = max(spent.values(), default=0.0)
    return tuple(
        BarRow(
            name=vocabulary.bucket(bucket),
            short=vocabulary.bucket(bucket),
            part=seconds / longest,
            figure=number_format.seconds(seconds),
            share=_share(seconds, profile),
            detail="",
            tone=BUCKET_TONES[bucket],
        )
        for bucket, seconds in sorted(spent.items(), key=lambda item: -item[1])
    )


def operation_rows(profile: Profile, *, most: int) -> tuple[BarRow, ...]:
    """Return the operations with the most time of the step, the longest first."""
    operations = [operation for operation in profile.operations if operation.seconds > 0][:most]
    longest = max((operation.seconds for operation in operations), default=0.0)
    return tuple(
        BarRow(
            name=operation.name,
            short=short_name(operation.name),
            part=operation.seconds / longest,
            figure=number_format.seconds(operation.seconds),
            share=_share(operation.seconds, profile),
            detail=_operation_detail(operation),
            tone=BUCKET_TONES[operation.bucket],
        )
        for operation in operations
    )


def kernel_rows(profile: Profile, *, most: int) -> tuple[BarRow, ...]:
    """Return the longest kernels by name, each over all its launches.

    Their times may overlap; they then sum to more than the step.
    """
    by_name: dict[str, list[Kernel]] = {}
    for kernel in profile.kernels:
        by_name.setdefault(kernel.name, []).append(kernel)
    spent = {name: sum(one.seconds for one in launches) for name, launches in by_name.items()}
    names = sorted((name for name in spent if spent[name] > 0), key=lambda name: -spent[name])
    longest = max(spent.values(), default=0.0)
    return tuple(
        BarRow(
            name=name,
            short=short_name(name),
            part=spent[name] / longest,
            figure=number_format.seconds(spent[name]),
            share=_share(spent[name], profile) if profile.has_steps else "",
            detail=_kernel_detail(by_name[name]),
            tone=BUCKET_TONES[_bucket(by_name[name][0])],
        )
        for name in names[:most]
    )


def paired_kernel_rows(base: Profile, head: Profile, *, most: int) -> tuple[PairedKernelRow, ...]:
    """Return both sides' kernels, those with the longest time of either side.

    Kernels are matched like operations, so that a changed template path does not make a different
    kernel; one that replaces others has its own row. If neither side has kernels, the rows are
    operations.
    """
    has_kernels = bool(base.kernels or head.kernels)
    before, after = (
        _without_places(map(_operation, side.kernels) if has_kernels else side.operations)
        for side in (base, head)
    )
    changes = sorted(
        chain.from_iterable(map(_without_replacements, match(before, after))),
        key=lambda change: -max(change.base_seconds, change.head_seconds),
    )[:most]
    longest = max(
        (max(change.base_seconds, change.head_seconds) for change in changes), default=0.0
    )
    return tuple(_paired_row(change, longest=longest) for change in changes if longest > 0)


def _kernel_detail(launches: Sequence[Kernel]) -> str:
    """Return the number of calls of a kernel, and details of its launches weighted by time."""
    parts = [vocabulary.call_count_phrase(sum(one.count for one in launches))]
    weighted = [(one.occupancy, one.seconds) for one in launches if one.occupancy is not None]
    seconds = sum(weight for _, weight in weighted)
    if seconds > 0:
        mean = sum(occupancy * weight for occupancy, weight in weighted) / seconds
        parts.append(f"occupancy {number_format.whole_share(mean)}")
    if any(one.is_tensor for one in launches):
        parts.append("tensor cores")
    return ", ".join(parts)


def _operation_detail(operation: Operation) -> str:
    bucket = vocabulary.bucket(operation.bucket)
    return (
        f"{vocabulary.call_count_phrase(operation.count)}, {bucket}" if operation.count else bucket
    )


def _operation(kernel: Kernel) -> Operation:
    return Operation(
        name=kernel.name, bucket=_bucket(kernel), seconds=kernel.seconds, count=kernel.count
    )


def _without_places(operations: Iterable[Operation]) -> Sequence[Operation]:
    """Return one operation per name and bucket, regardless of where it was called."""
    by_name: dict[tuple[str, Bucket], Operation] = {}
    for one in operations:
        before = by_name.get((one.name, one.bucket))
        by_name[one.name, one.bucket] = Operation(
            name=one.name,
            bucket=one.bucket,
            seconds=one.seconds + (before.seconds if before else 0.0),
            count=one.count + (before.count if before else 0.0),
        )
    return [*by_name.values()]


def _without_replacements(change: OperationChange) -> Iterator[OperationChange]:
    """Yield the change, or each operation alone if head's operations replace base's."""
    if change.is_one_work:
        yield change
        return
    for one in change.base:
        yield replace(change, base=(one,), head=())
    for one in change.head:
        yield replace(change, base=(), head=(one,))


def _paired_row(change: OperationChange, *, longest: float) -> PairedKernelRow:
    base_s, head_s = change.base_seconds, change.head_seconds
    name = longest_operation(change.head or change.base).name
    count = max(len(change.base), len(change.head))
    more = f" (+{count - 1})" if count > 1 else ""
    return PairedKernelRow(
        name=name,
        short=f"{short_name(name)}{more}",
        base=number_format.seconds(base_s) if base_s else "",
        head=number_format.seconds(head_s) if head_s else "",
        delta=number_format.signed_seconds(head_s - base_s),
        base_part=base_s / longest,
        head_part=head_s / longest,
        tone=Tone.MUTED if head_s == base_s else Tone.RED if head_s > base_s else Tone.GREEN,
    )


def _bucket(kernel: Kernel) -> Bucket:
    """Return the bucket that a kernel's time is in."""
    match kernel.family:
        case OperationFamily.COMMUNICATION:
            return Bucket.COMMUNICATION
        case OperationFamily.COPY:
            return copy_bucket(kernel.name)
        case OperationFamily.MEMSET:
            return Bucket.MEMSET
        case _:
            return Bucket.COMPUTE


def _share(seconds: float, profile: Profile) -> str:
    return number_format.share(seconds / profile.step_seconds) if profile.step_seconds > 0 else ""
