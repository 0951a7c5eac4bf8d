from dataclasses import replace

import numpy as np
import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.breakdown import (
    MAX_OPERATIONS,
    MAX_STEPS,
    OTHER_OPERATIONS,
    OUTSIDE_OPERATIONS,
    CallLabel,
    CallTimeline,
    breakdown,
    note_on_steps,
    representative_steps,
    windows_of,
)
from perfledger_profiles.timeline.intervals import nest


def timeline(labels, starts, ends, steps):
    start_ns, end_ns = np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
    numbers = np.arange(len(labels), dtype=np.int64)
    return CallTimeline(
        labels=labels,
        start_ns=start_ns,
        is_counted=np.ones(len(labels), dtype=np.bool_),
        layers=[nest(start_ns, end_ns, numbers).segments],
        windows=windows_of(steps),
    )


def profile(*timelines):
    return breakdown(timelines, workload="m:f", side=Side.BASE, tool="torch.profiler")


def lengths(windows):
    return (windows.end_ns - windows.start_ns).tolist()


def test_steps_are_put_in_order_empty_ones_dropped_and_overlaps_cut():
    assert lengths(windows_of([(20, 30), (0, 12), (10, 20), (25, 28), (40, 40)])) == [12, 8, 10]


def test_more_steps_than_any_profile_has_are_refused():
    spans = [(n, n + 1) for n in range(MAX_STEPS + 1)]

    assert len(lengths(windows_of(spans[:-1]))) == MAX_STEPS
    with pytest.raises(ProfileError, match="more than 50000 steps"):
        windows_of(spans)


def test_the_first_of_three_steps_is_left_out_but_not_of_two():
    assert lengths(representative_steps(windows_of([(0, 90), (100, 110), (110, 121)]))) == [10, 11]
    assert lengths(representative_steps(windows_of([(0, 90), (100, 110)]))) == [90, 10]


def test_a_step_far_longer_than_the_median_is_left_out_and_said_so():
    time_segments = windows_of([(0, 9), (10, 20), (20, 30), (30, 46), (50, 65)])

    kept_time_segments = representative_steps(time_segments)

    assert lengths(kept_time_segments) == [10, 10, 16, 15]
    assert note_on_steps(time_segments, kept_time_segments) == ()
    time_segments = windows_of([(0, 9), (10, 20), (20, 30), (30, 46)])
    assert lengths(representative_steps(time_segments)) == [10, 10]
    assert note_on_steps(time_segments, representative_steps(time_segments)) == (
        "1 of 4 steps left out: far longer than the median",
    )


def test_what_no_call_accounts_for_is_an_operation_too():
    found_profile = profile(timeline([CallLabel("a", Bucket.COMPUTE)], [2], [5], [(0, 10)]))

    assert [(o.name, o.bucket, o.seconds) for o in found_profile.operations] == [
        (OUTSIDE_OPERATIONS, Bucket.OTHER, pytest.approx(7e-9)),
        ("a", Bucket.COMPUTE, pytest.approx(3e-9)),
    ]
    assert found_profile.step_seconds == pytest.approx(10e-9)


def test_several_devices_are_averaged():
    label = CallLabel("a", Bucket.COMPUTE)

    found_profile = profile(
        timeline([label], [0], [10], [(0, 10)]), timeline([label], [0], [2], [(0, 10)])
    )

    assert [(o.name, o.seconds, o.count) for o in found_profile.operations] == [
        ("a", pytest.approx(6e-9), 1.0),
        (OUTSIDE_OPERATIONS, pytest.approx(4e-9), 0.0),
    ]


def test_a_call_is_counted_in_the_step_where_it_begins():
    found_profile = profile(timeline([CallLabel("a", Bucket.CPU)], [5], [15], [(0, 10), (10, 20)]))

    assert {o.name: (o.seconds, o.count) for o in found_profile.operations} == {
        "a": (pytest.approx(5e-9), 0.5),
        OUTSIDE_OPERATIONS: (pytest.approx(5e-9), 0.0),
    }


def test_the_longest_operations_are_kept_and_the_rest_is_folded_by_bucket():
    count = MAX_OPERATIONS + 30
    labels = [
        CallLabel(f"op {n:03}", Bucket.COMPUTE if n % 2 else Bucket.RUNTIME) for n in range(count)
    ]
    starts = np.cumsum([0, *range(count, 1, -1)])
    ends = starts + np.arange(count, 0, -1)

    found_profile = profile(timeline(labels, starts, ends, [(0, int(ends[-1]))]))

    folded = [o for o in found_profile.operations if o.name == OTHER_OPERATIONS]
    assert {o.bucket for o in folded} == {Bucket.COMPUTE, Bucket.RUNTIME}
    assert sum(o.count for o in folded) == 30
    assert len(found_profile.operations) == MAX_OPERATIONS + 2
    assert sum(o.seconds for o in found_profile.operations) == pytest.approx(
        found_profile.step_seconds, abs=1e-15
    )
    assert found_profile.operations == tuple(
        sorted(found_profile.operations, key=lambda o: -o.seconds)
    )


