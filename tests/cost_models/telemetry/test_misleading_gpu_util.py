"""Series made up here, after a T4 in production: GPU-util 91 %, GR-engine-active 15.6 %."""

import numpy as np
import pytest

from perfledger_cost_models.telemetry.activity_samples import Activity, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.misleading_gpu_util import misleading_utilizations
from perfledger_cost_models.telemetry.sample_table import table_of
from perfledger_cost_models.telemetry.signals import Signal

T0 = 1_790_000_000.0
JOB = DeviceOwner(team="nlp", job="serve")


def activity(share, signal, *, holder=JOB, device="a", hours=4, start=0.0, step=600.0):
    starts = T0 + start + step * np.arange(int(hours * 3600 / step), dtype=np.float64)
    return Activity(
        owner=holder,
        device=device,
        signal=signal,
        starts=starts,
        ends=starts + step,
        shares=np.full(len(starts), share),
    )


def herrings(*activities):
    return misleading_utilizations(
        table_of([ActivityExport(name="x", kind="made up", activities=activities)])
    )


def test_a_job_that_looks_busy_and_is_not_is_told():
    (misleading_utilization,) = herrings(
        activity(0.91, Signal.GPU_UTIL),
        activity(0.156, Signal.SM_ACTIVE),
        activity(0.006, Signal.TENSOR_ACTIVE),
    )

    assert (misleading_utilization.owner, misleading_utilization.device_hours) == (
        JOB,
        pytest.approx(4.0),
    )
    assert (misleading_utilization.gpu_util, misleading_utilization.sm_active) == (
        pytest.approx(0.91),
        pytest.approx(0.156),
    )
    assert misleading_utilization.tensor_active == pytest.approx(0.006)
    assert misleading_utilization.hours_apart == pytest.approx(4 * (0.91 - 0.156))


@pytest.mark.parametrize(("util", "active"), [(0.69, 0.1), (0.9, 0.5), (0.95, 0.9)])
def test_what_is_no_red_herring(util, active):
    assert herrings(activity(util, Signal.GPU_UTIL), activity(active, Signal.SM_ACTIVE)) == ()


def test_only_hours_in_which_both_are_known_are_compared():
    (misleading_utilization,) = herrings(
        activity(1.0, Signal.GPU_UTIL),
        activity(0.0, Signal.GPU_UTIL, start=4 * 3600),
        activity(0.1, Signal.SM_ACTIVE),
        activity(0.9, Signal.SM_ACTIVE, device="b"),
        activity(1.0, Signal.TENSOR_ACTIVE, holder=DeviceOwner(job="other"), device="c"),
    )

    assert misleading_utilization.device_hours == pytest.approx(4.0, rel=0.2)
    assert misleading_utilization.sm_active == pytest.approx(0.1)
    assert misleading_utilization.tensor_active is None


def test_engine_active_bounds_sm_active_where_that_is_not_known():
    other = DeviceOwner(job="other")

    found_misleading_utilizations = herrings(
        activity(0.91, Signal.GPU_UTIL),
        activity(0.156, Signal.ENGINE_ACTIVE),
        activity(0.9, Signal.GPU_UTIL, holder=other, device="b"),
        activity(0.45, Signal.ENGINE_ACTIVE, holder=other, device="b"),
        activity(0.3, Signal.SM_ACTIVE, holder=other, device="b"),
    )

    assert [(each.sm_active, each.engine_active) for each in found_misleading_utilizations] == [
        (None, pytest.approx(0.156)),
        (pytest.approx(0.3), None),
    ]
    assert found_misleading_utilizations[0].hours_apart == pytest.approx(4 * (0.91 - 0.156))


def test_one_signal_alone_compares_with_nothing():
    assert herrings(activity(1.0, Signal.GPU_UTIL)) == ()
    assert herrings(activity(1.0, Signal.SM_ACTIVE)) == ()


def test_the_most_hours_apart_come_first():
    other = DeviceOwner(job="other")

    found_misleading_utilizations = herrings(
        activity(0.9, Signal.GPU_UTIL),
        activity(0.4, Signal.SM_ACTIVE),
        activity(0.9, Signal.GPU_UTIL, holder=other, device="b"),
        activity(0.1, Signal.SM_ACTIVE, holder=other, device="b"),
    )

    assert [each.owner for each in found_misleading_utilizations] == [other, JOB]


def test_means_are_of_parts_of_a_second_too():
    (misleading_utilization,) = herrings(
        activity(0.91, Signal.GPU_UTIL, hours=1 / 3600, step=0.25),
        activity(0.156, Signal.SM_ACTIVE, hours=1 / 3600, step=0.25),
        activity(0.5, Signal.TENSOR_ACTIVE, hours=0.5 / 3600, step=0.25),
    )

    assert (misleading_utilization.gpu_util, misleading_utilization.sm_active) == (
        pytest.approx(0.91),
        pytest.approx(0.156),
    )
    assert misleading_utilization.tensor_active == pytest.approx(0.5)
