"""Turns what a workload is projected to do elsewhere into terminal text, JSON, CSV and SVG.

Everything here is marked as projected. Nothing that others wrote reaches a page but as clean text.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from io import StringIO

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.projection import NotProjected, ProjectedCost, Projection
from perfledger_cost_models.quote import Provenance
from perfledger_service.cost_views import ProjectedRow, ProjectionView
from perfledger_service.pages import figures
from perfledger_service.pages.environment import render
from perfledger_service.pages.escape import cell, clean
from perfledger_service.pages.scale import Scale, Tick, nice_ticks

# 1: first version. Keys are only ever added.
PROJECTION_FORMAT = "perfledger-projection"
VERSION = 1
PROJECTED = "projected"

_MAX_SOURCE = 300
_MAX_NOTE = 2000
# Below this share of the measured time, what the roofs leave unexplained is not worth a line.
_LITTLE = 0.25
# As the template draws it.
_LEFT, _RIGHT = 190.0, 800.0
_FIRST, _ROW = 58.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedBar:
    """One device's bar: from standing still to the projected speed, with its interval."""

    device: str
    y: float
    end: float
    low: float
    high: float
    figure: str


def projection_text(view: ProjectionView) -> Group:
    """Return the projections for a terminal of 80 columns."""
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify, overflow="fold")
    grid.add_row("projected onto", "speed, USD per 1M", "90 % interval", style="dim")
    for row in view.rows:
        match row.projection:
            case NotProjected():
                grid.add_row(Text(row.device), "not known", Text(_clean(row.projection.why)))
            case Projection():
                grid.add_row(
                    Text(f"{row.device} in {', '.join(row.projection.dtypes)}", style="bold"),
                    f"{row.projection.speed:.2f} times as fast",
                    _between(row.projection),
                )
        for cost in row.costs:
            grid.add_row(
                Text(f"  {cost.rate.label}"), figures.usd(cost.usd), _usd_between(cost), style="dim"
            )
    parts: list[RenderableType] = [Text(_title(view), style="bold"), Text(_source(view)), grid]
    parts += [Text(clean(note, limit=_MAX_NOTE), style="dim") for note in _notes(view)]
    return Group(*parts)


def projection_json(view: ProjectionView) -> str:
    """Return the projections as JSON; null where there is no figure."""
    document = {"format": PROJECTION_FORMAT, "version": VERSION} | projection_document(view)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def projection_document(view: ProjectionView) -> dict[str, object]:
    """Return the projections as a part of a JSON document."""
    return {
        "provenance": PROJECTED,
        "workload": msgspec.to_builtins(view.descriptor),
        "source": view.source,
        "source_provenance": str(Provenance.MEASURED if view.is_measured else Provenance.DECLARED),
        "source_units_per_second": view.units_per_second,
        "published_ratios": view.published,
        "devices": [
            {"device": row.device, "provenance": PROJECTED}
            | asdict(row.projection)
            | {"costs": [_cost_json(cost) for cost in row.costs]}
            for row in view.rows
        ],
        "notes": list(_notes(view)),
    }


