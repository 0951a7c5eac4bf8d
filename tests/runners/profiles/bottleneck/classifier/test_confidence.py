"""What a recording must repeat for a label to be more than of low confidence."""

import pytest

from perfledger.profile import Bucket, Operation, Profile, ProfiledDevice, ProfiledStep
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import BottleneckConfidence
from perfledger_profiles.bottleneck.classifier import classify

MEDIUM, LOW = BottleneckConfidence.MEDIUM, BottleneckConfidence.LOW


def busy_host(share, *, steps, **more):
    """Return steps of one second in which a device waits this share of the time for its host."""
    spent = {Bucket.CPU: share, Bucket.COMPUTE: 1 - share}
    buckets = tuple(spent.get(bucket, 0.0) for bucket in Bucket)
    return Profile(
        workload="m:f",
        side=Side.HEAD,
        tool="torch.profiler",
        steps=steps,
        step_seconds=1.0,
        operations=more.pop("operations", ()),
        device=ProfiledDevice(name="NVIDIA A100-SXM4-40GB"),
        each_step=tuple(ProfiledStep(number=n, seconds=1.0, buckets=buckets) for n in range(steps)),
        **more,
    )


@pytest.mark.parametrize(("share", "confidence"), [(0.8, MEDIUM), (0.79, LOW)])
def test_two_steps_are_enough_for_a_share_that_dwarfs_the_others(share, confidence):
    assert classify(busy_host(share, steps=2)).confidence is confidence


@pytest.mark.parametrize("has_steps", [True, False])
def test_one_step_shows_too_little_whatever_its_shares(has_steps):
    alone = busy_host(0.95, steps=1, has_steps=has_steps)

    assert classify(alone).confidence is LOW


@pytest.mark.parametrize(("iterations", "confidence"), [(3.0, MEDIUM), (2.9, LOW)])
def test_kernels_that_repeat_show_what_one_recording_does_not(iterations, confidence):
    recording = busy_host(0.8, steps=1, has_steps=False, iterations=iterations)

    assert classify(recording).confidence is confidence


@pytest.mark.parametrize(("waits", "confidence"), [(0.4, LOW), (0.3, BottleneckConfidence.HIGH)])
def test_a_wait_for_xla_without_operations_may_be_the_profilers_or_other_programs(
    waits, confidence
):
    """The recording of each call takes time, which the host waits for."""
    times = {"(XLA runtime)": waits, "PjitFunction(f)": 0.3}
    operations = [
        Operation(name=name, bucket=Bucket.RUNTIME, seconds=seconds, count=4000.0)
        for name, seconds in times.items()
    ]
    profile = busy_host(0.9, steps=4, operations=tuple(operations))

    classification = classify(profile)

    assert classification.confidence is confidence
    doubt = (
        "for 40 % of the step the host waits for XLA while none of its operations runs: other "
        "programs lengthen that, and so does recording 8,000 calls a step; a step without a "
        "profiler shows by how much"
    )
    assert (doubt in classification.reasons) is (confidence is LOW)
