"""Computes the bars of a waterfall from base's step to head's."""

from math import fsum, sqrt
from statistics import median

from perfledger.profile import Bucket, Profile
from perfledger_profiles.diff.cause import BucketChange
from perfledger_profiles.diff.noise import ProfileNoise
from perfledger_profiles.diff.operations import operations_of

# Converts a median absolute deviation to a standard deviation for normally distributed values.
_NORMAL = 1.4826
# One step has no spread.
_MIN_STEPS = 2


def waterfall(base: Profile, head: Profile, noise: ProfileNoise) -> tuple[BucketChange, ...]:
    """Return each bucket's change, in the order of Bucket; they sum to the step's change.

    Time of a step that no operation accounts for belongs to OTHER, as in `Profile`. A bar's noise
    is the larger of two values: the difference of pairs of the same code, and the standard error of
    the difference of two means over steps.
    """
    before, after = _all_seconds(base), _all_seconds(head)
    return tuple(
        BucketChange(
            bucket=bucket,
            base_seconds=before[bucket],
            head_seconds=after[bucket],
            noise_seconds=max(
                noise.buckets.get(bucket, 0.0),
                sqrt(_variance_of_mean(base, bucket) + _variance_of_mean(head, bucket)),
            ),
        )
        for bucket in Bucket
    )


def _all_seconds(profile: Profile) -> dict[Bucket, float]:
    spent = dict.fromkeys(Bucket, 0.0)
    for operation in operations_of(profile):
        spent[operation.bucket] += operation.seconds
    spent[Bucket.OTHER] += profile.step_seconds - fsum(spent.values())
    return spent


def _variance_of_mean(profile: Profile, bucket: Bucket) -> float:
    """Return the squared standard error of a bucket's mean over the kept steps; 0 if unknown."""
    number = tuple(Bucket).index(bucket)
    spent = [step.buckets[number] for step in profile.each_step if number < len(step.buckets)]
    if len(spent) < _MIN_STEPS:
        return 0.0
    middle = median(spent)
    deviation = _NORMAL * median(abs(seconds - middle) for seconds in spent)
    return deviation * deviation / len(spent)
