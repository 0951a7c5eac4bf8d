"""Turns what a profiler file says into a terminal's text, Markdown and JSON.

Nothing that others wrote reaches a page but as clean text.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger.profile import ProfiledDevice, Reading, StreamIdle
from perfledger_profiles.roofline import Roofline
from perfledger_service.pages import figures, words
from perfledger_service.pages.bottlenecks import AdviceRow, advice_rows, bound_by, share_rows
from perfledger_service.pages.escape import clean, clean_sentence, code, prose, sentence
from perfledger_service.pages.kernel_rows import BarRow, bucket_rows, kernel_rows, operation_rows
from perfledger_service.views import TraceView

MAX_ROWS = 10
MAX_READINGS = 30
MAX_STREAMS = 12
MAX_NOTES = 10

_MAX_NAME = 200
_MAX_TRIGGER = 400
_MAX_SHORT = 90  # two lines of a terminal of 80 columns
_BAR = "\N{FULL BLOCK}"
_BAR_COLUMNS = 16
_INDENT = (0, 0, 0, 2)
# Three of each of a step's longest products.
_OF_PRODUCTS = ("achieved_flops", "arithmetic_intensity", "roofline_attained")
_OTHER_TOOLS = ("temporal_", "tensorboard_")  # HolisticTraceAnalysis's, torch_tb_profiler's


def trace_text(view: TraceView) -> Group:
    """Return what a trace says for a terminal of 80 columns or more."""
    return Group(*_parts(view))


def trace_markdown(view: TraceView) -> str:
    """Return what a trace says as Markdown."""
    return "\n".join(_markdown(view)).rstrip() + "\n"


def head_line(view: TraceView) -> str:
    """Return what the file is: its tool, its steps, and what was lost in reading it."""
    profile = view.profile
    if profile.has_steps:
        steps = f"{profile.steps} step{'s' * (profile.steps != 1)}"
        line = f"{profile.tool}, {steps} of {figures.seconds(profile.step_seconds)} (mean)"
    else:
        line = f"{profile.tool}, no steps"
        if profile.step_seconds > 0:
            line += f", {figures.seconds(profile.step_seconds)} in all"
    lost = profile.dropped_events
    if lost:
        line += f", {figures.count(lost)} event{'s' * (lost != 1)} could not be read"
    return line


def device_line(device: ProfiledDevice | None) -> str:
    """Return the device as the profile itself states it, "" where it does not."""
    if device is None or not device.name:
        return ""
    parts = [f"{device.count} x {device.name}" if device.count > 1 else device.name]
    if device.memory_bytes is not None:
        parts.append(figures.byte_count(device.memory_bytes))
    if device.multiprocessors is not None:
        parts.append(f"{device.multiprocessors} multiprocessors")
    if device.compute_capability:
        parts.append(f"compute capability {device.compute_capability}")
    return ", ".join(parts)


def roof_line(roof: Roofline | None, *, shown: Callable[[str], str]) -> str:
    """Return how near a step comes to what its device can do, "" where that is not known.

    `shown` makes a name one that can be shown there.
    """
    if roof is None or roof.step is None:
        return ""
    ceilings, step = roof.ceilings, roof.step
    return (
        f"Roofline: {figures.share(step.attained)} of what the device can do at "
        f"{figures.count(step.intensity_flop_per_byte)} FLOP/B, that is "
        f"{figures.flops_per_second(step.flops_per_second)}, counted for kernels with "
        f"{figures.whole_share(roof.covered)} of the kernels' time; the roof is "
        f"{figures.flops_per_second(ceilings.peak_flops_per_second)} of {shown(roof.dtype)} and "
        f"{figures.bytes_per_second(ceilings.peak_bytes_per_second)}."
    )


def shown_readings(readings: Sequence[Reading]) -> tuple[Reading, ...]:
    """Return the readings, last those that repeat another tool's figures for who compares them."""
    return tuple(
        sorted(
            readings,
            key=lambda one: (one.name.startswith(_OTHER_TOOLS), one.name in _OF_PRODUCTS),
        )
    )