def projection_csv(view: ProjectionView) -> str:
    """Return a row for each device and purchase option; empty where there is no figure."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        (
            *("workload", "unit", "source", "device", "provenance"),
            *("speed", "speed_low", "speed_high", "is_calibrated", "why_not"),
            *("option", "usd_per_million_units", "usd_low", "usd_high", "as_of", "price_source"),
        )
    )
    for row in view.rows:
        start = (view.descriptor.name, view.descriptor.unit, view.source, row.device, PROJECTED)
        for cost in row.costs or (None,):
            cells = (*start, *_speed_cells(row.projection), *_cost_cells(cost))
            writer.writerow(map(_cell, cells))
    return text.getvalue()


def projection_svg(view: ProjectionView) -> str:
    """Return the projected speeds as bars with their intervals, in one SVG that stands alone."""
    found = [(row, row.projection) for row in view.rows if isinstance(row.projection, Projection)]
    most = max([1.0, *(projection.high for _, projection in found)])
    scale = Scale(0.0, most, _LEFT, _RIGHT)
    bars = tuple(
        _bar(row, projection, scale, place) for place, (row, projection) in enumerate(found)
    )
    unknown = [row.device for row in view.rows if isinstance(row.projection, NotProjected)]
    summary = "Projected by roofline, not measured; lines are 90 % intervals"
    if unknown:
        summary += f"; not known: {', '.join(unknown)}"
    foot = _FIRST + _ROW * len(bars)
    return (
        render(
            "projection.svg.j2",
            title=_title(view),
            summary=summary,
            bars=bars,
            ticks=tuple(Tick(scale.at(value), f"{value:g}") for value in nice_ticks(0.0, most)),
            same=scale.at(1.0),
            source=view.source,
            left=_LEFT,
            foot=foot,
            height=foot + 40,
        )
        + "\n"
    )


def _bar(row: ProjectedRow, projection: Projection, scale: Scale, place: int) -> SpeedBar:
    return SpeedBar(
        device=row.device,
        y=_FIRST + _ROW * place,
        end=scale.at(projection.speed),
        low=scale.at(projection.low),
        high=scale.at(projection.high),
        figure=f"{projection.speed:.2f} ({_between(projection)})",
    )


def _title(view: ProjectionView) -> str:
    return f"{clean(view.descriptor.name)}, projected from {view.source}: not measured"


def _source(view: ProjectionView) -> str:
    unit = clean(view.descriptor.unit)
    if view.units_per_second is None:
        return f"How fast {view.source} does it was not said: there is no price of a million {unit}"
    low, middle, high = view.units_per_second
    between = "" if low == high else f" ({figures.count(low)} to {figures.count(high)})"
    known = "Measured" if view.is_measured else "Declared"
    speed = f"{figures.count(middle)} {unit} a second{between}"
    return f"{known} on {view.source}: {speed}."


def _notes(view: ProjectionView) -> Iterator[str]:
    """Yield what the figures rest on, and what to mind with them."""
    yield f"90 % intervals, calibrated on {view.published} published ratios of two devices."
    far = [
        row.device
        for row in view.rows
        if isinstance(row.projection, Projection) and not row.projection.is_calibrated
    ]
    if far:
        names = ", ".join(far)
        yield f"Little was published between such designs of chip, so it is wider: {names}."
    shares = [
        row.projection.unexplained
        for row in view.rows
        if isinstance(row.projection, Projection) and row.projection.unexplained is not None
    ]
    if shares and shares[0] >= _LITTLE:
        share = figures.whole_share(shares[0])
        host = "may be the host's" if view.descriptor.fixed is None else "is taken to scale alike"
        yield f"{share} of the time on {view.source} is not explained by its roofs, and {host}."
    yield from (f"A unit takes {basis}." for basis in _bases(view))
    rates = [cost.rate for row in view.rows for cost in row.costs]
    if assumed := tuple(dict.fromkeys(words for rate in rates for words in rate.assumed)):
        yield f"Prices assume, not measured: {', '.join(assumed)}."
    yield from (f"{rate.label}: {warning}." for rate in rates for warning in rate.warnings)


def _bases(view: ProjectionView) -> Iterator[str]:
    """Yield each figure of the descriptor with its source."""
    descriptor = view.descriptor
    for done in descriptor.arithmetic:
        words = f"{figures.flops(done.flops)} in {' or else '.join(done.dtypes)}"
        yield _based(words, done.source, is_assumed=done.is_assumed)
    for moved in descriptor.memory:
        words = f"{figures.byte_count(moved.bytes)} of memory traffic"
        yield _based(words, moved.source, is_assumed=moved.is_assumed)
    for sent in descriptor.communication:
        words = f"{figures.byte_count(sent.bytes)} of {sent.pattern} over {descriptor.devices}"
        yield _based(words, sent.source, is_assumed=sent.is_assumed)
    if descriptor.fixed is not None:
        words = f"{figures.seconds(descriptor.fixed.seconds)} that no device makes shorter"
        yield _based(words, descriptor.fixed.source, is_assumed=descriptor.fixed.is_assumed)


def _based(words: str, source: str, *, is_assumed: bool) -> str:
    return f"{words}{' (assumed)' if is_assumed else ''}: {source}"


def _between(projection: Projection) -> str:
    return f"{projection.low:.2f} to {projection.high:.2f}"


def _usd_between(cost: ProjectedCost) -> str:
    ends = (figures.usd(end).removesuffix(f"{figures.NBSP}USD") for end in (cost.low, cost.high))
    return " to ".join(ends)


def _cost_json(cost: ProjectedCost) -> dict[str, object]:
    return {
        "provenance": PROJECTED,
        "option": cost.rate.option,
        "usd_per_million_units": str(cost.usd),
        "usd_low": str(cost.low),
        "usd_high": str(cost.high),
        "usd_per_device_hour": str(cost.rate.usd_per_device_hour),
        "as_of": cost.rate.as_of.isoformat(),
        "price_source": cost.rate.source,
        "assumed": list(cost.rate.assumed),
        "warnings": list(cost.rate.warnings),
    }


def _speed_cells(found: Projection | NotProjected) -> tuple[object, ...]:
    match found:
        case NotProjected():
            return ("", "", "", "", found.why)
        case Projection():
            return (found.speed, found.low, found.high, found.is_calibrated, "")


def _cost_cells(cost: ProjectedCost | None) -> tuple[object, ...]:
    if cost is None:
        return ("",) * 6
    rate = cost.rate
    return (rate.option, cost.usd, cost.low, cost.high, rate.as_of.isoformat(), rate.source)


def _cell(value: object) -> object:
    """Return what a spreadsheet shows and never computes."""
    if isinstance(value, float | bool | Decimal):
        return value
    return cell(clean(str(value), limit=_MAX_SOURCE)) if value != "" else ""


def _clean(text: str) -> str:
    return clean(text, limit=_MAX_SOURCE)
