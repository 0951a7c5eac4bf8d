from perfledger.profile import Bucket
from perfledger_profiles.diff.cause import BucketChange, Cause, ChangeKind


def test_a_cause_adds_what_head_takes_longer_than_base():
    cause = Cause(
        name="gemm",
        base_name="gemm",
        kind=ChangeKind.RATE,
        base_seconds=0.25,
        head_seconds=1.0,
        base_count=1.0,
        head_count=1.0,
    )

    assert cause.delta_seconds == 0.75


def test_a_bucket_that_got_faster_has_a_negative_delta():
    change = BucketChange(bucket=Bucket.COPY, base_seconds=1.0, head_seconds=0.25)

    assert change.delta_seconds == -0.75
