"""Presents a workload's projected speed and cost on devices it was not measured on.

All output is marked as projected.
"""

from collections.abc import Iterator

import msgspec

from perfledger_cost_models.projection.projection import (
    MissingProjection,
    ProjectedCost,
    Projection,
)
from perfledger_cost_models.quote import Provenance
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    display,
    fact,
    name,
    notes,
    record_facts,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.values.projection_views import ProjectionRow, ProjectionView

PROJECTED_MARK = "projected"

# A smaller unexplained share of the measured time is not mentioned.
_LITTLE = 0.25
_BETWEEN = "90 % interval"
_Cost = tuple[str, ProjectedCost]  # on a device


def projection_document(view: ProjectionView, *, is_part: bool = False) -> Document:
    """Return the projections, without a format name if they are `is_part` of another document."""
    names = (view.descriptor.name, view.descriptor.unit)
    costs = [(row.device, cost) for row in view.rows for cost in row.costs]
    return Document(
        name="" if is_part else "perfledger-projection",
        version=2,
        facts={
            "provenance": PROJECTED_MARK,
            "workload": msgspec.to_builtins(view.descriptor),
            "source": view.source,
            "source_provenance": Provenance.MEASURED if view.is_measured else Provenance.DECLARED,
            "source_units_per_second": view.units_per_second,
            "published_ratios": view.published,
            "notes": tuple(_notes(view)),
        },
        row_facts=("source",),
        blocks=(
            title(projection_title(view), names=names),
            *sentences([_source(view)], names=names),
            table((*_workload_columns(view), *_device_columns()), view.rows, key="devices"),
            table((*_workload_columns(view), *_cost_columns()), costs, key="costs"),
            *notes(_notes(view), names=names),
        ),
    )


def projection_title(view: ProjectionView) -> str:
    """Return the workload and the source of the projection; the name is untrusted."""
    return f"{clean(view.descriptor.name)}, projected from {view.source}, not measured"


def _source(view: ProjectionView) -> str:
    unit = clean(view.descriptor.unit)
    if view.units_per_second is None:
        return f"The speed on {view.source} is unknown, so there is no cost per million {unit}"
    low, middle, high = view.units_per_second
    between = "" if low == high else f" ({number_format.interval(low, high, number_format.count)})"
    provenance = "Measured" if view.is_measured else "Declared"
    speed = f"{number_format.count(middle)} {unit} a second{between}"
    return f"{provenance} on {view.source}: {speed}."


def _notes(view: ProjectionView) -> Iterator[str]:
    """Yield the basis and the caveats of the figures."""
    yield f"90 % intervals, calibrated on {view.published} published ratios of two devices."
    far = [
        row.device
        for row in view.rows
        if isinstance(row.projection, Projection) and not row.projection.is_calibrated
    ]
    if far:
        names = ", ".join(far)
        yield (
            f"No published result validates such a projection, so the interval is wider: {names}."
        )
    shares = [
        row.projection.unexplained
        for row in view.rows
        if isinstance(row.projection, Projection) and row.projection.unexplained is not None
    ]
    if shares and shares[0] >= _LITTLE:
        share = number_format.whole_share(shares[0])
        host = (
            "may be host time"
            if view.descriptor.fixed is None
            else "is assumed to scale the same way"
        )
        yield f"{share} of the time on {view.source} is not explained by its roofline, and {host}."
    yield from (f"A unit takes {basis}." for basis in _bases(view))
    rates = [cost.rate for row in view.rows for cost in row.costs]
    if assumed := tuple(dict.fromkeys(words for rate in rates for words in rate.assumed)):
        yield f"Assumed for the prices, not measured: {'; '.join(assumed)}."
    yield from (f"{rate.label}: {warning}." for rate in rates for warning in rate.warnings)


