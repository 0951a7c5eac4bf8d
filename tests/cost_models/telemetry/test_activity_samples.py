import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.telemetry.activity_samples import (
    MAX_SAMPLES,
    MAX_TIMELINES,
    ActivityTimeline,
    DeviceOwner,
    clip_export,
    export_of,
)
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

T0 = 1_790_000_000.0


def timeline(*samples, device="a"):
    return ActivityTimeline(
        owner=DeviceOwner(), device=device, signal=Signal.GPU_UTIL, samples=samples
    )


def test_a_sample_that_is_a_little_late_is_no_gap():
    export = export_of("x", "made up", [timeline((T0, 0.5), (T0 + 10, 0.5), (T0 + 24, 0.5))])

    (activity,) = export.activities
    assert (activity.ends - activity.starts).sum() == 34  # the last stands for a step


def test_the_usual_step_is_that_of_the_whole_file():
    steady = timeline(*((T0 + 10 * at, 0.5) for at in range(9)), device="b")

    export = export_of("x", "made up", [timeline((T0, 0.5), (T0 + 500, 0.5)), steady])

    assert (export.activities[0].ends - export.activities[0].starts).tolist() == [10, 10]


@pytest.mark.parametrize(
    "timelines",
    [
        [timeline(*((T0, 0.5),) * (MAX_SAMPLES + 1))],
        [timeline((T0, 0.5))] * (MAX_TIMELINES + 1),
    ],
)
def test_more_than_fits_is_an_error(timelines):
    with pytest.raises(UsageFileError, match="more than"):
        export_of("x", "made up", timelines)


@pytest.mark.slow
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=30),
    st.integers(1, 4000),
)
def test_samples_come_back_in_order_and_never_overlap(shares, step):
    samples = [(T0 + step * at, share) for at, share in enumerate(shares)]

    (activity,) = export_of("x", "made up", [timeline(*reversed(samples))]).activities

    assert activity.shares.tolist() == shares
    assert np.all(activity.ends[:-1] <= activity.starts[1:])
    assert activity.ends[-1] - activity.starts[0] == step * len(shares)


@given(st.integers(0, 1200), st.integers(0, 1200))
def test_consecutive_periods_add_up_to_the_full_export(first, second):
    export = export_of(
        "x",
        "made up",
        [timeline(*((T0 + 100 * at, at / 20) for at in range(12))), timeline((T0 + 5, 0.5))],
    )
    start, middle, end = T0 - 1, T0 + min(first, second), T0 + 2000

    parts = [clip_export(export, start, middle), clip_export(export, middle, end)]

    def seconds(*exports):
        activities = [each for one in exports for each in one.activities]
        return (
            sum(float((each.ends - each.starts).sum()) for each in activities),
            sum(float(((each.ends - each.starts) * each.shares).sum()) for each in activities),
        )

    assert seconds(*parts) == pytest.approx(seconds(export))


def test_a_device_without_samples_in_a_period_is_not_in_it():
    export = export_of("x", "made up", [timeline((T0, 0.5), (T0 + 10, 0.5))])

    assert clip_export(export, T0 + 20, T0 + 40).activities == ()
