import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.activity import (
    MAX_SAMPLES,
    MAX_TIMELINES,
    Holder,
    Signal,
    Timeline,
    export_of,
    within,
)
from perfledger_cost_models.activity_file import read_activity
from perfledger_cost_models.usage import MAX_USAGE_BYTES, UsageFileError

T0 = 1_790_000_000.0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "no export of activity", id="empty"),
        pytest.param(b"\xff\xfe\x00", "UTF-8", id="no text"),
        pytest.param(b"a,b\n1,2\n", "no export of activity", id="another table"),
        pytest.param(b'{"a": 1}', "no export of activity", id="another JSON"),
        pytest.param(b"x" * 300_000, "field|too long", id="a huge cell"),
        pytest.param(b"," * 5000, "too long", id="many columns"),
        pytest.param(b" " * (MAX_USAGE_BYTES + 1), "larger than", id="too large"),
    ],
)
def test_a_file_of_no_known_kind_is_an_error(data, message):
    with pytest.raises(UsageFileError, match=message):
        read_activity(data, "x")


@pytest.mark.slow
@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_read_or_refused(data):
    for prefix in (b"", b'{"resultType":', b'{"MetricDataResults":', b'{"timeSeries":', b"JobID|"):
        with pytest.raises(UsageFileError):
            read_activity(prefix + data, "x")


def timeline(*samples, device="a"):
    return Timeline(holder=Holder(), device=device, signal=Signal.GPU_UTIL, samples=samples)


def test_a_sample_that_is_a_little_late_is_no_gap():
    export = export_of("x", "made up", [timeline((T0, 0.5), (T0 + 10, 0.5), (T0 + 24, 0.5))])

    (found,) = export.activities
    assert (found.ends - found.starts).sum() == 34  # the last stands for a step


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

    (found,) = export_of("x", "made up", [timeline(*reversed(samples))]).activities

    assert found.shares.tolist() == shares
    assert np.all(found.ends[:-1] <= found.starts[1:])
    assert found.ends[-1] - found.starts[0] == step * len(shares)


@given(st.integers(0, 1200), st.integers(0, 1200))
def test_periods_that_follow_each_other_tell_as_much_as_the_whole(first, second):
    export = export_of(
        "x",
        "made up",
        [timeline(*((T0 + 100 * at, at / 20) for at in range(12))), timeline((T0 + 5, 0.5))],
    )
    start, middle, end = T0 - 1, T0 + min(first, second), T0 + 2000

    parts = [within(export, start, middle), within(export, middle, end)]

    def seconds(*exports):
        found = [each for one in exports for each in one.activities]
        return (
            sum(float((each.ends - each.starts).sum()) for each in found),
            sum(float(((each.ends - each.starts) * each.shares).sum()) for each in found),
        )

    assert seconds(*parts) == pytest.approx(seconds(export))


def test_a_device_of_which_a_period_tells_nothing_is_not_in_it():
    export = export_of("x", "made up", [timeline((T0, 0.5), (T0 + 10, 0.5))])

    assert within(export, T0 + 20, T0 + 40).activities == ()