def _bases(view: ProjectionView) -> Iterator[str]:
    """Yield each figure of the workload descriptor with its source."""
    descriptor = view.descriptor
    for done in descriptor.arithmetic:
        words = f"{number_format.flops(done.flops)} in {' or else '.join(done.dtypes)}"
        yield _with_source(words, done.source, is_assumed=done.is_assumed)
    for traffic in descriptor.memory:
        words = f"{number_format.byte_count(traffic.bytes)} of memory traffic"
        yield _with_source(words, traffic.source, is_assumed=traffic.is_assumed)
    for sent in descriptor.communication:
        words = (
            f"{number_format.byte_count(sent.bytes)} of {sent.pattern} over {descriptor.devices}"
        )
        yield _with_source(words, sent.source, is_assumed=sent.is_assumed)
    if descriptor.fixed is not None:
        words = f"{number_format.seconds(descriptor.fixed.seconds)}, the same on every device"
        yield _with_source(words, descriptor.fixed.source, is_assumed=descriptor.fixed.is_assumed)


def _with_source(words: str, source: str, *, is_assumed: bool) -> str:
    return f"{words}{' (assumed)' if is_assumed else ''}: {source}"


def speed_interval(projection: Projection) -> str:
    """Return the interval of a speed."""
    return number_format.interval(projection.low, projection.high, number_format.speed)


def _projection(row: ProjectionRow) -> Projection | None:
    return row.projection if isinstance(row.projection, Projection) else None


def _why(row: ProjectionRow) -> str | None:
    return row.projection.reason if isinstance(row.projection, MissingProjection) else None


def _dtypes(row: ProjectionRow) -> str:
    projection = _projection(row)
    return "" if projection is None else ", ".join(projection.dtypes)


def _speed_text(row: ProjectionRow) -> str:
    projection = _projection(row)
    return number_format.NOT_KNOWN if projection is None else number_format.speed(projection.speed)


def _speed_between(row: ProjectionRow) -> str:
    projection = _projection(row)
    return "" if projection is None else speed_interval(projection)


def _workload_columns(view: ProjectionView) -> tuple[Column[object], ...]:
    """Return the columns that make a row of the CSV complete: the workload and its unit."""
    return (
        fact("workload", lambda _: view.descriptor.name),
        fact("unit", lambda _: view.descriptor.unit),
    )


def _device_columns() -> tuple[Column[ProjectionRow], ...]:
    return (
        name("device", "projected onto", lambda row: row.device),
        fact("provenance", lambda _: PROJECTED_MARK),
        display("data type", _dtypes),
        display("times as fast", _speed_text),
        display(_BETWEEN, _speed_between),
        *record_facts(Projection, _projection, without=("workload", "unit", "source")),
        words("reason", "", _why),
    )


def _cost_columns() -> tuple[Column[_Cost], ...]:
    return (
        name("device", "projected onto", lambda cost: cost[0]),
        fact("provenance", lambda _: PROJECTED_MARK),
        fact("option", lambda cost: cost[1].rate.option),
        name("label", "option", lambda cost: cost[1].rate.label),
        display("USD per 1M", lambda cost: number_format.usd(cost[1].usd)),
        display(_BETWEEN, lambda cost: number_format.usd_interval(cost[1].low, cost[1].high)),
        display("region and date", lambda cost: cost[1].rate.origin, kind=CellKind.REMARK),
        fact("usd_per_million_units", lambda cost: cost[1].usd),
        fact("usd_low", lambda cost: cost[1].low),
        fact("usd_high", lambda cost: cost[1].high),
        fact("usd_per_device_hour", lambda cost: cost[1].rate.usd_per_device_hour),
        fact("region", lambda cost: cost[1].rate.region),
        fact("as_of", lambda cost: cost[1].rate.as_of),
        fact("is_read_date", lambda cost: cost[1].rate.is_read_date),
        fact("price_source", lambda cost: cost[1].rate.source),
        fact("assumed", lambda cost: cost[1].rate.assumed),
        fact("warnings", lambda cost: cost[1].rate.warnings),
    )