def bar_grid(rows: Sequence[BarRow]) -> Table:
    """Return rows with bars as a grid for a terminal; names take what is left of its width."""
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(min_width=8, justify="right")
    grid.add_column(min_width=7, justify="right")
    grid.add_column(width=_BAR_COLUMNS)
    grid.add_column(overflow="fold", ratio=1)
    for row in rows:
        bar = _BAR * max(round(row.part * _BAR_COLUMNS), 1)
        name = Text(clean(row.short, limit=_MAX_SHORT), style="bold")
        if row.detail:
            name.append(f"  {row.detail}", style="not bold dim")
        grid.add_row(Text(row.figure), Text(row.share), Text(bar, style="blue"), name)
    return grid


def advice_line(one: AdviceRow) -> Text:
    """Return what to do, why and what it could bring, for a terminal."""
    line = Text(clean_sentence(one.text))
    why = f" Why: {clean(one.trigger, limit=_MAX_TRIGGER)}. {one.bound}"
    line.append(why.rstrip(), style="dim")
    return line


def stream_cells(stream: StreamIdle) -> tuple[str, ...]:
    """Return a stream's seconds per step: busy, waiting for the host, between kernels, else."""
    return tuple(
        figures.seconds(seconds)
        for seconds in (
            stream.busy_seconds,
            stream.host_wait_seconds,
            stream.kernel_wait_seconds,
            stream.other_seconds,
        )
    )


def reading_value(reading: Reading) -> tuple[str, str]:
    """Return a reading's value and its unit, "" where the value has it.

    What has no unit may be a share or a length of a queue: it is shown as it is.
    """
    if reading.unit == "1":
        return figures.count(reading.value), ""
    return words.value(reading.value, reading.unit), words.foreign_unit(reading.unit)


def _parts(view: TraceView) -> Iterator[RenderableType]:
    profile = view.profile
    title = Text(clean(view.name, limit=_MAX_NAME), style="bold")
    title.append(f": {clean(head_line(view), limit=_MAX_NAME)}", style="not bold")
    yield title
    device = device_line(profile.device)
    if device:
        yield Text(clean(device, limit=_MAX_NAME), style="dim")
    yield from _bottleneck(view)
    roof = roof_line(view.roof, shown=clean)
    if roof:
        yield Padding(Text(roof, style="dim"), (1, 0, 0, 0))
    tables = (
        ("Where the step goes", bucket_rows(profile)),
        ("Operations with the most time of the step", operation_rows(profile, most=MAX_ROWS)),
        ("Kernels that run longest", kernel_rows(profile, most=MAX_ROWS)),
    )
    for heading, rows in tables:
        if rows:
            yield from _titled(heading, bar_grid(rows))
    if profile.streams:
        yield from _titled("Streams, per step", _stream_grid(profile.streams[:MAX_STREAMS]))
    if profile.readings:
        yield from _titled("Readings", _reading_grid(shown_readings(profile.readings)))
    for note in (*view.caveats, *profile.notes[:MAX_NOTES]):
        yield Padding(Text(clean_sentence(note), style="dim"), (1, 0, 0, 0))


def _bottleneck(view: TraceView) -> Iterator[RenderableType]:
    found = view.classification
    yield Padding(Text(f"Bound by {bound_by(found)}", style="bold"), (1, 0, 0, 0))
    rows = share_rows(found)
    if rows:
        grid = Table.grid(padding=(0, 2))
        grid.add_row("", "", "without it at most", "", style="dim")
        for row in rows:
            style = "bold" if row.mark == "bound by this" else ""
            grid.add_row(
                Text(row.share, justify="right"),
                Text(row.name, style=style),
                Text(row.ceiling),
                Text(row.mark, style=style or "dim"),
            )
        yield Padding(grid, _INDENT)
    for reason in found.reasons[:MAX_NOTES]:
        yield Padding(Text(clean_sentence(reason), style="dim"), _INDENT)
    advice = advice_rows(view.recommendations)
    if advice:
        yield Padding(Text("What to do", style="bold underline"), (1, 0, 0, 0))
    for one in advice:
        yield Padding(advice_line(one), _INDENT)


