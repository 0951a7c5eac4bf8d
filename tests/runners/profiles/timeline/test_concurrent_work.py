import pytest

from perfledger.profile import Bucket
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.device_advice import FUSE
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_profiles.timeline.concurrent_work import ALONE_TIME

GEMM = "ampere_bf16_s16816gemm_bf16_128x128"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def on_streams(trace, *works):
    """Return the trace with three steps of 1 ms; works are name, stream, begin and length."""
    for number in range(3):
        begin = 1000 * number
        trace.step(number, begin, 1000)
        for name, stream, at, lasts in works:
            where = {"cat": "kernel", "thread": (0, stream), "stream": stream}
            trace.add(name, begin + at, lasts, **where)
    return trace


def alone(profile):
    return {one.subject: one.value for one in profile.readings if one.name == ALONE_TIME}


@pytest.mark.parametrize("order", [1, -1])
def test_kernels_that_run_at_once_share_the_time_evenly(trace, micros, order):
    works = [(GEMM, 7, 0, 800), (ADD, 8, 0, 800)][::order]

    profile = on_streams(trace, *works).read()

    assert micros(profile) == {GEMM: 400, ADD: 400, OUTSIDE_OPERATIONS: 200}
    assert alone(profile) == {GEMM: 0, ADD: 0}


def test_small_kernels_beside_a_long_one_take_only_their_part_of_its_time(trace, micros):
    """The add runs at 100 and 500 beside the product, and at 900 beside nothing."""
    works = [(GEMM, 7, 0, 800), *((ADD, 8, at, 100) for at in (100, 500, 850))]

    profile = on_streams(trace, *works).read()

    assert micros(profile) == {GEMM: 700, ADD: 200, OUTSIDE_OPERATIONS: 100}
    assert alone(profile) == {
        GEMM: pytest.approx(600e-6),
        ADD: pytest.approx(100e-6),
    }
    (row,) = [
        row
        for one, row in zip(profile.operations, profile.call_times[0], strict=True)
        if one.name == ADD
    ]
    assert row == (pytest.approx(50e-6), pytest.approx(50e-6), pytest.approx(100e-6))


def test_three_kernels_take_a_third_each_where_all_of_them_run(trace, micros):
    works = [("a", 7, 0, 600), ("b", 8, 200, 200), ("c", 9, 200, 400)]

    # a alone for 200, all three for 200, a and c for 200.
    thirds = 200 / 3
    assert micros(on_streams(trace, *works).read()) == {
        "a": 200 + thirds + 100,
        "b": thirds,
        "c": thirds + 100,
        OUTSIDE_OPERATIONS: 400,
    }


def test_collectives_share_only_the_time_that_compute_leaves(trace):
    works = [(GEMM, 7, 0, 500), (NCCL, 8, 300, 400), (f"{NCCL}2", 9, 300, 400)]

    profile = on_streams(trace, *works).read()

    seconds = {one.name: one.seconds for one in profile.operations}
    assert seconds[GEMM] == pytest.approx(500e-6)
    assert seconds[NCCL] == seconds[f"{NCCL}2"] == pytest.approx(100e-6)
    assert profile.bucket_seconds()[Bucket.COMMUNICATION] == pytest.approx(200e-6)


def test_on_one_stream_the_inner_call_owns_its_time(trace, micros):
    profile = on_streams(trace, ("outer", 7, 0, 600), ("inner", 7, 200, 200)).read()

    assert micros(profile) == {"outer": 400, "inner": 200, OUTSIDE_OPERATIONS: 400}
    assert alone(profile) == {}


@pytest.mark.parametrize(
    ("stream", "saved"), [(7, (0.15,)), (8, ())], ids=["one after the other", "at once"]
)
def test_fusing_saves_nothing_where_a_product_runs_at_once(trace, stream, saved):
    """Three adds of 100 us, after the product on its stream or beside it on another one."""
    begin = 600 if stream == 7 else 100
    works = [(GEMM, 7, 0, 600), *((ADD, stream, begin + 100 * n, 100) for n in range(3))]
    profile = on_streams(trace, *works).read()

    found_recommendations = recommendations(profile, classify(profile))

    assert [one.saved_share for one in found_recommendations if one.text == FUSE.text] == [
        pytest.approx(share) for share in saved
    ]
