"""Measured utilization and imported files of a fleet."""

from datetime import UTC, datetime

import pytest

from perfledger_service.values.fleet_views import ImportKind, MeasuredUtilization, StoredImport

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def busy() -> MeasuredUtilization:
    """Return the use of a workload that looks busy but is not."""
    return MeasuredUtilization(
        repository="octo/models",
        workload="gpt:step",
        device_class="cuda:NVIDIA H100 80GB HBM3:1",
        active=0.3,
        low=0.2,
        high=0.4,
        readings=18,
        gpu_busy=0.95,
        device_hours_per_year=20_000.0,
        upload_id="1" * 32,
        created_at=NOON,
    )


@pytest.fixture(scope="session")
def imported() -> StoredImport:
    """Return the accounting of a day."""
    return StoredImport(
        id=3,
        kind=ImportKind.USAGE,
        source="main",
        name="sacct.txt",
        sha256="1" * 64,
        since=datetime(2026, 10, 1, tzinfo=UTC),
        until=datetime(2026, 10, 2, tzinfo=UTC),
        summary="Slurm accounting: 48 device-hours",
        unpacked_bytes=100,
        created_at=NOON,
    )
