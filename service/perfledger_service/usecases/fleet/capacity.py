"""Builds the capacity view: imported files, and the device utilization that checks measured."""

from collections.abc import Sequence

import msgspec
import numpy as np
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.profile import ProfileReading
from perfledger.records import Machine, Side
from perfledger.registration.workload_pattern import is_match
from perfledger_cost_models.change_price.fleet_weights import FleetSplitError, hours_of_workload
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.tco.hourly_rates import rate_of
from perfledger_service.store.branch_commits import branch_lengths
from perfledger_service.store.database import read_session
from perfledger_service.store.fleet.device_utilization import StoredUtilization, stored_utilization
from perfledger_service.store.fleet.imports import imports
from perfledger_service.store.page_queries import upload_counts
from perfledger_service.usecases.inputs.stored_bundles import StoredWorkloads, read_fields
from perfledger_service.values.fleet_views import CapacityView, MeasuredUtilization

GPU_BUSY = "gpu_busy"
# Quantiles of a device's readings, shown as the range of its use.
RANGE_QUANTILES = (0.05, 0.95)


class _Profile(msgspec.Struct):
    workload: str
    side: str
    readings: tuple[ProfileReading, ...]


class _MeasuredFields(StoredWorkloads, kw_only=True):
    machine: Machine
    profiles: tuple[_Profile, ...]


_MEASURED_FIELDS_DECODER = msgspec.json.Decoder(_MeasuredFields)


def capacity_view(session: Session) -> CapacityView:
    """Return imported files and measured utilization."""
    return CapacityView(imports=imports(session), utilization=measured_utilization(session))


def fleet_version(session: Session) -> tuple[object, ...]:
    """Return a key that changes with the view, without reading bundles."""
    return (upload_counts(session), branch_lengths(session), imports(session))


def read_measured_utilization(engine: Engine) -> tuple[MeasuredUtilization, ...]:
    """Return the same as `measured_utilization`, in a session of its own."""
    with read_session(engine) as session:
        return measured_utilization(session)


def measured_utilization(session: Session) -> tuple[MeasuredUtilization, ...]:
    """Return the utilization of each workload's devices, those with most idle hours first."""
    stored = stored_utilization(session)
    bundles = {
        sha256: read_fields(session, sha256, _MEASURED_FIELDS_DECODER)
        for sha256 in {one.bundle_sha256 for one in stored}
    }
    utilization = (_use(one, bundles[one.bundle_sha256]) for one in stored)
    return tuple(sorted(utilization, key=lambda use: (-(use.idle_hours or 0), use.repository)))


def _use(stored: StoredUtilization, fields: _MeasuredFields) -> MeasuredUtilization:
    low, high = np.quantile(stored.readings, RANGE_QUANTILES).tolist()
    return MeasuredUtilization(
        repository=stored.repository,
        workload=stored.workload,
        machine_class=stored.machine_class,
        active=float(np.mean(stored.readings)),
        low=low,
        high=high,
        readings=len(stored.readings),
        gpu_busy=_gpu_busy(fields.profiles, stored.workload),
        device_hours_per_year=_hours(stored.workload, fields),
        upload_id=stored.upload_id,
        created_at=stored.created_at,
    )


def _hours(workload: str, fields: _MeasuredFields) -> float | None:
    """Return a workload's device-hours a year on its device; None if unknown."""
    uses = [
        use
        for use in fields.pricing.fleet
        if is_match(use.workload, workload) and _is_on(fields.machine, use.where)
    ]
    try:
        entries = [
            hours_of_workload(use, workload, registered=fields.registered, uses=uses)
            for use in uses
        ]
    except FleetSplitError:
        return None
    return sum(use.device_hours_per_year for use in entries) if entries else None


def _is_on(machine: Machine, where: str) -> bool:
    """Return whether hours at `where` belong to the machine's device, or to an unknown one."""
    try:
        accelerator = rate_of(packaged_sheet(), where).accelerator
    except PriceMissingError:
        return True
    return accelerator == accelerator_of(machine.model, machine.memory_bytes)


def _gpu_busy(profiles: Sequence[_Profile], workload: str) -> float | None:
    return next(
        (
            reading.value
            for profile in profiles
            if (profile.workload, profile.side) == (workload, Side.BASE)
            for reading in profile.readings
            if (reading.name, reading.subject) == (GPU_BUSY, "")
        ),
        None,
    )
