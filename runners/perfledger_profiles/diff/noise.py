"""Estimates how far profiles of the same code differ, from several windows of each side.

A window's seconds are the mean of its steps. Other work on the machine lengthens some windows, and
some operations of a window, and shortens none: the typical seconds of an operation are the mean
over its windows without the slowest. The error of any sum of them is the jackknife's (Tukey 1958):
how much the sum changes when a window is left out.

If neither side has a second window, each is one recording: its steps take the place of the windows.
What two recordings, or the two sides' processes, of the same code differ by is estimated from the
operations that do the same work in both.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, hypot, sqrt
from statistics import fmean

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.diff.operations import operations_of
from perfledger_profiles.timeline.breakdown import longest_operations

# The share of windows that is left out: the slowest of each operation.
SLOW_SHARE = 0.25
# Two profiles of the same code on an idle GPU differed by a quarter of a percent of a step.
NOISE_SHARE = 0.002
MIN_WINDOWS = 2  # a single one has no spread
# Student's t at 95 %, two-sided, for 1, 2, ... degrees of freedom; for more, the last is used.
T_95 = (
    *(12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)

OperationKey = tuple[str, Bucket, str, str]


@dataclass(frozen=True)
class ProfileNoise:
    """The windows of both sides, and the errors that follow from their spread.

    Errors are half-widths of 95 % intervals, in seconds per step. A side with one window is given
    the relative spread of the other. If neither side has two windows, the error is that of their
    steps. What two recordings differ by is estimated and not measured; for windows it is part of
    the error only where both sides make the same calls.
    """

    base: tuple[Profile, ...]
    head: tuple[Profile, ...]
    between_share: float = 0.0  # of the longer time: what two recordings of one work differ by

    @property
    def is_known(self) -> bool:
        """Return whether at least one side has several windows."""
        return max(len(self.base), len(self.head)) >= MIN_WINDOWS

    @property
    def step_error_seconds(self) -> float:
        """Return the error of the difference between the typical steps."""
        return self._error([*self._base_times.seconds, *self._head_times.seconds])

    def bucket_error_seconds(self, bucket: Bucket) -> float:
        """Return the error of a bucket's difference; for lone windows, from their single steps."""
        if not self.is_known:
            steps = (_steps_of(side[0], bucket) for side in (self.base, self.head))
            return _error_of(*(_Mean.of([_left_out(side)]) for side in steps))
        keys = [*self._base_times.seconds, *self._head_times.seconds]
        return self._error([key for key in keys if key[1] is bucket])

    def error_seconds(self, base: Sequence[Operation], head: Sequence[Operation]) -> float:
        """Return the error of the difference between the sums of these operations on each side."""
        error_s = _error_of(
            self._base_times.mean(map(_key, base)), self._head_times.mean(map(_key, head))
        )
        longer_s = max(fsum(operation.seconds for operation in side) for side in (base, head))
        return hypot(error_s, self.between_share * longer_s)

    def floor_seconds(self, step_seconds: float) -> float:
        """Return the smallest change of a step that is worth explaining."""
        return max(self.step_error_seconds, NOISE_SHARE * step_seconds)

    def _error(self, keys: Iterable[OperationKey]) -> float:
        chosen = set(keys)
        return _error_of(self._base_times.mean(chosen), self._head_times.mean(chosen))

    @cached_property
    def _base_times(self) -> "_SideTimes":
        return self._times_of(self.base)

    @cached_property
    def _head_times(self) -> "_SideTimes":
        return self._times_of(self.head)

    def _times_of(self, windows: Sequence[Profile]) -> "_SideTimes":
        return _SideTimes.of(windows) if self.is_known else _SideTimes.of_steps(windows[0])


