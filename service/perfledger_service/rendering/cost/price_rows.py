"""Lists the cost of changes and of units of work, with interval and provenance.

Workloads, units, sources and notes are not escaped yet: each template does that for its format.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from perfledger.metrics import MetricKind
from perfledger_baselines.judging.verdict import Outcome
from perfledger_cost_models.quote import ChangePrice, HourlyRate, Provenance, UnitCost
from perfledger_service.rendering.cost import yearly_rows
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.escape import link
from perfledger_service.rendering.layout.verdict_rows import VerdictTableRow
from perfledger_service.values.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """The yearly cost of one workload's change on one purchase option, as shown.

    `verb` is "costs" or "saves" for a detected change with an amount, "could cost" or "could save"
    for an undetected change whose interval has one sign, "no detectable change" if it has both,
    "costs no cash" or "saves no cash" if all hours are on devices that are paid for anyway, and ""
    without an amount: `note` then gives the reason. `capacity` is about such devices.
    """

    workload: str
    verb: str
    amount: str
    interval: str
    option: str
    hours: str
    hours_interval: str
    hours_source: str
    dated: str
    note: str
    capacity: str = ""
    has_moved: bool = False  # to a device with more memory, or possibly so


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCostRow:
    """The cost of a million units of work on one purchase option, as shown.

    Options whose cost is unknown for the same reason share a row: `option` then gives their number.
    """

    workload: str
    unit: str
    option: str
    amount: str
    interval: str
    provenance: str
    is_known: bool
    is_declared: bool
    why: str
    dated: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """The source of a rate, as shown."""

    option: str
    accelerator: str
    per_hour: str
    interval: str
    dated: str
    source: str
    link: str  # the https address of the source, "" if none is known
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]
    caveats: tuple[str, ...]  # warnings and caveats as sentences


def price_rows(report: Report) -> tuple[PriceRow, ...]:
    """Return the yearly cost of the changes, the largest first, those without a price last."""
    ordered = sorted(report.change_prices, key=_amount, reverse=True)
    proven = {
        verdict.workload
        for outcome in (Outcome.REGRESSED, Outcome.IMPROVED)
        for verdict in report.verdicts_of(outcome)
        if verdict.metric.kind is MetricKind.SPEED
    }
    proven |= {price.workload for price in ordered if price.moves_to and price.is_detectable}
    return tuple(price_row(price, is_proven=price.workload in proven) for price in ordered)


def price_row(price: ChangePrice, *, is_proven: bool) -> PriceRow:
    """Return one price as shown; `is_proven` if a verdict or a person states the change."""
    verb = amount = interval = ""
    if price.usd is not None and price.low is not None and price.high is not None:
        amount, interval = number_format.yearly_usd(price.usd, price.low, price.high)
        verb = _verb(price, price.usd, is_proven=is_proven and not price.projected_from)
        if verb.endswith(" no cash"):
            amount = interval = ""
    low, mode, high = price.device_hours_per_year
    return PriceRow(
        workload=price.workload,
        verb=verb,
        amount=amount,
        interval=interval,
        option=price.rate.label if price.rate else "",
        hours=number_format.count(mode),
        hours_interval=""
        if low == high
        else number_format.interval(low, high, number_format.count),
        hours_source=price.hours_source,
        dated=rate_day(price.rate) if price.rate else "",
        note=price.note,
        capacity=yearly_rows.capacity_sentence(price),
        has_moved=price.moves_to is not None,
    )


def split_price_rows(
    report: Report, verdicts: Iterable[VerdictTableRow]
) -> tuple[tuple[PriceRow, ...], tuple[PriceRow, ...]]:
    """Return the prices of changed or possibly changed workloads, and those of unchanged ones.

    An unchanged workload without a price gets no row, unless it is missing from the sum.
    """
    missing = () if report.total_price is None else report.total_price.missing
    changed = {
        row.workload for row in verdicts if row.kind is MetricKind.SPEED and not row.is_quiet
    }
    every = price_rows(report)
    loud = tuple(
        row
        for row in every
        if row.workload in changed or row.has_moved or (not row.verb and row.workload in missing)
    )
    return loud, tuple(row for row in every if row not in loud and row.verb)


def unit_cost_rows(report: Report) -> tuple[UnitCostRow, ...]:
    """Return the cost of a million units of work of each workload."""
    rows: list[UnitCostRow] = []
    for _, costs in groupby(report.unit_costs, key=lambda cost: cost.workload):
        rows.extend(_unit_cost_rows(tuple(costs)))
    return tuple(rows)


def source_rows(report: Report) -> tuple[SourceRow, ...]:
    """Return each rate that this report uses, once."""
    change = (rate for price in report.change_prices for rate in (price.rate, price.moves_to))
    unit = (cost.rate for cost in report.unit_costs if cost.usd is not None)
    projected = (
        cost.rate for view in report.projections for row in view.rows for cost in row.costs
    )
    rates: dict[str, HourlyRate] = {}
    for rate in (*change, *unit, *projected):
        if rate is not None:
            rates.setdefault(rate.option, rate)
    return tuple(_source_row(rate) for rate in rates.values())


def unknown_workloads(rows: Iterable[UnitCostRow]) -> tuple[str, ...]:
    """Return the workloads without a unit cost on any option."""
    priced = {row.workload for row in rows if row.is_known}
    return tuple(dict.fromkeys(row.workload for row in rows if row.workload not in priced))


def declared_workloads(rows: Iterable[UnitCostRow]) -> tuple[str, ...]:
    """Return the workloads with a unit cost from a declared throughput."""
    return tuple(dict.fromkeys(row.workload for row in rows if row.is_declared))


def _amount(price: ChangePrice) -> Decimal:
    is_known = price.usd is not None and price.usd.is_finite()
    return abs(price.usd) if is_known and price.usd is not None else Decimal(-1)


def _verb(price: ChangePrice, usd: Decimal, *, is_proven: bool) -> str:
    if not price.is_detectable:
        return "no detectable change"
    if price.extra_hours is not None and price.low == price.high == 0:
        return f"{'saves' if price.extra_hours[1] < 0 else 'costs'} no cash"
    if usd == 0:  # idle devices probably absorb all of it
        return "could cost"
    if is_proven:
        return "costs" if usd > 0 else "saves"
    return "could cost" if usd > 0 else "could save"


def _unit_cost_rows(costs: Sequence[UnitCost]) -> Iterable[UnitCostRow]:
    unknown: dict[str, list[UnitCost]] = {}
    for cost in costs:
        if cost.usd is None:
            unknown.setdefault(_reason(cost), []).append(cost)
            continue
        yield UnitCostRow(
            workload=cost.workload,
            unit=cost.unit,
            option=cost.rate.label,
            amount=number_format.usd(cost.usd),
            interval=_ends(cost.low, cost.high),
            provenance=vocabulary.provenance(cost.provenance),
            is_known=True,
            is_declared=cost.provenance is Provenance.DECLARED,
            why=_reason(cost),
            dated=rate_day(cost.rate),
        )
    for why, alike in unknown.items():
        first = alike[0]
        yield UnitCostRow(
            workload=first.workload,
            unit=first.unit,
            option=first.rate.label if len(alike) == 1 else f"{len(alike)} options",
            amount="",
            interval="",
            provenance=vocabulary.provenance(Provenance.UNKNOWN),
            is_known=False,
            is_declared=False,
            why=why,
            dated="",
        )


def _reason(cost: UnitCost) -> str:
    """Return the reason, without the provenance that precedes it."""
    return cost.reason.removeprefix(f"{vocabulary.provenance(cost.provenance)}: ")


def _source_row(rate: HourlyRate) -> SourceRow:
    return SourceRow(
        option=rate.label,
        accelerator=rate.accelerator,
        per_hour=number_format.usd(rate.usd_per_device_hour),
        interval=_ends(rate.low, rate.high),
        dated=rate_day(rate),
        source=rate.source,
        link=link(rate.source_url),
        assumed=rate.assumed,
        warnings=rate.warnings,
        caveats=rate.caveats,
    )


def rate_day(rate: HourlyRate) -> str:
    """Return the day of a rate: its as-of date, or the day on which an undated list was read."""
    day = number_format.day(rate.as_of)
    return f"read on {day}, list date unknown" if rate.is_read_date else f"as of {day}"


def _ends(low: Decimal | None, high: Decimal | None) -> str:
    if low is None or high is None or low == high:
        return ""
    return number_format.usd_interval(low, high)