def test_no_step_with_a_length_is_an_error():
    with pytest.raises(ProfileError, match="no step with a length"):
        profile(timeline([], [], [], [(5, 5)]))


def test_calls_may_share_labels():
    found_profile = profile(
        CallTimeline(
            labels=[CallLabel("a", Bucket.COMPUTE), CallLabel("b", Bucket.CPU)],
            label=np.array([0, 1, 0]),
            start_ns=np.array([0, 2, 4]),
            is_counted=np.ones(3, dtype=np.bool_),
            layers=[nest(np.array([0, 2, 4]), np.array([2, 3, 8]), np.arange(3)).segments],
            windows=windows_of([(0, 10)]),
        )
    )

    assert {o.name: (o.seconds, o.count) for o in found_profile.operations} == {
        "a": (pytest.approx(6e-9), 2.0),
        "b": (pytest.approx(1e-9), 1.0),
        OUTSIDE_OPERATIONS: (pytest.approx(3e-9), 0.0),
    }


def test_each_step_has_its_own_buckets():
    labels = [CallLabel("a", Bucket.COMPUTE), CallLabel("b", Bucket.CPU)]

    first, second = profile(timeline(labels, [0, 5], [5, 14], [(0, 10), (10, 30)])).each_step

    assert (first.number, second.number) == (0, 1)
    assert dict(zip(Bucket, first.buckets, strict=True))[Bucket.CPU] == pytest.approx(5e-9)
    assert second.seconds == sum(second.buckets) == pytest.approx(20e-9)


def test_each_step_has_the_times_of_its_calls_in_the_order_of_their_starts():
    labels = [CallLabel(name, Bucket.COMPUTE) for name in "abaa"]
    # The second a lies wholly inside b, the third is cut by the end of the first step.
    found_profile = profile(timeline(labels, [4, 0, 1, 8], [6, 2, 1, 13], [(0, 10), (10, 20)]))

    rows = [operation.name for operation in found_profile.operations]
    first, second = (dict(zip(rows, step, strict=True)) for step in found_profile.call_times)
    assert first["a"] == pytest.approx((0.0, 2e-9, 2e-9))
    assert first["b"] == pytest.approx((2e-9,))
    assert second["a"] == pytest.approx((3e-9,))
    assert second["b"] == ()
    assert first[OUTSIDE_OPERATIONS] == pytest.approx((4e-9,))


def test_of_several_devices_each_operation_has_its_mean_time_in_each_step():
    labels = [CallLabel("a", Bucket.COMPUTE), CallLabel("a", Bucket.COMPUTE)]
    first = timeline(labels, [0, 5], [4, 7], [(0, 10), (10, 20)])
    second = timeline(labels, [2, 12], [4, 20], [(0, 10), (10, 20)])

    found_profile = profile(first, second)

    rows = [operation.name for operation in found_profile.operations]
    steps = [dict(zip(rows, step, strict=True)) for step in found_profile.call_times]
    assert [step["a"] for step in steps] == [pytest.approx((4e-9,)), pytest.approx((4e-9,))]
    means = [sum(step[row][0] for step in found_profile.call_times) / 2 for row in range(2)]
    assert means == pytest.approx([one.seconds for one in found_profile.operations])


def test_a_step_is_the_mean_over_the_devices_that_have_it():
    label = [CallLabel("a", Bucket.COMPUTE)]
    one, other = (timeline(label, [0], [end], [(0, 10)]) for end in (10, 4))
    longer = timeline(label, [0], [4], [(0, 10), (10, 20)])

    (both,) = profile(one, other).each_step
    first, second = profile(one, longer).each_step

    assert both.buckets[0] == first.buckets[0] == pytest.approx(7e-9)
    assert (second.seconds, second.buckets[0]) == (pytest.approx(10e-9), 0.0)


def test_devices_that_keep_different_steps_are_matched_by_number():
    label = [CallLabel("a", Bucket.COMPUTE)]
    whole_call_timeline = timeline(label, [0], [40], [(0, 4), (4, 10), (10, 20), (20, 40)])
    one, other, last = (
        replace(
            whole_call_timeline,
            windows=whole_call_timeline.windows.where(
                np.isin(whole_call_timeline.windows.owner, kept_owners)
            ),
        )
        for kept_owners in ([1, 2, 3], [0, 2, 3], [2, 3])
    )

    steps = profile(one, other, last).each_step

    assert [step.number for step in steps] == [1, 2, 3]
    assert [step.seconds for step in steps] == pytest.approx([6e-9, 10e-9, 20e-9])
