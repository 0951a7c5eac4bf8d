import pytest

from perfledger.profile import Bucket
from perfledger_profiles.timeline.step_picture import MAX_SLICES


def test_slices_are_of_the_step_nearest_to_the_median_since_it_began(trace):
    for number, (begin, length) in enumerate([(0, 500), (500, 100), (600, 110), (710, 130)]):
        trace.step(number, begin, length).add("aten::linear", begin + 5, length - 10)
        trace.add("aten::addmm", begin + 10, length - 20)
        trace.add("gemm", begin + 20, 10, cat="kernel", thread=(0, 7), stream=7)
        trace.add("backward", begin + 30, 10, thread=(1, 2))

    slices = trace.read().slices

    assert [(s.lane, s.name, s.depth) for s in slices] == [
        ("host", "aten::linear", 0),
        ("host", "aten::addmm", 1),
        ("stream 7", "gemm", 0),
        ("thread 2", "backward", 0),
    ]
    assert slices[0].start_seconds == pytest.approx(5e-6)
    assert slices[0].seconds == pytest.approx(100e-6)
    assert slices[2].bucket is Bucket.COMPUTE


def test_only_the_longest_slices_are_kept_and_cut_to_the_step(trace):
    trace.step(1, 0, 1000).add("before", -0, 5).add("over", 990, 500)
    for number in range(MAX_SLICES + 20):
        trace.add("k", 2 * number, 1 + number % 2 * 0.5, cat="kernel", thread=(0, number % 3))

    slices = trace.read().slices

    assert len(slices) == MAX_SLICES
    assert max(s.start_seconds + s.seconds for s in slices) == pytest.approx(1000e-6)


def test_calls_that_only_touch_the_step_are_no_slices_of_it(trace):
    for number, begin in enumerate((0, 100, 220)):
        trace.step(number, begin, 100 + number).add("aten::linear", begin + 10, 80)
    trace.add("before", 90, 10, cat="kernel", thread=(0, 7)).add("after", 201, 9, cat="kernel")

    slices = trace.read().slices

    assert [s.name for s in slices] == ["aten::linear"]
