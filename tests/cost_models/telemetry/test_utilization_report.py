"""Series made up here: what a target would free, and how far the evidence leads there."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.telemetry.activity_samples import Activity, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.telemetry.utilization_report import utilization_report
from perfledger_cost_models.usage.device_spans import UsageFileError

T0 = 1_790_000_000.0
RATE = HourlyRate(
    option="made-up/on_demand",
    label="made up",
    accelerator="H100-80GB",
    usd_per_device_hour=Decimal(2),
    low=Decimal(1),
    high=Decimal(4),
    as_of=date(2026, 11, 1),
    is_read_date=False,
    source="made up",
)


def activity(share, *, device="a", holder=None, hours=168, signal=Signal.GPU_UTIL):
    starts = T0 + 3600.0 * np.arange(hours, dtype=np.float64)
    return Activity(
        owner=holder or DeviceOwner(job=device),
        device=device,
        signal=signal,
        starts=starts,
        ends=starts + 3600.0,
        shares=np.full(hours, share),
    )


def report_of(*activities, target=0.7, **options):
    export = ActivityExport(
        name="x", kind="made up", activities=activities, left_out=3, notes=("n",)
    )
    return utilization_report([export], level=OwnerLevel.JOB, target=target, **options)


def test_a_target_frees_the_hours_that_the_same_work_would_not_take():
    gain = report_of(activity(0.35), rate=RATE).gain

    assert gain.freed_hours == pytest.approx(84)
    assert gain.freed_usd == pytest.approx(Decimal(168))
    assert gain.freed_usd_ends == (pytest.approx(Decimal(84)), pytest.approx(Decimal(336)))
    assert gain.yearly_hours == pytest.approx(84 * 8760 / 168)


def test_above_the_target_nothing_is_freed():
    gain = report_of(activity(0.9)).gain

    assert (gain.freed_hours, gain.freed_usd, gain.freed_usd_ends) == (0.0, None, None)


def test_less_than_a_week_is_no_year():
    gain = report_of(activity(0.1, hours=167)).gain

    assert gain.yearly_hours is None


def test_evidence_leads_as_far_as_what_is_idle_and_free_can_be_given_back():
    view = report_of(
        activity(0.8),
        activity(0.0, device="b"),
        activity(0.0, device="c", holder=DeviceOwner(is_free=True)),
    )

    assert (view.gain.idle_hours, view.gain.free_hours) == (168, 168)
    assert view.total.mean == pytest.approx(0.8 / 3)
    assert view.gain.reached == pytest.approx(0.8)
    assert [job.owner for job in view.idle] == [DeviceOwner(job="b")]


def test_where_all_is_idle_no_utilization_is_reached():
    gain = report_of(activity(0.0)).gain

    assert gain.reached is None


def test_what_was_left_out_and_noted_is_told():
    view = report_of(activity(0.5))

    assert (view.left_out, view.notes, view.files, view.kinds) == (3, ("n",), ("x",), ("made up",))
    assert (view.devices, view.end - view.start) == (1.0, 168 * 3600)


def test_the_signal_can_be_chosen():
    both = (activity(0.9), activity(0.2, signal=Signal.SM_ACTIVE))

    assert report_of(*both).signal is Signal.GPU_UTIL
    assert report_of(*both, signal=Signal.SM_ACTIVE).total.mean == pytest.approx(0.2)
    with pytest.raises(UsageFileError, match="no file has tensor_active: choose one of gpu_util"):
        report_of(*both, signal=Signal.TENSOR_ACTIVE)


@pytest.mark.parametrize("target", [0.0, -1.0, 1.01, float("nan")])
def test_a_target_is_a_share(target):
    with pytest.raises(UsageFileError, match="not a share"):
        report_of(activity(0.5), target=target)


@given(st.floats(0, 1), st.floats(0.01, 1))
@settings(deadline=None, max_examples=40)
def test_what_is_left_does_the_same_work_at_the_target(share, target):
    gain = report_of(activity(share, hours=2), target=target).gain

    assert (2 - gain.freed_hours) * max(target, share) == pytest.approx(2 * share, abs=1e-9)


def test_money_is_linear_in_the_rate():
    dearer = replace(RATE, usd_per_device_hour=Decimal(6))

    once, thrice = (report_of(activity(0.35), rate=rate).gain for rate in (RATE, dearer))

    assert thrice.freed_usd == 3 * (once.freed_usd or 0)


def test_hours_that_are_paid_for_anyway_free_no_money():
    gain = report_of(activity(0.35), rate=replace(RATE, is_committed=True)).gain

    assert (gain.freed_usd, gain.freed_usd_ends) == (0, (0, 0))
    assert gain.freed_hours == pytest.approx(84)
