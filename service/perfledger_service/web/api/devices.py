"""Serves `/api/v1/devices`: a project's devices, their canaries' results, and their quarantine."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from perfledger_baselines.judging.device_drift import DriftState
from perfledger_service.store.database import read_session
from perfledger_service.store.devices.canary_runs import device_views
from perfledger_service.values.service_views.devices import DeviceView
from perfledger_service.web.app_state import CurrentAppState, CurrentReader
from perfledger_service.web.uploads import CALLER_PROBLEMS

router = APIRouter(prefix="/api/v1/devices", tags=["devices"])


class QuarantineResponse(BaseModel):
    """The start of a device's quarantine, its reason, and who imposed it."""

    since: datetime
    reason: str
    set_by: str


class DeviceResponse(BaseModel):
    """A device; `canaries` is the result of its newest ones, null if there are none."""

    name: str
    kind: str
    model: str
    canaries: DriftState | None
    canaries_reason: str
    measured_at: datetime | None
    quarantine: QuarantineResponse | None


class DevicesResponse(BaseModel):
    """A project's devices, those in quarantine first; `left_out` counts those not listed."""

    repository: str
    devices: tuple[DeviceResponse, ...]
    left_out: int


@router.get("", responses=CALLER_PROBLEMS)
def get_devices(state: CurrentAppState, caller: CurrentReader) -> DevicesResponse:
    """Return the devices of the token's project that have canaries or a quarantine."""
    with read_session(state.engine) as session:
        views, left_out = device_views(session, caller.project.id)
    return DevicesResponse(
        repository=caller.project.repository,
        devices=tuple(map(_response_of, views)),
        left_out=left_out,
    )


def _response_of(view: DeviceView) -> DeviceResponse:
    newest, quarantine = view.newest, view.quarantine
    return DeviceResponse(
        name=view.key.name,
        kind=view.key.device,
        model=view.key.model,
        canaries=newest.state if newest else None,
        canaries_reason=newest.reason if newest else "",
        measured_at=newest.measured_at if newest else None,
        quarantine=None
        if quarantine is None
        else QuarantineResponse(
            since=quarantine.since, reason=quarantine.reason, set_by=quarantine.set_by
        ),
    )
