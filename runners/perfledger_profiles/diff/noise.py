"""Learns from several profiled windows of each side how far profiles of the same code differ.

A window's seconds are the mean of its steps. Other work on the machine lengthens some windows and
some operations of a window, so neither a mean over windows nor one window is used: the typical
seconds are trimmed means, with the errors of Tukey and McLaughlin (1963), and two sides are
compared as in Yuen (1974).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, sqrt
from statistics import fmean, variance

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.diff.operations import operations_of
from perfledger_profiles.timeline.breakdown import longest_operations

# The share of windows that is left out at either end: half of them may be disturbed.
TRIM_SHARE = 0.25
# Two profiles of the same code on an idle GPU differed by a quarter of a percent of a step.
NOISE_SHARE = 0.002
MIN_WINDOWS = 2  # one has no spread
# Student's t at 95 %, two-sided, for 1, 2, ... degrees of freedom; further ones count as the last.
T_95 = (
    *(12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)

OperationKey = tuple[str, Bucket, str, str]


@dataclass(frozen=True)
class ProfileNoise:
    """The windows of both sides, and what their spread says of a difference.

    Errors are half-widths of 95 % intervals, in seconds per step. A side with one window has the
    relative spread of the other; without two windows on any side no error is known.
    """

    base: tuple[Profile, ...]
    head: tuple[Profile, ...]

    @property
    def is_known(self) -> bool:
        """Return whether some side has several windows."""
        return max(len(self.base), len(self.head)) >= MIN_WINDOWS

    @property
    def step_error_seconds(self) -> float:
        """Return the error of the difference of the typical steps."""
        return self._error(
            [window.step_seconds for window in self.base],
            [window.step_seconds for window in self.head],
        )

    def bucket_error_seconds(self, bucket: Bucket) -> float:
        """Return the error of the difference of a bucket, by the single steps of lone windows."""
        if not self.is_known:
            return _error_of(*(_steps_of(side[0], bucket) for side in (self.base, self.head)))
        return self._error(
            [window.bucket_seconds()[bucket] for window in self.base],
            [window.bucket_seconds()[bucket] for window in self.head],
        )

    def error_seconds(self, base: Iterable[Operation], head: Iterable[Operation]) -> float:
        """Return the error of the difference of these operations, each side's taken together."""
        return self._error(_sums(self._base_times, base), _sums(self._head_times, head))

    def floor_seconds(self, step_seconds: float) -> float:
        """Return the smallest change of a step that is worth explaining."""
        return max(self.step_error_seconds, NOISE_SHARE * step_seconds)

    def _error(self, base: Sequence[float], head: Sequence[float]) -> float:
        return _error_of(base, head) if self.is_known else 0.0

    @cached_property
    def _base_times(self) -> tuple[Mapping[OperationKey, float], ...]:
        return tuple(map(_times_of, self.base))

    @cached_property
    def _head_times(self) -> tuple[Mapping[OperationKey, float], ...]:
        return tuple(map(_times_of, self.head))


@dataclass(frozen=True, slots=True)
class _TrimmedMean:
    """A trimmed mean with its squared standard error and degrees of freedom, 0 if unknown."""

    mean: float
    variance: float
    degrees: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "_TrimmedMean":
        count, left_out = len(values), int(TRIM_SHARE * len(values))
        ranked = sorted(values)
        inner = ranked[left_out : count - left_out]
        if count < MIN_WINDOWS:
            return cls(fmean(inner) if inner else 0.0, 0.0, 0)
        winsorized = [inner[0]] * left_out + inner + [inner[-1]] * left_out
        squares = variance(winsorized) * (count - 1)
        return cls(fmean(inner), squares / (len(inner) * (len(inner) - 1)), len(inner) - 1)

    def spread_like(self, spread: "_TrimmedMean") -> "_TrimmedMean":
        """Return this mean with the relative error of a known one, or its error if that is 0."""
        ratio = self.mean / spread.mean if spread.mean > 0 else 1.0
        return replace(self, variance=spread.variance * ratio * ratio, degrees=spread.degrees)


def _error_of(base: Sequence[float], head: Sequence[float]) -> float:
    """Return the error of the difference of two sides' trimmed means, 0 if unknown.

    The variances add up, and so do the degrees of freedom.
    """
    first, second = _TrimmedMean.of(base), _TrimmedMean.of(head)
    if second.degrees == 0:
        second = second.spread_like(first)
    elif first.degrees == 0:
        first = first.spread_like(second)
    degrees = first.degrees + second.degrees
    if degrees == 0:
        return 0.0
    return T_95[min(degrees, len(T_95)) - 1] * sqrt(first.variance + second.variance)


def typical_profile(windows: Sequence[Profile]) -> Profile:
    """Return the first window's profile with the typical seconds of each operation.

    `windows` are of one side, with at least one; the first has all details. An operation that a
    window lacks took no time there. The step is the sum of its operations.
    """
    first = windows[0]
    if len(windows) < MIN_WINDOWS or not first.operations:
        return first
    times = [_times_of(window) for window in windows]
    by_key = {_key(one): one for window in windows for one in operations_of(window)}
    first_operations = {_key(one): one for one in operations_of(first)}
    typical = [
        replace(
            first_operations.get(key, operation),
            seconds=_typical([each.get(key, 0.0) for each in times]),
        )
        for key, operation in by_key.items()
    ]
    operations = longest_operations([one for one in typical if one.seconds > 0 or one.count > 0])
    return replace(
        first,
        operations=operations,
        step_seconds=fsum(operation.seconds for operation in operations),
    )


def _typical(values: Sequence[float]) -> float:
    return _TrimmedMean.of(values).mean


def _steps_of(profile: Profile, bucket: Bucket) -> list[float]:
    """Return a bucket's seconds in each kept step."""
    place = tuple(Bucket).index(bucket)
    return [step.buckets[place] for step in profile.each_step if place < len(step.buckets)]


def _times_of(window: Profile) -> Mapping[OperationKey, float]:
    seconds: dict[OperationKey, float] = {}
    for operation in operations_of(window):
        key = _key(operation)
        seconds[key] = seconds.get(key, 0.0) + operation.seconds
    return seconds


def _sums(
    windows: Sequence[Mapping[OperationKey, float]], operations: Iterable[Operation]
) -> list[float]:
    """Return the seconds of the operations together in each window."""
    keys = set(map(_key, operations))
    return [fsum(times.get(key, 0.0) for key in keys) for times in windows]


def _key(operation: Operation) -> OperationKey:
    return operation.name, operation.bucket, operation.shapes, operation.path
