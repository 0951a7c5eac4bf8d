"""Tests the idle hours of a workload whose utilization was measured."""

from datetime import UTC, datetime

import pytest

from perfledger_service.values.fleet_views import MeasuredUtilization


def measured(active, hours):
    return MeasuredUtilization(
        repository="octo/models",
        workload="gpt:step",
        machine_class="cuda:NVIDIA H100 80GB HBM3:1",
        active=active,
        low=active,
        high=active,
        readings=3,
        gpu_busy=0.95,
        device_hours_per_year=hours,
        upload_id="1" * 32,
        created_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


@pytest.mark.parametrize(("active", "idle"), [(0.0, 20_000), (0.3, 14_000), (1.0, 0)])
def test_idle_hours_are_those_in_which_multiprocessors_had_no_work(active, idle):
    assert measured(active, 20_000.0).idle_hours == pytest.approx(idle)


def test_idle_hours_of_an_undeclared_fleet_are_unknown_and_not_zero():
    assert measured(0.3, None).idle_hours is None
    assert measured(0.3, 0.0).idle_hours == 0.0
