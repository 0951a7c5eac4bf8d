"""Turn "what if this were faster?" into the step that would come of it (Amdahl's law)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import fsum, inf, isnan

from perfledger.pattern import is_match
from perfledger.profile import Bucket, Family, Profile
from perfledger_profiles.kernel_time import is_of_kernel
from perfledger_profiles.step_shares import BOTTLENECKS, typical_step_seconds

# Device work that ran behind other work comes out when that is removed; less than this share of
# the step is not worth a word.
MIN_HIDDEN_SHARE = 0.01
HIDDEN = (
    "{hidden:.1%} of a step's device work runs behind other work: what is removed here may uncover "
    "it, and the step come out longer"
)
INPUT_UNCOVERS = (
    "the one pair of runs that this was held against came out 4 to 6 % longer: while it waited for "
    "input the host did work that then shows"
)
_SUGGESTED = 3
_WAYS = "say one of {buckets}, a family of kernels, an operation or a pattern of its name"
# What a summary adds several buckets up to.
_SUMS = ("host", "transfer")
_ON_DEVICE = (Bucket.COMPUTE, Bucket.COMMUNICATION, Bucket.COPY, Bucket.MEMSET)


class WhatIfError(ValueError):
    """A question that the profile has no answer to: which name or factor, and what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faster:
    """One change: what it is about, how many times faster, and its exclusive share of the step."""

    name: str
    factor: float  # inf: it is gone; below 1: it is slower
    seconds: float  # of the typical step, before
    share: float

    @property
    def ceiling(self) -> float:
        """Return how many times faster the step is at most, however fast this gets."""
        return 1 / (1 - self.share) if self.share < 1 else inf


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A step before and after some of it got faster, each change in the order it was asked in."""

    step_seconds: float
    new_step_seconds: float
    changes: tuple[Faster, ...]
    share: float  # of the step that any of them is about
    notes: tuple[str, ...] = ()

    @property
    def speedup(self) -> float:
        """Return how many times faster the step is."""
        return self.step_seconds / self.new_step_seconds if self.new_step_seconds else inf

    @property
    def ceiling(self) -> float:
        """Return how many times faster it is at most, with all of the share gone."""
        return 1 / (1 - self.share) if self.share < 1 else inf


def what_if(profile: Profile, *, changes: Mapping[str, float]) -> WhatIf:
    """Return the typical step with parts of it so many times faster: T x ((1 - p) + p / s).

    A name is a bucket ("input"), all of the host's or of the copies' ("host", "transfer"), a family
    of kernels ("gemm"), an operation or kernel, or a pattern of those with * and ?; what it means
    first in that order. The shares are exclusive, so several
    changes add; an operation that two of them name gets faster by both factors. T is the median
    step, p a share of the mean one. Amdahl's law (1967) says nothing of what the removed time hid:
    see `notes`. Raises WhatIfError for a factor that is not above 0, and a name that nothing has.
    """
    if not profile.operations or not profile.step_seconds > 0:
        msg = "the profile has no step with operations: profile steps, not a summary of kernels"
        raise WhatIfError(msg)
    touched = {name: _named(name, profile) for name in changes}
    before = [operation.seconds / profile.step_seconds for operation in profile.operations]
    after = list(before)
    for name, numbers in touched.items():
        factor = _checked(name, changes[name])
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
            Faster(name=name, factor=changes[name], seconds=share * step_seconds, share=share)
            for name, share in shares.items()
        ),
        share=_share(everything, profile),
        notes=_notes(everything, profile),
    )


def _checked(name: str, factor: float) -> float:
    if isnan(factor) or factor <= 0:
        msg = f"{name!r} cannot get {factor} times faster: say a number above 0, inf to remove it"
        raise WhatIfError(msg)
    return factor


def _named(name: str, profile: Profile) -> tuple[int, ...]:
    """Return the numbers of the operations that a name means."""
    operations = profile.operations
    if name in (*Bucket, *_SUMS):
        return tuple(
            number
            for number, operation in enumerate(operations)
            if name in (operation.bucket, BOTTLENECKS[operation.bucket])
        )
    names = {operation.name for operation in operations}
    names.update(kernel.name for kernel in profile.kernels)
    if name in frozenset(Family):
        wanted = {kernel.name for kernel in profile.kernels if kernel.family == name}
    elif name in names:
        wanted = {name}
    else:
        wanted = {found for found in names if is_match(name, found)}
    numbers = tuple(n for n, operation in enumerate(operations) if is_of_kernel(operation, wanted))
    if not numbers:
        raise WhatIfError(_complaint(name, names))
    return numbers


def _complaint(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, [*Bucket, *_SUMS, *Family, *sorted(names)], _SUGGESTED)
    ways = _WAYS.format(buckets=", ".join([*Bucket, *_SUMS]))
    hint = "did you mean " + " or ".join(f"'{text}'" for text in near) if near else ways
    return f"nothing in the profile is called {name!r}: {hint}"


def _share(numbers: Iterable[int], profile: Profile) -> float:
    seconds = sum(profile.operations[number].seconds for number in numbers)
    return min(seconds / profile.step_seconds, 1.0)


def _notes(numbers: Iterable[int], profile: Profile) -> tuple[str, ...]:
    buckets = {profile.operations[number].bucket for number in numbers}
    notes: list[str] = []
    hidden = _hidden_share(profile)
    if hidden >= MIN_HIDDEN_SHARE and not buckets.isdisjoint(_ON_DEVICE):
        notes.append(HIDDEN.format(hidden=hidden))
    if Bucket.INPUT in buckets:
        notes.append(INPUT_UNCOVERS)
    return tuple(notes)


def _hidden_share(profile: Profile) -> float:
    """Return how much of the kernels' own time is no exclusive time of the step."""
    spent = profile.bucket_seconds()
    exclusive = sum(spent[bucket] for bucket in _ON_DEVICE)
    own = sum(kernel.seconds for kernel in profile.kernels)
    return max(own - exclusive, 0.0) / profile.step_seconds
