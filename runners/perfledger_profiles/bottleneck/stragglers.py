"""Finds the ranks of a job that the others wait for.

A collective ends for all ranks at once, so the last rank to join has the shortest kernel. Durations
show it, so no common clock is needed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from perfledger.profile import Bucket, DeviceStep, Profile, ProfileReading
from perfledger.rounding import digits
from perfledger_profiles.bottleneck.communication_bound import MAX_SKEW, SKEW
from perfledger_profiles.timeline.intervals import IntArray

MIN_RANKS = 2

Durations = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLoad:
    """One rank's compute and wait times in a step; means over the steps."""

    rank: int
    step_seconds: float
    compute_seconds: float
    last: int  # collectives that it joined last
    late_seconds: float  # per step: the other ranks' mean wait for it
    wait_seconds: float  # per step: its wait for others


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveLoad:
    """One kind of collective, and the rank that causes the longest wait in it."""

    name: str
    calls: int
    rank: int
    last: int  # calls that it joined last
    late_seconds: float  # per step: the other ranks' mean wait for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stragglers:
    """The imbalance of a job's ranks, in the order of their files.

    `skew` is the delay between the first and the last rank to join a collective, as a share of the
    collective's mean duration: the median over the `collectives` that all ranks ran, None if there
    are none. `by_collective` lists the names with the longest waits first.
    """

    ranks: tuple[RankLoad, ...]
    collectives: int
    skew: float | None
    by_collective: tuple[CollectiveLoad, ...] = ()

    @property
    def slowest(self) -> RankLoad:
        """Return the rank that the others wait for most, else the one that computes longest."""
        return max(self.ranks, key=lambda one: (one.late_seconds, one.compute_seconds))

    @property
    def compute_ratio(self) -> float:
        """Return the slowest rank's compute time over that of the median rank."""
        median = float(np.median([one.compute_seconds for one in self.ranks]))
        return self.slowest.compute_seconds / median

    @property
    def is_uneven(self) -> bool:
        """Return whether one rank delays the others by more than a tenth."""
        if self.skew is None:
            return self.compute_ratio > 1 + MAX_SKEW
        return self.skew > MAX_SKEW

    def readings(self) -> tuple[ProfileReading, ...]:
        """Return the readings used to classify a rank's own profile."""
        ratio = ProfileReading(
            name="straggler_ratio",
            value=self.compute_ratio,
            source=f"compute time of rank {self.slowest.rank} / median rank's",
        )
        if self.skew is None:
            return (ratio,)
        source = "(longest - shortest duration) / mean duration of a collective over the ranks"
        return ratio, ProfileReading(name=SKEW, value=self.skew, source=source)


def stragglers_of(profiles: Sequence[Profile | DeviceStep]) -> Stragglers | None:
    """Return the imbalance of ranks, or of one recording's devices; None if fewer than two compute.

    The n-th call of a name in a step is the same collective on all ranks. If the numbers of calls
    differ, or several groups of ranks share a name, the calls cannot be matched.
    """
    computes = [_compute_seconds(profile) for profile in profiles]
    if len(profiles) < MIN_RANKS or min(computes) <= 0:
        return None
    names, calls, steps = _common_collectives(profiles)
    first = calls.min(axis=0)
    waits = (calls - first).sum(axis=1) / steps
    last = calls.argmin(axis=0)
    counts = np.bincount(last, minlength=len(profiles))
    # For a collective that one rank joined last: the mean wait of the other ranks.
    late = (calls - first).sum(axis=0) / (len(profiles) - 1) / steps
    mean = calls.mean(axis=0)
    numbers = _numbers(profiles)
    return Stragglers(
        ranks=tuple(
            RankLoad(
                rank=number,
                step_seconds=profile.step_seconds,
                compute_seconds=computes[index],
                last=int(counts[index]),
                late_seconds=float(late[last == index].sum()),
                wait_seconds=float(waits[index]),
            )
            for index, (number, profile) in enumerate(zip(numbers, profiles, strict=True))
        ),
        collectives=calls.shape[1],
        skew=float(np.median((calls.max(axis=0) - first) / mean)) if mean.size else None,
        by_collective=_by_collective(names, last, late, numbers),
    )


