"""Asks a service whether a device is in quarantine."""

from dataclasses import dataclass

import msgspec

from perfledger.records import FindingLevel, HostFinding, Machine
from perfledger_runners.bundles.service_requests import (
    MAX_ANSWER_BYTES,
    ServiceRequestError,
    request_service,
)
from perfledger_runners.bundles.upload import UrlOpener
from perfledger_runners.safe_text import clean_text

ROUTE = "/api/v1/devices"
FINDING = "quarantine"
MAX_REASON = 300  # characters
IDENTIFY = "give the host /etc/machine-id, or set PERFLEDGER_HOST in a container"


@dataclass(frozen=True, slots=True)
class _Quarantine:
    since: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Device:
    name: str
    kind: str
    model: str
    quarantine: _Quarantine | None


@dataclass(frozen=True, slots=True)
class _Devices:
    devices: tuple[_Device, ...]  # those in quarantine come first
    left_out: int = 0


_DEVICES_DECODER = msgspec.json.Decoder(_Devices)


def quarantine_finding(
    url: str, token: str, machine: Machine, *, opener: UrlOpener | None = None
) -> HostFinding:
    """Return whether the service at `url` has a machine's device in quarantine, if known."""
    try:
        answer = _fetch_devices(url, token, opener)
    except ServiceRequestError as error:
        detail = f"it is unknown whether this device is in quarantine: {error}"
        return HostFinding(name=FINDING, level=FindingLevel.UNKNOWN, detail=detail)
    if not machine.is_identified:
        detail = "it is unknown whether this device is in quarantine: nothing identifies its host"
        return HostFinding(name=FINDING, level=FindingLevel.UNKNOWN, detail=detail, advice=IDENTIFY)
    for device in answer.devices:
        is_here = device.kind == machine.device and device.name in machine.occupied_names
        if is_here and device.quarantine is not None:
            texts = (device.name, device.quarantine.since, device.quarantine.reason)
            name, since, reason = (clean_text(text[:MAX_REASON]) for text in texts)
            return HostFinding(
                name=FINDING,
                level=FindingLevel.NOISY,
                detail=f"{name} has been in quarantine since {since}: {reason}",
                advice="repair it, then run perfledger server device release",
            )
    if answer.left_out and all(each.quarantine for each in answer.devices):
        detail = "the service lists too few devices to tell whether this one is in quarantine"
        return HostFinding(name=FINDING, level=FindingLevel.UNKNOWN, detail=detail)
    detail = "the service does not list this device as quarantined"
    return HostFinding(name=FINDING, level=FindingLevel.FINE, detail=detail)


def _fetch_devices(url: str, token: str, opener: UrlOpener | None) -> _Devices:
    data = request_service(url, token, ROUTE, opener=opener)
    if len(data) > MAX_ANSWER_BYTES:
        msg = f"the service's answer has more than {MAX_ANSWER_BYTES} bytes"
        raise ServiceRequestError(msg)
    try:
        return _DEVICES_DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the service's answer is not a list of devices: {error}"
        raise ServiceRequestError(msg) from error
