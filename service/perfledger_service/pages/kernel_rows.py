"""Turns profiles' kernels, or their operations where no device ran any, into rows with bars."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfledger.profile import Bucket, Family, Kernel, Operation, Profile
from perfledger_service.pages import figures, words
from perfledger_service.pages.short_name import short_name


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One row of a table with bars; `part` is the bar's share of the longest one."""

    name: str  # foreign, unless it is a bucket's
    short: str  # the same, to fit a line
    part: float
    figure: str
    share: str  # of the step, "" where it is not of one
    detail: str
    tone: str  # a bucket, as the style sheet knows it


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRow:
    """One kernel or operation on both sides; parts are of the longest time of either side."""

    name: str  # foreign
    short: str  # the same, to fit a line
    base: str
    head: str
    delta: str
    base_part: float
    head_part: float
    tone: str  # "slower", "faster" or "step", as the style sheet knows them


def bucket_rows(profile: Profile) -> tuple[BarRow, ...]:
    """Return where the step's time goes, the buckets that have any, longest first."""
    spent = {bucket: seconds for bucket, seconds in profile.bucket_seconds().items() if seconds > 0}
    longest = max(spent.values(), default=0.0)
    return tuple(
        BarRow(
            name=words.bucket(bucket),
            short=words.bucket(bucket),
            part=seconds / longest,
            figure=figures.seconds(seconds),
            share=_share(seconds, profile),
            detail="",
            tone=str(bucket),
        )
        for bucket, seconds in sorted(spent.items(), key=lambda item: -item[1])
    )


def operation_rows(profile: Profile, *, most: int) -> tuple[BarRow, ...]:
    """Return the operations that have the most of the step, longest first."""
    kept = [operation for operation in profile.operations if operation.seconds > 0][:most]
    longest = max((operation.seconds for operation in kept), default=0.0)
    return tuple(
        BarRow(
            name=operation.name,
            short=short_name(operation.name),
            part=operation.seconds / longest,
            figure=figures.seconds(operation.seconds),
            share=_share(operation.seconds, profile),
            detail=_operation_detail(operation),
            tone=str(operation.bucket),
        )
        for operation in kept
    )


def kernel_rows(profile: Profile, *, most: int) -> tuple[BarRow, ...]:
    """Return the kernels that run longest, by name: what is known of each, over all its launches.

    Their times may overlap, and then they sum to more than the step.
    """
    by_name: dict[str, list[Kernel]] = {}
    for kernel in profile.kernels:
        by_name.setdefault(kernel.name, []).append(kernel)
    spent = {name: sum(one.seconds for one in found) for name, found in by_name.items()}
    names = sorted((name for name in spent if spent[name] > 0), key=lambda name: -spent[name])
    longest = max(spent.values(), default=0.0)
    return tuple(
        BarRow(
            name=name,
            short=short_name(name),
            part=spent[name] / longest,
            figure=figures.seconds(spent[name]),
            share=_share(spent[name], profile) if profile.has_steps else "",
            detail=_kernel_detail(by_name[name]),
            tone=str(_bucket(by_name[name][0].family)),
        )
        for name in names[:most]
    )


def paired_rows(base: Profile, head: Profile, *, most: int) -> tuple[PairedRow, ...]:
    """Return both sides' kernels by name, those with the longest time of either side.

    Operations stand in where no device ran a kernel on either side.
    """
    has_kernels = bool(base.kernels or head.kernels)
    before, after = (
        _times(side.kernels if has_kernels else side.operations) for side in (base, head)
    )
    names = sorted(
        dict.fromkeys([*before, *after]),
        key=lambda name: -max(before.get(name, 0.0), after.get(name, 0.0)),
    )[:most]
    longest = max((max(before.get(name, 0.0), after.get(name, 0.0)) for name in names), default=0.0)
    if longest <= 0:
        return ()
    return tuple(_paired_row(name, before, after, longest=longest) for name in names)


def _kernel_detail(launches: Sequence[Kernel]) -> str:
    """Return how often a kernel runs, and what is known of how it runs, weighted by time."""
    parts = [words.calls(sum(one.count for one in launches))]
    known = [(one.occupancy, one.seconds) for one in launches if one.occupancy is not None]
    seconds = sum(weight for _, weight in known)
    if seconds > 0:
        mean = sum(occupancy * weight for occupancy, weight in known) / seconds
        parts.append(f"occupancy {figures.whole_share(mean)}")
    if any(one.is_tensor for one in launches):
        parts.append("tensor cores")
    return ", ".join(parts)


def _operation_detail(operation: Operation) -> str:
    bucket = words.bucket(operation.bucket)
    return f"{words.calls(operation.count)}, {bucket}" if operation.count else bucket


def _times(of: Iterable[Kernel | Operation]) -> Mapping[str, float]:
    """Return each name's seconds."""
    found: dict[str, float] = {}
    for one in of:
        found[one.name] = found.get(one.name, 0.0) + one.seconds
    return found


def _paired_row(
    name: str, before: Mapping[str, float], after: Mapping[str, float], *, longest: float
) -> PairedRow:
    base_s, head_s = before.get(name, 0.0), after.get(name, 0.0)
    return PairedRow(
        name=name,
        short=short_name(name),
        base=figures.seconds(base_s) if base_s else "",
        head=figures.seconds(head_s) if head_s else "",
        delta=figures.signed_seconds(head_s - base_s),
        base_part=base_s / longest,
        head_part=head_s / longest,
        tone="step" if head_s == base_s else "slower" if head_s > base_s else "faster",
    )


def _bucket(family: Family) -> Bucket:
    """Return the bucket that a kernel's time is in."""
    same = {
        Family.COMMUNICATION: Bucket.COMMUNICATION,
        Family.COPY: Bucket.COPY,
        Family.MEMSET: Bucket.MEMSET,
    }
    return same.get(family, Bucket.COMPUTE)


def _share(seconds: float, profile: Profile) -> str:
    return figures.share(seconds / profile.step_seconds) if profile.step_seconds > 0 else ""
