"""The store in, what it knows of the fleet out: what was imported, how busy checks saw devices."""

from collections.abc import Sequence

import msgspec
import numpy as np
from sqlmodel import Session

from perfledger.pattern import is_match
from perfledger.records import Side
from perfledger_cost_models.accelerator import accelerator_of
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.sheet import PriceMissingError, packaged_sheet
from perfledger_runners.bundles import unpack
from perfledger_service.store.busy import StoredBusy, stored_busy
from perfledger_service.store.imports import imports
from perfledger_service.store.overview import uploads_known
from perfledger_service.store.uploads import bundle_content
from perfledger_service.views import CapacityView, MeasuredUse

GPU_BUSY = "gpu_busy"
_ENDS = (0.05, 0.95)


class _Use(msgspec.Struct):
    workload: str
    where: str
    device_hours_per_year: float


class _Pricing(msgspec.Struct):
    fleet: tuple[_Use, ...] = ()


class _Machine(msgspec.Struct):
    model: str = ""
    memory_bytes: int | None = None


class _Reading(msgspec.Struct):
    name: str
    value: float
    subject: str = ""


class _Profile(msgspec.Struct):
    workload: str
    side: str
    readings: tuple[_Reading, ...] = ()


class _Head(msgspec.Struct):
    """As much of a stored bundle as is read; it was checked whole when it was uploaded."""

    machine: _Machine = msgspec.field(default_factory=_Machine)
    pricing: _Pricing = msgspec.field(default_factory=_Pricing)
    profiles: tuple[_Profile, ...] = ()


def capacity_view(session: Session) -> CapacityView:
    """Return what is known of the fleet."""
    return CapacityView(imports=imports(session), measured=measured_uses(session))


def known_of_fleet(session: Session) -> tuple[object, ...]:
    """Return what changes when the view would; to make the view, bundles are read."""
    return (uploads_known(session), imports(session))


def measured_uses(session: Session) -> tuple[MeasuredUse, ...]:
    """Return how busy workloads kept their devices, those with the most idle hours first."""
    stored = stored_busy(session)
    heads = {sha256: _head(session, sha256) for sha256 in {one.bundle_sha256 for one in stored}}
    found = (_use(one, heads[one.bundle_sha256]) for one in stored)
    return tuple(sorted(found, key=lambda use: (-(use.hours_apart or 0), use.repository)))


def _use(stored: StoredBusy, head: _Head) -> MeasuredUse:
    low, high = np.quantile(stored.readings, _ENDS).tolist()
    hours = [
        use.device_hours_per_year
        for use in head.pricing.fleet
        if is_match(use.workload, stored.workload) and _is_on(head.machine, use.where)
    ]
    return MeasuredUse(
        repository=stored.repository,
        workload=stored.workload,
        device_class=stored.device_class,
        active=float(np.mean(stored.readings)),
        low=low,
        high=high,
        readings=len(stored.readings),
        gpu_busy=_gpu_busy(head.profiles, stored.workload),
        device_hours_per_year=sum(hours) if hours else None,
        upload_id=stored.upload_id,
        created_at=stored.created_at,
    )


def _is_on(machine: _Machine, where: str) -> bool:
    """Whether hours at `where` are of the machine's device; where no price says of which, too."""
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


def _head(session: Session, sha256: str) -> _Head:
    return msgspec.json.decode(unpack(bundle_content(session, sha256)), type=_Head)
