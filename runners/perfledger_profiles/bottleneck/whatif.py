"""Predicts the step time with parts of the step made faster (Amdahl's law)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import fsum, inf, isnan

from perfledger.profile import Bucket, OperationFamily, Profile
from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import percentage
from perfledger_profiles.bottleneck.kernel_time import is_of_kernel
from perfledger_profiles.bottleneck.step_shares import BOTTLENECKS, typical_step_seconds
from perfledger_profiles.timeline.breakdown import DEVICE_ORDER

# Smallest share of the step of hidden device work that is noted: it becomes visible when the work
# that hides it is removed.
MIN_HIDDEN_SHARE = 0.01
HIDDEN_TIME_NOTE = (
    "{hidden} of the step's device work runs behind other work and may become visible: "
    "expect a longer step than predicted"
)
INPUT_UNCOVERS = (
    "in the one validated pair of runs the step was 4 to 6 % longer than predicted: while waiting "
    "for input the host does work that then becomes visible"
)
MAX_SUGGESTED = 3  # in an error: names similar to one that the profile lacks
_CHOICES = "give one of {buckets}, a kernel family, an operation or a pattern of its name"
# Names for sums of several buckets.
_SUMS = ("host", "transfer")


class WhatIfError(ValueError):
    """An invalid name or factor: which one, and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedup:
    """One change: its name, its factor, and its exclusive share of the step."""

    name: str
    factor: float  # inf: removed; below 1: slower
    seconds: float  # of the typical step, before
    share: float

    @property
    def ceiling(self) -> float:
        """Return the largest possible speed-up of the step."""
        return 1 / (1 - self.share) if self.share < 1 else inf


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A step before and after the changes, which are in the requested order."""

    step_seconds: float
    new_step_seconds: float
    changes: tuple[Speedup, ...]
    share: float  # share of the step that the changes cover
    notes: tuple[str, ...] = ()

    @property
    def ceiling(self) -> float:
        """Return the speed-up if the whole share were removed."""
        return 1 / (1 - self.share) if self.share < 1 else inf


def what_if(profile: Profile, *, changes: Mapping[str, float]) -> WhatIf:
    """Return the typical step with parts of it faster: T x ((1 - p) + p / s).

    A name is a bucket ("input"), all host buckets or all copies ("host", "transfer"), a kernel
    family ("gemm"), an operation or kernel, or a pattern for those with * and ?; the first match in
    this order counts. Shares are exclusive, so several changes add up; an operation named by two of
    them is sped up by both factors. T is the median step, p a share of the mean step. Amdahl's law
    (1967) ignores work that the removed time hid: see `notes`. Raises WhatIfError for a factor that
    is not above 0 and for an unknown name.
    """
    if not profile.operations or not profile.step_seconds > 0:
        msg = "the profile has no step with operations: give a trace of steps, not a kernel summary"
        raise WhatIfError(msg)
    touched = {name: _operations_named(name, profile) for name in changes}
    before = [operation.seconds / profile.step_seconds for operation in profile.operations]
    after = list(before)
    for name, numbers in touched.items():
        factor = _check_factor(name, changes[name])
        for number in numbers:
            after[number] /= factor
    saved = fsum(share - left for share, left in zip(before, after, strict=True))
    step_seconds = typical_step_seconds(profile)
    shares = {name: _share(numbers, profile) for name, numbers in touched.items()}
    everything = sorted({number for numbers in touched.values() for number in numbers})
    return WhatIf(
        step_seconds=step_seconds,
        new_step_seconds=step_seconds * max(1 - saved, 0.0),
        changes=tuple(
            Speedup(name=name, factor=changes[name], seconds=share * step_seconds, share=share)
            for name, share in shares.items()
        ),
        share=_share(everything, profile),
        notes=_notes(everything, profile),
    )


def _check_factor(name: str, factor: float) -> float:
    if isnan(factor) or factor <= 0:
        msg = (
            f"{name!r} cannot be {factor} times faster: give a number above 0, or inf to remove it"
        )
        raise WhatIfError(msg)
    return factor


def _operations_named(name: str, profile: Profile) -> tuple[int, ...]:
    """Return the numbers of the operations that a name matches."""
    operations = profile.operations
    if name in (*Bucket, *_SUMS):
        return tuple(
            number
            for number, operation in enumerate(operations)
            if name in (operation.bucket, BOTTLENECKS[operation.bucket])
        )
    names = {operation.name for operation in operations}
    names.update(kernel.name for kernel in profile.kernels)
    if name in frozenset(OperationFamily):
        kernel_names = {kernel.name for kernel in profile.kernels if kernel.family == name}
    elif name in names:
        kernel_names = {name}
    else:
        kernel_names = {candidate for candidate in names if is_match(name, candidate)}
    numbers = tuple(
        n for n, operation in enumerate(operations) if is_of_kernel(operation, kernel_names)
    )
    if not numbers:
        raise WhatIfError(_complaint(name, names))
    return numbers


def _complaint(name: str, names: Collection[str]) -> str:
    near = get_close_matches(
        name, [*Bucket, *_SUMS, *OperationFamily, *sorted(names)], MAX_SUGGESTED
    )
    choices = _CHOICES.format(buckets=", ".join([*Bucket, *_SUMS]))
    hint = "did you mean " + " or ".join(f"'{text}'" for text in near) if near else choices
    return f"the profile has nothing named {name!r}: {hint}"


def _share(numbers: Iterable[int], profile: Profile) -> float:
    seconds = sum(profile.operations[number].seconds for number in numbers)
    return min(seconds / profile.step_seconds, 1.0)


def _notes(numbers: Iterable[int], profile: Profile) -> tuple[str, ...]:
    buckets = {profile.operations[number].bucket for number in numbers}
    notes: list[str] = []
    hidden = _hidden_share(profile)
    if hidden >= MIN_HIDDEN_SHARE and not buckets.isdisjoint(DEVICE_ORDER):
        notes.append(HIDDEN_TIME_NOTE.format(hidden=percentage(hidden)))
    if Bucket.INPUT in buckets:
        notes.append(INPUT_UNCOVERS)
    return tuple(notes)


def _hidden_share(profile: Profile) -> float:
    """Return the kernels' time that is not exclusive, as a share of the step."""
    spent = profile.bucket_seconds()
    exclusive = sum(spent[bucket] for bucket in DEVICE_ORDER)
    kernel_seconds = sum(kernel.seconds for kernel in profile.kernels)
    return max(kernel_seconds - exclusive, 0.0) / profile.step_seconds
