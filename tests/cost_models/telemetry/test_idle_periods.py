"""Series made up here: what jobs held and did not use, what was seen and how sure that is."""

import numpy as np
import pytest

from perfledger_cost_models.telemetry.activity_samples import Activity, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.idle_periods import idle_jobs
from perfledger_cost_models.telemetry.sample_table import table_of
from perfledger_cost_models.telemetry.signals import Signal

T0 = 1_790_000_000.0
JOB = DeviceOwner(team="nlp", job="train")


def activity(
    shares, *, device="a", signal=Signal.GPU_UTIL, holder=JOB, step=60.0, start=0.0, **more
):
    starts = T0 + start + step * np.arange(len(shares), dtype=np.float64)
    return Activity(
        owner=holder,
        device=device,
        signal=signal,
        starts=starts,
        ends=starts + step,
        shares=np.array(shares, dtype=float),
        **more,
    )


def jobs(*activities):
    return idle_jobs(table_of([ActivityExport(name="x", kind="made up", activities=activities)]))


def test_a_job_that_does_nothing_for_hours_is_told_with_what_was_seen():
    (idle_job,) = jobs(activity([0.9] * 10 + [0.01] * 120 + [0.9] * 10))

    assert idle_job.owner == JOB
    assert (idle_job.device_hours, idle_job.stretches, idle_job.devices) == (2.0, 1, 1.0)
    assert (idle_job.start - T0, idle_job.end - T0) == (600, 600 + 7200)
    assert (idle_job.highest, idle_job.samples) == (0.01, 120)
    assert idle_job.memory is None


def test_how_sure_that_is_comes_from_how_often_it_was_looked_at():
    (often,) = jobs(activity([0.0] * 120))
    (once,) = jobs(activity([0.0], step=7200.0))

    assert often.busy_at_most == pytest.approx(1 - 0.05 ** (1 / 120))
    assert often.busy_at_most == pytest.approx(3 / 120, rel=0.02)  # the rule of three
    assert often.least_hours == pytest.approx(2 * (1 - often.busy_at_most))
    assert once.busy_at_most == pytest.approx(0.95)


def test_highest_values_were_polled_every_half_minute():
    (idle_job,) = jobs(activity([0.0], step=7200.0, is_peak=True, devices=4.0))

    assert (idle_job.samples, idle_job.device_hours, idle_job.devices) == (240, 8.0, 4.0)


@pytest.mark.parametrize(
    "activities",
    [
        pytest.param([activity([0.0] * 59)], id="less than an hour"),
        pytest.param([activity([0.03] * 600)], id="a little"),
        pytest.param([activity([0.0] * 59 + [1.0] + [0.0] * 59)], id="work in between"),
        pytest.param(
            [activity([0.0] * 50), activity([0.0] * 50, start=3600.0)], id="a gap in between"
        ),
        pytest.param([activity([0.0] * 600, holder=DeviceOwner(is_free=True))], id="nobody's"),
        pytest.param([activity([0.0] * 600, signal=Signal.TENSOR_ACTIVE)], id="no matrices"),
        pytest.param(
            [activity([1.0] * 600), activity([0.0] * 600, signal=Signal.SM_ACTIVE)],
            id="kernels ran",
        ),
    ],
)
def test_what_is_no_idle_stretch(activities):
    assert jobs(*activities) == ()


def test_sm_active_tells_where_gpu_util_is_not_known():
    (idle_job,) = jobs(
        activity([0.0] * 60, signal=Signal.SM_ACTIVE), activity([1.0] * 60, device="b")
    )

    assert idle_job.signal is Signal.SM_ACTIVE


def test_a_jobs_devices_are_told_together_and_the_longest_job_first():
    other = DeviceOwner(team="ads", job="idle")

    first, second = jobs(
        activity([0.0] * 60),
        activity([0.0] * 90 + [1.0] * 10 + [0.0] * 60, device="b"),
        activity([0.0] * 80, device="c", holder=other),
    )

    assert (first.owner, first.stretches, first.devices) == (JOB, 3, 2.0)
    assert first.device_hours == pytest.approx(3.5)
    assert first.end - first.start == 90 * 60
    assert second.owner == other


def test_memory_that_is_held_meanwhile_is_told():
    (idle_job,) = jobs(
        activity([1.0] * 60 + [0.0] * 60),
        activity([0.9] * 60 + [0.5] * 60, signal=Signal.MEMORY),
        activity([0.1] * 120, signal=Signal.MEMORY, device="b"),
    )

    assert idle_job.memory == pytest.approx(0.5)