def _titled(title: str, shown: RenderableType) -> Iterator[RenderableType]:
    yield Padding(Text(title, style="bold underline"), (1, 0, 0, 0))
    yield Padding(shown, _INDENT)


def _stream_grid(streams: Sequence[StreamIdle]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row("", "busy", "host late", "between kernels", "other", style="dim")
    for stream in streams:
        grid.add_row(Text(clean(stream.stream, limit=30)), *map(Text, stream_cells(stream)))
    return grid


def _reading_grid(readings: Sequence[Reading]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for reading in readings[:MAX_READINGS]:
        value, unit = reading_value(reading)
        shown = f"{value} {clean(unit, limit=12)}" if unit else value
        facts = [clean(reading.subject, limit=40)] if reading.subject else []
        facts += ["estimated"] if reading.is_estimate else []
        grid.add_row(Text(clean(reading.name, limit=40)), Text(shown), Text(", ".join(facts)))
    more = len(readings) - MAX_READINGS
    if more > 0:
        grid.add_row(Text(f"and {more} more", style="dim"), Text(), Text())
    return grid


def _markdown(view: TraceView) -> Iterator[str]:
    profile = view.profile
    yield f"### {code(view.name, limit=_MAX_NAME, in_table=False)}\n"
    yield f"{sentence(head_line(view), names=(profile.tool,), in_table=False)}\n"
    device = device_line(profile.device)
    if device:
        yield f"Device: {code(device, limit=_MAX_NAME, in_table=False)}.\n"
    yield f"**Bound by {bound_by(view.classification)}**\n"
    for row in share_rows(view.classification):
        mark = f", {row.mark}" if row.mark else ""
        ceiling = f": at most {row.ceiling} without it" if row.ceiling else ""
        yield f"- {row.share} {row.name}{mark}{ceiling}"
    for one in advice_rows(view.recommendations):
        text, why = sentence(one.text, in_table=False), prose(one.trigger, in_table=False)
        yield f"- {text} Why: {why}. {one.bound}".rstrip()
    yield ""
    roof = roof_line(view.roof, shown=partial(code, in_table=False))
    if roof:
        yield f"{roof}\n"
    yield from _bar_table("bucket", bucket_rows(profile), is_foreign=False)
    yield from _bar_table("operation", operation_rows(profile, most=MAX_ROWS))
    yield from _bar_table("kernel", kernel_rows(profile, most=MAX_ROWS))
    yield from _readings_table(shown_readings(profile.readings)[:MAX_READINGS])
    for note in (*view.caveats, *profile.notes[:MAX_NOTES]):
        yield sentence(note, in_table=False)


def _bar_table(title: str, rows: Sequence[BarRow], *, is_foreign: bool = True) -> Iterator[str]:
    if not rows:
        return
    yield f"| {title} | per step | share | | |"
    yield "|:--|--:|--:|:--|:--|"
    for row in rows:
        name = code(row.short) if is_foreign else row.name
        bar = _BAR * max(round(row.part * _BAR_COLUMNS), 1)
        yield f"| {name} | {row.figure} | {row.share} | {bar} | {row.detail} |"
    yield ""


def _readings_table(readings: Sequence[Reading]) -> Iterator[str]:
    if not readings:
        return
    yield "| reading | value | of |"
    yield "|:--|--:|:--|"
    for reading in readings:
        subject = code(reading.subject) if reading.subject else ""
        value, unit = reading_value(reading)
        shown = f"{value} {code(unit, limit=12)}" if unit else value
        mark = ", estimated" if reading.is_estimate else ""
        yield f"| {code(reading.name)} | {shown}{mark} | {subject} |"
    yield ""
