from dataclasses import replace

import pytest

from perfledger.profile import Bucket, ProfileReading
from perfledger_profiles.bottleneck.classification import BottleneckDetail
from perfledger_profiles.bottleneck.communication_bound import communication_detail


def detail(make, *, bucket=Bucket.COMPUTE, **values):
    readings = tuple(ProfileReading(name=name, value=value) for name, value in values.items())
    profile = make.profile(make.operation("gemm", 1.0, bucket=bucket))
    return communication_detail(replace(profile, readings=readings))


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ({}, BottleneckDetail.NONE),
        ({"comm_start_skew": 0.11}, BottleneckDetail.STRAGGLER),
        ({"comm_start_skew": 0.10}, BottleneckDetail.NONE),
        ({"comm_message_bytes": 2**20 - 1}, BottleneckDetail.SMALL_MESSAGES),
        ({"comm_message_bytes": 2**20}, BottleneckDetail.NONE),
        ({"bus_bw_of_curve": 0.70}, BottleneckDetail.BANDWIDTH),
        ({"bus_bw_of_curve": 0.69}, BottleneckDetail.NONE),
        ({"comm_overlap": 0.29}, BottleneckDetail.NO_OVERLAP),
        ({"comm_overlap": 0.30}, BottleneckDetail.NONE),
    ],
)
def test_each_kind_has_its_mark(make, readings, expected):
    assert detail(make, **readings) is expected


def test_late_ranks_come_before_all_else(make):
    bottleneck_detail = detail(
        make,
        comm_start_skew=0.5,
        comm_message_bytes=1.0,
        bus_bw_of_curve=0.9,
        comm_overlap=0.0,
    )

    assert bottleneck_detail is BottleneckDetail.STRAGGLER


def test_without_compute_there_is_nothing_to_run_beside(make):
    assert detail(make, bucket=Bucket.COMMUNICATION, comm_overlap=0.0) is BottleneckDetail.NONE
