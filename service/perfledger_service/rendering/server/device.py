"""Presents devices with their canaries and their quarantine."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger import rounding
from perfledger_baselines.judging.device_drift import ALPHA, MIN_DRIFT, DriftState
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Table,
    TextStyle,
    display,
    fact,
    fact_document,
    figure,
    name,
    notes,
    table,
    words,
)
from perfledger_service.values.service_views.devices import (
    CanaryRate,
    DeviceList,
    DeviceView,
)

IN_QUARANTINE = "quarantine"
NEVER_MEASURED = "no canaries"
_MARGIN, _LEVEL = (number_format.whole_share(share) for share in (MIN_DRIFT, ALPHA))
WHAT_DRIFT_IS = (
    f"A device is suspected if a canary is at least {_MARGIN} slower than in the device's "
    f"earlier runs or on its siblings, and significantly so: at most {_LEVEL} of the runs on an "
    "unchanged device are suspected. If the next run confirms it, the device drifts and is put "
    "in quarantine. Detectable: the loss that such a comparison finds four times out of five."
)
MAX_NAME = 60
MAX_PAST = 6  # of the newest runs; more push the table off the screen
_STYLES = {DriftState.DRIFTING: TextStyle.WORSE, DriftState.SUSPECTED: TextStyle.WARNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class _CanaryRow:
    """A canary of a device's newest run, with its past rates."""

    device: DeviceView
    rate: CanaryRate
    past: tuple[float, ...]


def devices_table(devices: Sequence[DeviceView]) -> Table:
    """Return the devices and their states, those in quarantine first."""
    return table(_DEVICE_COLUMNS, devices, key="devices", style=_style)


def canaries_table(devices: Sequence[DeviceView]) -> Table:
    """Return each canary of the devices' newest runs, with its comparisons."""
    return table(
        _CANARY_COLUMNS,
        list(_canary_rows(devices)),
        key="canaries",
        group=lambda row: row.device.key.name,
        style=lambda row: TextStyle.WORSE if row.rate.is_slower else TextStyle.PLAIN,
    )


def devices_document(devices: DeviceList) -> Document:
    """Return a project's devices with their canaries."""
    left_out = (f"{devices.left_out} more devices",) if devices.left_out else ()
    return Document(
        name="perfledger-devices",
        facts={"repository": devices.repository, "left_out": devices.left_out},
        blocks=(
            devices_table(devices.devices),
            canaries_table(devices.devices),
            *notes([*left_out, WHAT_DRIFT_IS]),
        ),
    )


def quarantine_document(
    repository: str, device: str, *, reason: str, is_quarantined: bool
) -> Document:
    """Return a device that was put in quarantine, or released from it."""
    state = "is in quarantine" if is_quarantined else "is released"
    return fact_document(
        "perfledger-device-quarantine",
        {
            "repository": repository,
            "device": device,
            "is_quarantined": is_quarantined,
            "reason": reason,
        },
        f"{device} {state}.",
        names=(device,),
    )


def state_word(view: DeviceView) -> str:
    """Return the state of a device in a word."""
    if view.quarantine is not None:
        return IN_QUARANTINE
    if view.newest is None:
        return NEVER_MEASURED
    return "disturbed" if view.newest.is_disturbed else view.newest.state


def reason_of(view: DeviceView) -> str:
    """Return why a device is in its state; in quarantine, also whether its canaries recovered."""
    newest = "" if view.newest is None else view.newest.reason
    if view.quarantine is None:
        return newest
    since = f"since {number_format.moment(view.quarantine.since)} by {view.quarantine.set_by}"
    reason = f"{since}: {view.quarantine.reason}"
    is_as_before = (
        view.newest is not None
        and view.newest.state is DriftState.STEADY
        and view.newest.measured_at > view.quarantine.since
    )
    return f"{reason}. Its newest canaries show no drift: release it" if is_as_before else reason


def _style(view: DeviceView) -> TextStyle:
    if view.quarantine is not None:
        return TextStyle.WORSE
    return (
        TextStyle.PLAIN if view.newest is None else _STYLES.get(view.newest.state, TextStyle.PLAIN)
    )


def _canary_rows(devices: Sequence[DeviceView]) -> Iterator[_CanaryRow]:
    for device in devices:
        if device.newest is not None:
            for rate, past in zip(device.newest.rates, device.past, strict=True):
                yield _CanaryRow(device=device, rate=rate, past=past)


def _past(row: _CanaryRow) -> str:
    """Return the newest past rates, in per cent of the median of all."""
    middle = statistics.median(row.past)
    return " ".join(rounding.integer(100 * each / middle) for each in row.past[-MAX_PAST:])


_DEVICE_COLUMNS: tuple[Column[DeviceView], ...] = (
    name("device", "device", lambda one: one.key.name, limit=MAX_NAME),
    name("model", "model", lambda one: one.key.model, limit=MAX_NAME),
    words("state", "state", state_word),
    figure(
        "measured_at",
        "newest canaries",
        lambda one: None if one.newest is None else one.newest.measured_at,
        number_format.moment,
    ),
    name("reason", "why", reason_of, limit=400),
    fact("kind", lambda one: one.key.device),
    fact("canaries_state", lambda one: None if one.newest is None else one.newest.state),
    fact("quarantined_since", lambda one: one.quarantine and one.quarantine.since),
    fact("quarantined_by", lambda one: one.quarantine and one.quarantine.set_by),
    fact("quarantine_reason", lambda one: one.quarantine and one.quarantine.reason),
)
_CANARY_COLUMNS: tuple[Column[_CanaryRow], ...] = (
    fact("device", lambda row: row.device.key.name),
    name("canary", "canary", lambda row: row.rate.name, limit=MAX_NAME),
    words("framework", "in", lambda row: row.rate.framework),
    display("rate", lambda row: number_format.unit_rate(row.rate.per_second, row.rate.unit)),
    figure("share", "of expected", lambda row: row.rate.share, number_format.share),
    figure("own_change", "vs own runs", lambda row: row.rate.own_change, number_format.percent),
    figure("own_runs", "runs", lambda row: row.rate.own_count),
    figure(
        "own_detectable", "detectable", lambda row: row.rate.own_detectable, number_format.share
    ),
    figure(
        "sibling_change", "vs siblings", lambda row: row.rate.sibling_change, number_format.percent
    ),
    figure("siblings", "siblings", lambda row: row.rate.sibling_count),
    display("newest runs, %", _past),
    fact("sibling_detectable", lambda row: row.rate.sibling_detectable),
    fact("is_slower", lambda row: row.rate.is_slower),
    fact("unit", lambda row: row.rate.unit),
    fact("per_second", lambda row: row.rate.per_second),
    fact("expected_per_second", lambda row: row.rate.expected_per_second),
    fact("setting", lambda row: row.rate.setting),
)
