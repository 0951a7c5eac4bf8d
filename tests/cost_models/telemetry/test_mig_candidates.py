"""Series made up here: which jobs would fit on a part of their device."""

import numpy as np
import pytest

from perfledger_cost_models.telemetry.activity_samples import Activity, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.mig_candidates import MigSlice, mig_candidates
from perfledger_cost_models.telemetry.sample_table import table_of
from perfledger_cost_models.telemetry.signals import Signal

T0 = 1_790_000_000.0
MODEL = "NVIDIA A100-SXM4-80GB"
SMALL = MigSlice(name="1g.10gb", multiprocessors=1 / 7, memory=1 / 8, occupied=0.142)
HALF = MigSlice(name="3g.40gb", multiprocessors=3 / 7, memory=1 / 2, occupied=0.5)
JOB = DeviceOwner(team="nlp", job="notebook")


def activity(shares, signal, *, device="a", holder=JOB, model=MODEL, **more):
    starts = T0 + 3600.0 * np.arange(len(shares), dtype=np.float64)
    return Activity(
        owner=holder,
        device=device,
        signal=signal,
        starts=starts,
        ends=starts + 3600.0,
        shares=np.array(shares, dtype=float),
        model=model,
        **more,
    )


def fits(*activities, parts=((SMALL, HALF))):
    table = table_of([ActivityExport(name="x", kind="made up", activities=activities)])
    return mig_candidates(table, {MODEL: parts})


def pair(active=0.1, memory=0.1, hours=24, signal=Signal.SM_ACTIVE, **more):
    return activity([active] * hours, signal, **more), activity(
        [memory] * hours, Signal.MEMORY, **more
    )


def test_the_smallest_part_that_has_enough_of_both_is_told():
    (mig_candidate,) = fits(*pair())

    assert (mig_candidate.owner, mig_candidate.model, mig_candidate.part) == (JOB, MODEL, SMALL)
    assert (mig_candidate.memory, mig_candidate.activity, mig_candidate.signal) == (
        0.1,
        0.1,
        Signal.SM_ACTIVE,
    )
    assert mig_candidate.freed_hours == pytest.approx(24 * (1 - 0.142))


@pytest.mark.parametrize(("active", "memory"), [(0.2, 0.1), (0.1, 0.12)])
def test_memory_has_headroom_and_activity_counts_too(active, memory):
    (mig_candidate,) = fits(*pair(active=active, memory=memory))

    assert mig_candidate.part == HALF


def test_gpu_util_is_never_less_than_sm_active_and_does_where_that_is_not_known():
    (mig_candidate,) = fits(*pair(signal=Signal.GPU_UTIL))

    assert mig_candidate.signal is Signal.GPU_UTIL


def test_the_busiest_hundredth_of_the_time_is_let_go_and_memory_is_not():
    shares = [0.1] * 199 + [1.0]

    assert len(fits(activity(shares, Signal.SM_ACTIVE), activity([0.1] * 200, Signal.MEMORY))) == 1
    assert fits(activity([0.1] * 200, Signal.SM_ACTIVE), activity(shares, Signal.MEMORY)) == ()


@pytest.mark.parametrize(
    "activities",
    [
        pytest.param(pair(hours=23), id="less than a day"),
        pytest.param(pair(active=0.9), id="too active"),
        pytest.param(pair()[:1], id="memory is not known"),
        pytest.param(pair()[1:], id="activity is not known"),
        pytest.param(pair(model="NVIDIA L4"), id="a device without parts"),
        pytest.param(pair(holder=DeviceOwner(is_free=True)), id="nobody's"),
        pytest.param((*pair(), *pair(device="b")), id="on two devices"),
        pytest.param(pair(devices=0.5), id="on a part already"),
    ],
)
def test_what_is_no_candidate(activities):
    assert fits(*activities) == ()