def _by_collective(
    names: Sequence[str], last: IntArray, late: Durations, numbers: Sequence[int]
) -> tuple[CollectiveLoad, ...]:
    """Return the latest rank of each name; `last` is the place of each call's last rank to join."""
    calls_by_name: defaultdict[str, list[int]] = defaultdict(list)
    for call, name in enumerate(names):
        calls_by_name[name].append(call)
    loads: list[CollectiveLoad] = []
    for name, calls in calls_by_name.items():
        late_by_rank = np.bincount(last[calls], weights=late[calls], minlength=len(numbers))
        place = int(late_by_rank.argmax())
        loads.append(
            CollectiveLoad(
                name=name,
                calls=len(calls),
                rank=numbers[place],
                last=int(np.count_nonzero(last[calls] == place)),
                late_seconds=float(late_by_rank[place]),
            )
        )
    return tuple(sorted(loads, key=lambda load: (-load.late_seconds, load.name)))


def with_late_device(profile: Profile) -> Profile:
    """Return a profile of several devices with a note on the one that the others wait for.

    The profile is unchanged if the collectives cannot be matched.
    """
    stragglers = stragglers_of(profile.devices)
    if stragglers is None or stragglers.skew is None:
        return profile
    notes = profile.notes
    if stragglers.is_uneven:
        slowest = stragglers.slowest
        device = profile.devices[stragglers.ranks.index(slowest)]
        milliseconds = 1e3 * slowest.late_seconds
        waits = (
            f"the other devices wait for {device.name}, about {digits(milliseconds, 2)} ms a step"
        )
        notes += (f"{waits}: it joins {slowest.last} of {stragglers.collectives} collectives last",)
    return replace(profile, readings=(*profile.readings, *stragglers.readings()), notes=notes)


def _compute_seconds(profile: Profile | DeviceStep) -> float:
    if isinstance(profile, DeviceStep):
        return profile.seconds(Bucket.COMPUTE)
    return profile.bucket_seconds()[Bucket.COMPUTE]


def _numbers(profiles: Sequence[Profile | DeviceStep]) -> Sequence[int]:
    """Return the ranks that the files state, or the files' order if one is missing or repeated."""
    ranks = [profile.rank for profile in profiles if profile.rank is not None]
    return ranks if len(set(ranks)) == len(profiles) else range(len(profiles))


def _common_collectives(
    profiles: Sequence[Profile | DeviceStep],
) -> tuple[Sequence[str], Durations, int]:
    """Return the collectives that all ranks ran: names, durations and the number of steps.

    The durations have the shape (ranks, collectives), and there are as many names.
    """
    tables = [_calls(profile, len(profiles)) for profile in profiles]
    shared = [
        key
        for key, calls in tables[0].items()
        if all(len(table.get(key, ())) == len(calls) for table in tables)
    ]
    rows = (np.array([table[key] for table in tables]) for key in shared)
    calls = np.concatenate([np.empty((len(profiles), 0)), *rows], axis=1)
    names = [key[0] for key in shared for _ in tables[0][key]]
    took_time = calls.sum(axis=0) > 0
    return (
        list(compress(names, took_time.tolist())),
        calls[:, took_time],
        max(len({step for _, step in shared}), 1),
    )


def _calls(
    profile: Profile | DeviceStep, ranks: int
) -> Mapping[tuple[str, int], tuple[float, ...]]:
    """Return the durations by name and step, without those of smaller groups."""
    return {
        (one.name, one.step): one.seconds
        for one in profile.collectives
        if one.ranks is None or one.ranks >= ranks
    }
