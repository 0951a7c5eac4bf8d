"""Measured utilization of a fleet."""

from datetime import UTC, datetime

import pytest

from perfledger_service.values.fleet_views import MeasuredUtilization

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def busy() -> MeasuredUtilization:
    """Return the use of a workload that looks busy but is not."""
    return MeasuredUtilization(
        repository="octo/models",
        workload="gpt:step",
        machine_class="cuda:NVIDIA H100 80GB HBM3:1",
        active=0.3,
        low=0.2,
        high=0.4,
        readings=18,
        gpu_busy=0.95,
        device_hours_per_year=20_000.0,
        upload_id="1" * 32,
        created_at=NOON,
    )
