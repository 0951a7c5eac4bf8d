"""Lists the devices of a recording as rows, with their mean and their spread."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from perfledger.profile import Bucket, DeviceStep
from perfledger_service.rendering.layout import number_format

# Steps whose lengths differ by less count as equally long.
SAME_STEP = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """One device's step, or the mean or spread of all, in the order of the table."""

    name: str
    step: str
    compute: str
    communication: str  # exposed
    overlap: str
    copies: str
    rest: str
    mark: str = ""


def device_rows(devices: Sequence[DeviceStep]) -> tuple[DeviceRow, ...]:
    """Return a row per device, then the mean and the spread (largest - smallest)."""
    if not devices:
        return ()
    figures = [_figures(device) for device in devices]
    slowest = slowest_device(devices)
    mark = _mark(devices)
    rows = [
        _device_row(device.name, one, device.overlap, mark=mark if device is slowest else "")
        for device, one in zip(devices, figures, strict=True)
    ]
    columns = list(zip(*figures, strict=True))
    mean = tuple(fmean(column) for column in columns)
    spread = tuple(max(column) - min(column) for column in columns)
    return (*rows, _device_row("mean", mean, None), _device_row("spread", spread, None))


def slowest_device(devices: Sequence[DeviceStep]) -> DeviceStep:
    """Return the device with the longest step.

    If all steps are equally long, it is the one with the least time in collectives, because the
    others wait for it; of equal ones, the one with the most work.
    """
    steps = [device.step_seconds for device in devices]
    is_one_length = max(steps) - min(steps) <= SAME_STEP * max(steps)
    if not is_one_length:
        return max(devices, key=lambda device: device.step_seconds)
    return min(devices, key=_collectives_then_work)


def _mark(devices: Sequence[DeviceStep]) -> str:
    """Return what sets the slowest device apart, "" if nothing does.

    Of steps that count as equally long, the others wait for it in collectives or for nothing.
    """
    steps = [device.step_seconds for device in devices]
    least_s = SAME_STEP * max(steps)
    if max(steps) - min(steps) > least_s:
        return "slowest"
    waits = [_figures(device)[2] for device in devices]
    return "straggler" if max(waits) - min(waits) > least_s else ""


def _collectives_then_work(device: DeviceStep) -> tuple[float, float]:
    _, work, communication, *_ = _figures(device)
    return communication, -work


def _figures(device: DeviceStep) -> tuple[float, ...]:
    """Return the step and its parts: on the device, in collectives, in copies, and the rest."""
    parts = (
        device.seconds(Bucket.COMPUTE, Bucket.DEVICE_COPY, Bucket.MEMSET),
        device.seconds(Bucket.COMMUNICATION, Bucket.PEER_COPY),
        device.seconds(Bucket.COPY),
    )
    return device.step_seconds, *parts, device.step_seconds - sum(parts)


def _device_row(
    label: str, figures: tuple[float, ...], overlap: float | None, *, mark: str = ""
) -> DeviceRow:
    step, compute, communication, copies, rest = map(number_format.seconds, figures)
    return DeviceRow(
        name=label,
        step=step,
        compute=compute,
        communication=communication,
        overlap="" if overlap is None else number_format.whole_share(overlap),
        copies=copies,
        rest=rest,
        mark=mark,
    )
