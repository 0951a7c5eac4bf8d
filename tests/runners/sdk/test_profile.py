from perfledger.profile import Bucket, Operation, Profile, ProfileReading
from perfledger.records import Side

PROFILE = Profile(
    workload="m:f",
    side=Side.HEAD,
    tool="torch.profiler",
    steps=4,
    step_seconds=0.75,
    operations=(
        Operation(name="gemm", bucket=Bucket.COMPUTE, seconds=0.25, count=1.0),
        Operation(name="relu", bucket=Bucket.COMPUTE, seconds=0.25, count=2.0),
        Operation(name="load", bucket=Bucket.INPUT, seconds=0.25, count=1.0),
    ),
    readings=(
        ProfileReading(name="gpu_busy", value=0.5),
        ProfileReading(name="gpu_busy", value=0.25, subject="gpu 1"),
    ),
)


def test_every_bucket_has_its_seconds_and_they_sum_to_the_step():
    seconds = PROFILE.bucket_seconds()

    assert list(seconds) == list(Bucket)
    assert (seconds[Bucket.COMPUTE], seconds[Bucket.INPUT], seconds[Bucket.COPY]) == (0.5, 0.25, 0)
    assert sum(seconds.values()) == PROFILE.step_seconds


def test_a_reading_is_found_by_its_name_and_subject():
    assert PROFILE.reading("gpu_busy") == 0.5
    assert PROFILE.reading("gpu_busy", subject="gpu 1") == 0.25
    assert PROFILE.reading("comm_overlap") is None