@dataclass(frozen=True, slots=True)
class _Mean:
    """A typical sum with its squared standard error and degrees of freedom (0 if unknown)."""

    mean: float
    variance: float
    degrees: int

    @classmethod
    def of(cls, left_out: Sequence[Sequence[float]], *, slow_share: float = SLOW_SHARE) -> "_Mean":
        """Return the sum of values, each given with one window left out at a time."""
        sums = [fsum(values) for values in zip(*left_out, strict=True)]
        count = len(sums)
        if count < MIN_WINDOWS:
            return cls(fsum(sums), 0.0, 0)
        mean = fmean(sums)
        squares = fsum((one - mean) ** 2 for one in sums)
        return cls(mean, squares * (count - 1) / count, count - int(slow_share * count) - 1)

    def spread_like(self, spread: "_Mean") -> "_Mean":
        """Return this mean with the relative error of a known one, or with its error if it is 0."""
        ratio = self.mean / spread.mean if spread.mean > 0 else 1.0
        return replace(self, variance=spread.variance * ratio * ratio, degrees=spread.degrees)


@dataclass(frozen=True, slots=True)
class _SideTimes:
    """One side's seconds of each operation, with one window or one step left out at a time."""

    windows: int
    seconds: Mapping[OperationKey, Sequence[float]]
    slow_share: float = SLOW_SHARE  # of the windows, the slowest, that do not count

    @classmethod
    def of(cls, windows: Sequence[Profile]) -> "_SideTimes":
        times = [_times_of(window) for window in windows]
        keys = dict.fromkeys(key for each in times for key in each)
        left_out = {key: _left_out([each.get(key, 0.0) for each in times]) for key in keys}
        return cls(len(windows), left_out)

    @classmethod
    def of_steps(cls, window: Profile) -> "_SideTimes":
        """Return a lone window's mean step; without the time of each step its spread is unknown."""
        steps = window.call_times
        if len(steps) < MIN_WINDOWS:
            return cls.of([window])
        left_out = {
            _key(operation): _means_without_one([fsum(step[row]) for step in steps])
            for row, operation in enumerate(window.operations)
        }
        return cls(len(steps), left_out, slow_share=0.0)

    def mean(self, keys: Iterable[OperationKey]) -> _Mean:
        """Return the typical seconds of these operations in sum."""
        nothing = [0.0] * self.windows
        chosen = (self.seconds[key] for key in set(keys) & self.seconds.keys())
        return _Mean.of([nothing, *chosen], slow_share=self.slow_share)


def _error_of(first: _Mean, second: _Mean) -> float:
    """Return the error of the difference between two sides' typical sums, 0 if unknown.

    Both the variances and the degrees of freedom are added up.
    """
    if second.degrees == 0:
        second = second.spread_like(first)
    elif first.degrees == 0:
        first = first.spread_like(second)
    degrees = first.degrees + second.degrees
    if degrees == 0:
        return 0.0
    return T_95[min(degrees, len(T_95)) - 1] * sqrt(first.variance + second.variance)


def _left_out(values: Sequence[float]) -> Sequence[float]:
    """Return the typical value with each window left out in turn; a single window's value as is."""
    if len(values) < MIN_WINDOWS:
        return values
    return [_typical([*values[:n], *values[n + 1 :]]) for n in range(len(values))]


def _means_without_one(values: Sequence[float]) -> Sequence[float]:
    """Return the mean of the values, with one left out at a time."""
    total = fsum(values)
    return [(total - value) / (len(values) - 1) for value in values]


def typical_profile(windows: Sequence[Profile]) -> Profile:
    """Return the first window's profile with the typical seconds of each operation.

    `windows` are those of one side, at least one; details come from the first. An operation that a
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
    operations = longest_operations([one for one in typical if one.seconds or one.count])
    return replace(
        first,
        operations=operations,
        step_seconds=fsum(operation.seconds for operation in operations),
    )


def _typical(values: Sequence[float]) -> float:
    return fmean(sorted(values)[: len(values) - int(SLOW_SHARE * len(values))])


def _steps_of(profile: Profile, bucket: Bucket) -> list[float]:
    """Return a bucket's seconds in each kept step."""
    place = tuple(Bucket).index(bucket)
    return [step.buckets[place] for step in profile.each_step if place < len(step.buckets)]


def _times_of(window: Profile) -> Mapping[OperationKey, float]:
    seconds: defaultdict[OperationKey, float] = defaultdict(float)
    for operation in operations_of(window):
        seconds[_key(operation)] += operation.seconds
    return seconds


def _key(operation: Operation) -> OperationKey:
    return operation.name, operation.bucket, operation.shapes, operation.path
