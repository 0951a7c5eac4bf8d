"""Presents a trace: where the step's time goes, the bottleneck, and what to do."""

from collections.abc import Iterator, Sequence

from perfledger.profile import Profile, ProfiledDevice, ProfileReading, StreamIdle
from perfledger_profiles.bottleneck.step_shares import is_sum_of_kernels
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.rendering.chart.bar_rows import BarRow
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.document import (
    Block,
    Column,
    Document,
    Paragraph,
    TextStyle,
    bar,
    display,
    heading,
    name,
    notes,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean_sentence
from perfledger_service.rendering.trace.bottlenecks import (
    AdviceRow,
    ShareRow,
    advice_rows,
    bottleneck_heading,
    share_rows,
)
from perfledger_service.rendering.trace.device_rows import DeviceRow, device_rows
from perfledger_service.rendering.trace.kernel_rows import bucket_rows, kernel_rows, operation_rows
from perfledger_service.rendering.trace.profile_json import trace_record
from perfledger_service.values.trace_views import TraceView

_MAX_NAME = 30
MAX_ROWS = 10
MAX_READINGS = 30
MAX_STREAMS = 12
MAX_NOTES = 10

_MAX_SHORT = 90  # two lines of a terminal of 80 columns
# Three figures for each of the longest matrix products.
_OF_PRODUCTS = ("achieved_flops", "arithmetic_intensity", "roofline_attained")
_SHARE_COLUMNS: tuple[Column[ShareRow], ...] = (
    display("share", lambda row: row.share),
    words("", "bound by", lambda row: row.name),
    words("", "without it at most", lambda row: row.ceiling),
    words("", "", lambda row: row.mark),
)
_BAR_COLUMNS: tuple[Column[BarRow], ...] = (
    display("per step", lambda row: row.figure),
    display("share", lambda row: row.share),
    bar(lambda row: row.part),
    name("", "name", lambda row: row.short, limit=_MAX_SHORT),
    words("", "", lambda row: row.detail),
)
_DEVICE_COLUMNS: tuple[Column[DeviceRow], ...] = (
    name("", "device", lambda row: row.name, limit=_MAX_NAME),
    display("step", lambda row: row.step),
    display("compute", lambda row: row.compute),
    display("exposed comm", lambda row: row.communication),
    display("overlap", lambda row: row.overlap),
    display("host copies", lambda row: row.copies),
    display("rest", lambda row: row.rest),
    words("", "", lambda row: row.mark),
)
_UNLINKED_STREAM_COLUMNS: tuple[Column[StreamIdle], ...] = (
    name("", "stream", lambda stream: stream.stream, limit=_MAX_NAME),
    display("busy", lambda stream: number_format.seconds(stream.busy_seconds)),
    display("idle", lambda stream: number_format.seconds(_idle_seconds(stream))),
)
_STREAM_COLUMNS: tuple[Column[StreamIdle], ...] = (
    name("", "stream", lambda stream: stream.stream, limit=_MAX_NAME),
    display("busy", lambda stream: number_format.seconds(stream.busy_seconds)),
    display("host late", lambda stream: number_format.seconds(stream.host_wait_seconds)),
    display("between kernels", lambda stream: number_format.seconds(stream.kernel_wait_seconds)),
    display("other", lambda stream: number_format.seconds(stream.other_seconds)),
)


def trace_document(view: TraceView) -> Document:
    """Return the summary of a trace; programs get the whole profile."""
    profile = view.profile
    return Document(
        name="perfledger-trace",
        facts=trace_record(view),
        blocks=(
            title(f"{view.name}: {head_line(view)}", names=(view.name, profile.tool)),
            *_device_notes(profile.device),
            *_devices_blocks(profile),
            *_bottleneck_blocks(view),
            *notes([roof] if (roof := roof_line(view.roof)) else []),
            *_table_blocks(view),
            *notes(clean_sentence(note) for note in (*view.caveats, *profile.notes[:MAX_NOTES])),
        ),
    )


def advice_block(advice: AdviceRow, *, names: Sequence[str] = ()) -> Paragraph:
    """Return a recommendation with its reason and bound."""
    text = f"{clean_sentence(advice.text)} Why: {advice.trigger}. {advice.bound}".rstrip()
    return Paragraph(text=text, names=tuple(names))


def head_line(view: TraceView) -> str:
    """Return the tool, the steps, and the number of events that could not be read."""
    profile = view.profile
    if profile.has_steps:
        steps = number_format.quantity(profile.steps, "step")
        line = f"{profile.tool}, {steps} of {number_format.seconds(profile.step_seconds)} (mean)"
    else:
        line = f"{profile.tool}, no steps"
        if profile.step_seconds > 0:
            what = "of kernels, added up" if is_sum_of_kernels(profile) else "shown as one"
            line += f", {number_format.seconds(profile.step_seconds)} {what}"
    lost = profile.dropped_events
    if lost:
        line += f", {number_format.count(lost)} event{'s' * (lost != 1)} could not be read"
    return line


def device_line(device: ProfiledDevice | None) -> str:
    """Return the device as stated in the profile, "" if it is not stated."""
    if device is None or not device.name:
        return ""
    parts = [f"{device.count} x {device.name}" if device.count > 1 else device.name]
    if device.memory_bytes is not None:
        parts.append(number_format.byte_count(device.memory_bytes))
    if device.multiprocessors is not None:
        parts.append(f"{device.multiprocessors} multiprocessors")
    if device.compute_capability:
        parts.append(f"compute capability {device.compute_capability}")
    return ", ".join(parts)


def roof_line(roof: Roofline | None) -> str:
    """Return the attained share of the roofline, "" if unknown."""
    if roof is None or roof.step is None:
        return ""
    ceilings, step = roof.ceilings, roof.step
    return (
        f"Roofline: {number_format.share(step.attained)} of what the device can do at "
        f"{number_format.count(step.intensity_flop_per_byte)} FLOP/B, that is "
        f"{number_format.flops_per_second(step.flops_per_second)}, counted for kernels with "
        f"{number_format.whole_share(roof.covered_share)} of the kernels' time; the roof is "
        f"{number_format.flops_per_second(ceilings.peak_flops_per_second)} of {roof.dtype} "
        f"and "
        f"{number_format.bytes_per_second(ceilings.peak_bytes_per_second)}."
    )


def shown_readings(readings: Sequence[ProfileReading]) -> tuple[ProfileReading, ...]:
    """Return the readings, those of matrix products last."""
    return tuple(sorted(readings, key=lambda one: one.name in _OF_PRODUCTS))


def reading_value(reading: ProfileReading) -> tuple[str, str]:
    """Return a reading's value and its unit, "" if the value contains it.

    A value without a unit may be a share or a number of things; the latter is shown in full.
    """
    if reading.unit == "1":
        return number_format.full_count(reading.value), ""
    return vocabulary.value(reading.value, reading.unit), vocabulary.foreign_unit(reading.unit)


def _device_notes(device: ProfiledDevice | None) -> tuple[Paragraph, ...]:
    line = device_line(device)
    return notes([f"Device: {line}"] if line else [], names=[line])


def _devices_blocks(profile: Profile) -> Iterator[Block]:
    """Yield each device's step, if several were recorded."""
    if len(profile.devices) == 1:
        device = profile.devices[0].name
        yield from notes([f"All recorded work is on {device}."], names=[device])
    elif profile.devices:
        yield heading("Devices, per step")
        yield table(_DEVICE_COLUMNS, device_rows(profile.devices))
        yield from notes(
            ["Everything else is the mean over the devices; --device-number shows one."]
        )


def _bottleneck_blocks(view: TraceView) -> Iterator[Block]:
    """Yield the bottleneck of the step, its shares, and what to do."""
    classification = view.classification
    yield heading(bottleneck_heading(classification))
    yield table(
        _SHARE_COLUMNS,
        share_rows(classification),
        style=lambda row: TextStyle.STRONG if row.mark.endswith("this") else TextStyle.PLAIN,
    )
    yield from notes(clean_sentence(reason) for reason in classification.reasons[:MAX_NOTES])
    advice = advice_rows(view.recommendations)
    if advice:
        yield heading("What to do")
    yield from map(advice_block, advice)


def _table_blocks(view: TraceView) -> Iterator[Block]:
    profile = view.profile
    bars = (
        ("Where the step goes", bucket_rows(profile)),
        ("Operations with the most time of the step", operation_rows(profile, most=MAX_ROWS)),
        ("Kernels that run longest", kernel_rows(profile, most=MAX_ROWS)),
    )
    for text, rows in bars:
        if rows:
            yield heading(text)
            yield table(_BAR_COLUMNS, rows)
    if profile.streams:
        yield heading("Streams, per step")
        yield table(_stream_columns(profile), profile.streams, most=MAX_STREAMS)
    if profile.readings:
        yield heading("Readings")
        yield table(_reading_columns(), shown_readings(profile.readings), most=MAX_READINGS)


def _stream_columns(profile: Profile) -> tuple[Column[StreamIdle], ...]:
    """Return the columns; without launches, the reasons for a stream's gaps are unknown."""
    is_linked = profile.is_host_known or any(one.host_wait_seconds > 0 for one in profile.streams)
    return _STREAM_COLUMNS if is_linked else _UNLINKED_STREAM_COLUMNS


def _idle_seconds(stream: StreamIdle) -> float:
    return stream.host_wait_seconds + stream.kernel_wait_seconds + stream.other_seconds


def _reading_columns() -> tuple[Column[ProfileReading], ...]:
    return (
        name("", "reading", lambda reading: reading.name),
        display("value", lambda reading: " ".join(reading_value(reading)).strip()),
        name("", "of", lambda reading: reading.subject),
        words("", "", lambda reading: "estimated" if reading.is_estimate else ""),
    )
