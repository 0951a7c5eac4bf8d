import pytest

from perfledger.profile import Bucket, DeviceStep
from perfledger_service.rendering.trace.device_rows import device_rows, slowest_device


def step(name, *, overlap=None, **spent):
    buckets = tuple(spent.get(bucket.value, 0.0) for bucket in Bucket)
    return DeviceStep(
        name=name, steps=1, step_seconds=sum(buckets), buckets=buckets, overlap=overlap
    )


def test_each_device_has_a_row_then_the_mean_and_the_spread():
    rows = device_rows(
        [
            step("device 0", compute=0.2, memset=0.1, communication=0.1, overlap=0.25),
            step("device 1", compute=0.4, copy=0.1, cpu=0.3),
        ]
    )

    assert [(row.name, row.step, row.mark) for row in rows] == [
        ("device 0", "400\u00a0ms", ""),
        ("device 1", "800\u00a0ms", "slowest"),
        ("mean", "600\u00a0ms", ""),
        ("spread", "400\u00a0ms", ""),
    ]
    assert [row.compute for row in rows] == [
        "300\u00a0ms",
        "400\u00a0ms",
        "350\u00a0ms",
        "100\u00a0ms",
    ]
    assert [row.overlap for row in rows] == ["25\u00a0%", "", "", ""]
    assert [row.rest for row in rows] == ["0\u00a0s", "300\u00a0ms", "150\u00a0ms", "300\u00a0ms"]


def test_one_device_needs_no_table():
    assert device_rows([]) == ()


def test_among_steps_of_one_length_the_others_wait_for_the_one_that_works_longest():
    first = step("device 0", compute=0.7, communication=0.301)
    second = step("device 1", compute=0.9, communication=0.1)

    assert slowest_device([first, second]) is second
    assert [row.mark for row in device_rows([first, second])] == ["", "straggler", "", ""]


@pytest.mark.parametrize("waited", [0.0, 0.1])
def test_no_device_is_marked_if_all_take_and_wait_equally_long(waited):
    first = step("device 0", compute=0.9, communication=waited)
    second = step("device 1", compute=0.9001, communication=waited)

    assert [row.mark for row in device_rows([first, second])] == [""] * 4


def test_the_longest_step_is_the_slowest_whatever_it_is_spent_on():
    first = step("device 0", compute=0.1, other=0.95)
    second = step("device 1", compute=0.9, communication=0.1)

    assert slowest_device([first, second]) is first


@pytest.mark.parametrize(("shorter", "slowest"), [(0.991, 1), (0.989, 0)])
def test_steps_count_as_equally_long_up_to_a_hundredth(shorter, slowest):
    steps = [step("device 0", compute=0.5, communication=0.5), step("device 1", compute=shorter)]

    assert slowest_device(steps) is steps[slowest]
