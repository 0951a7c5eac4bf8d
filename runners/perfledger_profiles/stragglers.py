"""Turn the profiles of a job's ranks into which of them the others wait for, and how long.

A collective ends for all ranks at once, so who joins last has the shortest kernel: durations tell
it without a common clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfledger.profile import Bucket, Profile, Reading
from perfledger_profiles.communication_part import MAX_SKEW, SKEW

MIN_RANKS = 2

Durations = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLoad:
    """One rank's part in a step: what it computes, and who waits for whom; means over the steps."""

    rank: int
    step_seconds: float
    compute_seconds: float
    last: int  # collectives that it joined as the last
    late_seconds: float  # a step, that the other ranks waited for it on average
    wait_seconds: float  # a step, that it waited for others


@dataclass(frozen=True, slots=True, kw_only=True)
class Stragglers:
    """How uneven the ranks of a job are, in the order of their files.

    `skew` is how much later the last rank joined a collective than the first, as a share of the
    collective's mean duration: the median of the `collectives` that all ranks ran, None without.
    """

    ranks: tuple[RankLoad, ...]
    collectives: int
    skew: float | None

    @property
    def slowest(self) -> RankLoad:
        """Return the rank that the others wait for most; if nothing tells, which computes most."""
        return max(self.ranks, key=lambda one: (one.late_seconds, one.compute_seconds))

    @property
    def compute_ratio(self) -> float:
        """Return the slowest rank's compute time over the median rank's."""
        median = float(np.median([one.compute_seconds for one in self.ranks]))
        return self.slowest.compute_seconds / median

    @property
    def is_uneven(self) -> bool:
        """Tell whether one rank holds the others up, by more than a tenth (profiling.md 5.2)."""
        if self.skew is None:
            return self.compute_ratio > 1 + MAX_SKEW
        return self.skew > MAX_SKEW

    def readings(self) -> tuple[Reading, ...]:
        """Return what a rank's own profile is classified by."""
        ratio = Reading(
            name="straggler_ratio",
            value=self.compute_ratio,
            source=f"compute time of rank {self.slowest.rank} / median rank's",
        )
        if self.skew is None:
            return (ratio,)
        source = "(longest - shortest duration) / mean duration of a collective over the ranks"
        return ratio, Reading(name=SKEW, value=self.skew, source=source)


def stragglers_of(profiles: Sequence[Profile]) -> Stragglers | None:
    """Return how uneven the ranks are; None where fewer than two of them compute.

    The n-th call of a name in a step is one collective on all ranks; where they have different
    numbers of calls, or several groups of ranks share a name, calls cannot be matched.
    """
    computes = [profile.bucket_seconds()[Bucket.COMPUTE] for profile in profiles]
    if len(profiles) < MIN_RANKS or min(computes) <= 0:
        return None
    calls, steps = _matched(profiles)
    first = calls.min(axis=0)
    waits = (calls - first).sum(axis=1) / steps
    last = calls.argmin(axis=0)
    counts = np.bincount(last, minlength=len(profiles))
    # Of a collective that one rank joined last, the mean of what the others waited.
    late = (calls - first).sum(axis=0) / (len(profiles) - 1) / steps
    mean = calls.mean(axis=0)
    return Stragglers(
        ranks=tuple(
            RankLoad(
                rank=number,
                step_seconds=profile.step_seconds,
                compute_seconds=computes[place],
                last=int(counts[place]),
                late_seconds=float(late[last == place].sum()),
                wait_seconds=float(waits[place]),
            )
            for place, (number, profile) in enumerate(
                zip(_numbers(profiles), profiles, strict=True)
            )
        ),
        collectives=calls.shape[1],
        skew=float(np.median((calls.max(axis=0) - first) / mean)) if mean.size else None,
    )


def _numbers(profiles: Sequence[Profile]) -> Sequence[int]:
    """Return the ranks as the files state them; by their order where one does not, or two agree."""
    known = [profile.rank for profile in profiles if profile.rank is not None]
    return known if len(set(known)) == len(profiles) else range(len(profiles))


def _matched(profiles: Sequence[Profile]) -> tuple[Durations, int]:
    """Return the durations of the collectives that all ranks ran, and in how many steps they did.

    The durations have the shape (ranks, collectives).
    """
    tables = [_calls(profile, len(profiles)) for profile in profiles]
    shared = [
        key
        for key, calls in tables[0].items()
        if all(len(table.get(key, ())) == len(calls) for table in tables)
    ]
    rows = (np.array([table[key] for table in tables]) for key in shared)
    calls = np.concatenate([np.empty((len(profiles), 0)), *rows], axis=1)
    return calls[:, calls.sum(axis=0) > 0], max(len({step for _, step in shared}), 1)


def _calls(profile: Profile, ranks: int) -> Mapping[tuple[str, int], tuple[float, ...]]:
    """Return the durations by name and step, without those of groups too small to be of all."""
    return {
        (one.name, one.step): one.seconds
        for one in profile.collectives
        if one.ranks is None or one.ranks >= ranks
    }
