"""Turn pairs of profiles of the same code into how far two such profiles differ."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.names import normal_name, normal_path

# A change within twice the median deviation is one that the same code makes, too.
MAX_DEVIATIONS = 2.0
# Two profiles of the same code on a quiet GPU differed by a quarter of a percent of a step.
NOISE_SHARE = 0.002

Group = tuple[str, str]  # an operation's name and place, without what depends on the build


@dataclass(frozen=True, slots=True)
class Noise:
    """The median deviation of two profiles of the same code, in seconds per step.

    Deviations are taken from zero, which is what the same code's true change is: one pair is
    enough to know something, and none that is missing makes a group quieter than it is.
    Without any pair it is not known, and a share of the step is all there is to go by.
    """

    pairs: int = 0  # it was learnt from
    step_seconds: float = 0.0
    buckets: Mapping[Bucket, float] = field(default_factory=dict[Bucket, float])
    groups: Mapping[Group, float] = field(default_factory=dict[Group, float])

    def floor_seconds(self, step_seconds: float) -> float:
        """Return the least change of a step that is worth explaining."""
        return max(MAX_DEVIATIONS * self.step_seconds, NOISE_SHARE * step_seconds)

    def group_floor_seconds(self, operations: Iterable[Operation], step_seconds: float) -> float:
        """Return the least change of these operations, together, that is worth reporting."""
        deviation = sum(self.groups.get(group, 0.0) for group in set(map(group_of, operations)))
        return max(MAX_DEVIATIONS * deviation, NOISE_SHARE * step_seconds)


def learn_noise(pairs: Sequence[tuple[Profile, Profile]]) -> Noise:
    """Return the noise that pairs of profiles of the same code show; none is known without any."""
    if not pairs:
        return Noise()
    steps = [abs(one.step_seconds - other.step_seconds) for one, other in pairs]
    buckets: defaultdict[Bucket, list[float]] = defaultdict(list)
    groups: defaultdict[Group, list[float]] = defaultdict(list)
    for one, other in pairs:
        before, after = one.bucket_seconds(), other.bucket_seconds()
        for bucket in Bucket:
            buckets[bucket].append(abs(after[bucket] - before[bucket]))
        for group, deviation in _deviations(one, other).items():
            groups[group].append(deviation)
    return Noise(
        len(pairs),
        median(steps),
        {bucket: median(found) for bucket, found in buckets.items()},
        {group: _median_of(found, len(pairs)) for group, found in groups.items()},
    )


def group_of(operation: Operation) -> Group:
    """Return the group whose noise an operation shares."""
    return normal_name(operation.name), normal_path(operation.path)


def _deviations(one: Profile, other: Profile) -> Mapping[Group, float]:
    deltas: defaultdict[Group, float] = defaultdict(float)
    for profile, sign in ((one, -1.0), (other, 1.0)):
        for operation in profile.operations:
            deltas[group_of(operation)] += sign * operation.seconds
    return {group: abs(delta) for group, delta in deltas.items()}


def _median_of(found: Sequence[float], pairs: int) -> float:
    """Return the median over all pairs; one that does not have the group differs by nothing."""
    return median((*found, *(0.0,) * (pairs - len(found))))
