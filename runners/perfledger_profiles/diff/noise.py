"""Learns from pairs of profiles of the same code how far such profiles differ."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.diff.stable_names import normal_name, normal_path

# The same code also shows changes within twice the median deviation.
MAX_DEVIATIONS = 2.0
# Two profiles of the same code on an idle GPU differed by a quarter of a percent of a step.
NOISE_SHARE = 0.002

Group = tuple[str, str]  # an operation's name and place, normalised


@dataclass(frozen=True, slots=True)
class ProfileNoise:
    """The median deviation of two profiles of the same code, in seconds per step.

    Deviations are from zero, the true change of the same code, so one pair is enough and missing
    groups do not understate the noise. Without pairs the floor is a share of the step.
    """

    pairs: int = 0  # that it is learnt from
    step_seconds: float = 0.0
    buckets: Mapping[Bucket, float] = field(default_factory=dict[Bucket, float])
    groups: Mapping[Group, float] = field(default_factory=dict[Group, float])

    def floor_seconds(self, step_seconds: float) -> float:
        """Return the smallest change of a step that is worth explaining."""
        return max(MAX_DEVIATIONS * self.step_seconds, NOISE_SHARE * step_seconds)

    def group_floor_seconds(self, operations: Iterable[Operation], step_seconds: float) -> float:
        """Return the smallest total change of these operations that is worth reporting."""
        deviation = sum(self.groups.get(group, 0.0) for group in set(map(group_of, operations)))
        return max(MAX_DEVIATIONS * deviation, NOISE_SHARE * step_seconds)


def learn_noise(pairs: Sequence[tuple[Profile, Profile]]) -> ProfileNoise:
    """Return the noise in pairs of profiles of the same code, unknown without any."""
    if not pairs:
        return ProfileNoise()
    steps = [abs(one.step_seconds - other.step_seconds) for one, other in pairs]
    buckets: defaultdict[Bucket, list[float]] = defaultdict(list)
    groups: defaultdict[Group, list[float]] = defaultdict(list)
    for one, other in pairs:
        before, after = one.bucket_seconds(), other.bucket_seconds()
        for bucket in Bucket:
            buckets[bucket].append(abs(after[bucket] - before[bucket]))
        for group, deviation in _deviations(one, other).items():
            groups[group].append(deviation)
    return ProfileNoise(
        len(pairs),
        median(steps),
        {bucket: median(deviations) for bucket, deviations in buckets.items()},
        {group: _median_of(deviations, len(pairs)) for group, deviations in groups.items()},
    )


def group_of(operation: Operation) -> Group:
    """Return the group whose noise an operation shares."""
    return normal_name(operation.name), normal_path(operation.path)


def _deviations(first: Profile, second: Profile) -> Mapping[Group, float]:
    deltas: defaultdict[Group, float] = defaultdict(float)
    for profile, sign in ((first, -1.0), (second, 1.0)):
        for operation in profile.operations:
            deltas[group_of(operation)] += sign * operation.seconds
    return {group: abs(delta) for group, delta in deltas.items()}


def _median_of(deviations: Sequence[float], pairs: int) -> float:
    """Return the median over all pairs; a pair without the group counts as 0."""
    return median((*deviations, *(0.0,) * (pairs - len(deviations))))
