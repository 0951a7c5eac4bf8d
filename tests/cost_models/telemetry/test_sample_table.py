import numpy as np
import pytest

from perfledger_cost_models.telemetry.activity_samples import Activity, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.sample_table import (
    group_samples,
    hourly_activity,
    quantiles,
    sums_by,
    table_of,
)
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

HOUR = 3600.0
START = 1_790_812_800.0  # 2026-10-01T00:00:00Z, a whole hour
NLP, VISION = DeviceOwner(team="nlp"), DeviceOwner(team="vision")


def activity(shares, *, start=0.0, step=600.0, owner=NLP, device="a", **more):
    starts = START + start + step * np.arange(len(shares))
    return Activity(
        owner=owner,
        device=device,
        signal=Signal.GPU_UTIL,
        starts=starts,
        ends=starts + step,
        shares=np.array(shares, dtype=float),
        **more,
    )


def table(*activities):
    return table_of([ActivityExport(name="x", kind="made up", activities=activities)])


def samples(*activities):
    return table(*activities).signals[Signal.GPU_UTIL]


def test_a_table_has_the_period_of_all_files_and_each_devices_model():
    activity_table = table(
        activity([1.0] * 6, model="H100"), activity([0.0], device="b", start=HOUR)
    )

    assert (activity_table.devices, activity_table.models, activity_table.owners) == (
        ("a", "b"),
        ("H100", ""),
        (NLP,),
    )
    assert activity_table.hours == pytest.approx((HOUR + 600) / HOUR)


def test_no_activity_is_an_error():
    with pytest.raises(UsageFileError, match="no export of activity"):
        table()


def test_owners_at_one_time_share_a_device_evenly():
    shared = samples(activity([1.0, 1.0]), activity([1.0], owner=VISION))

    assert sorted(shared.seconds.tolist()) == [300.0, 300.0, 600.0]


def test_a_device_that_stands_for_two_has_twice_the_seconds():
    assert samples(activity([1.0], devices=2.0)).seconds.tolist() == [1200.0]


def test_an_unknown_time_counts_where_its_owner_comes_back_and_nobody_had_the_device():
    later = activity([1.0], start=1800.0)

    assert samples(activity([1.0]), later).missing.tolist() == [1200.0, 0.0]
    between = activity([1.0], owner=VISION, start=900.0)
    assert samples(activity([1.0]), later, between).missing.sum() == 0.0


@pytest.mark.parametrize(("start", "is_refused"), [(300.0, False), (299.0, True), (600.0, False)])
def test_files_may_overlap_by_half_a_sample(start, is_refused):
    pair = activity([1.0]), activity([0.5], start=start)

    if is_refused:
        with pytest.raises(UsageFileError, match="device 'a' appears twice for the same time"):
            samples(*pair)
    else:
        assert samples(*pair).seconds.tolist() == [start, 600.0]


def test_a_quantile_is_of_device_time():
    shares = samples(activity([0.1, 0.2, 0.3, 0.4]))

    assert quantiles(shares, 0.25, 0.5, 0.51, 1.0) == (0.1, 0.2, 0.3, 0.4)


def test_half_of_the_seconds_is_half_however_they_add_up():
    shares = samples(activity([0.1] * 3 + [0.9] * 3, step=0.1))

    assert quantiles(shares, 0.5) == (0.1,)


def test_a_sample_that_spans_two_hours_is_divided():
    hours = hourly_activity(samples(activity([0.5], start=HOUR - 150.0)))

    first = int(START // HOUR)
    assert hours.hour.tolist() == [first, first + 1]
    assert hours.seconds.tolist() == pytest.approx([150.0, 450.0])
    assert hours.used.tolist() == pytest.approx([75.0, 225.0])


@pytest.mark.parametrize(("step", "seconds"), [(HOUR, [HOUR]), (HOUR + 1, [])])
def test_a_sample_of_more_than_an_hour_says_nothing_of_one_hour(step, seconds):
    assert hourly_activity(samples(activity([1.0], step=step))).seconds.tolist() == seconds


def test_samples_are_grouped_by_their_owners():
    both = samples(activity([0.1, 0.2]), activity([0.3], owner=VISION, device="b"))

    first, second, third = group_samples(both, np.array([2, 0]), 3)

    assert (first.shares.tolist(), len(second)) == ([0.3], 0)
    assert third.shares.tolist() == [0.1, 0.2]


def test_weights_are_summed_for_all_places():
    sums = sums_by(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 4)

    assert sums.tolist() == [1.0, 0.0, 5.0, 0.0]
