"""Presents the yearly cost of changes, their effect on queues and the results of policies."""

from collections.abc import Iterator, Sequence

from perfledger_cost_models.quote import ChangePrice, SummedPrice
from perfledger_service.rendering.cost import yearly_rows
from perfledger_service.rendering.cost.change_json import (
    RATE_PARTS,
    policy_evaluation_records,
    queue_records,
    rate_record,
    summed_price_record,
)
from perfledger_service.rendering.cost.price_rows import PriceRow, price_row
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    Paragraph,
    TextStyle,
    display,
    fact,
    facts,
    name,
    notes,
    sentences,
    table,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean, clean_sentence
from perfledger_service.values.change_price import ChangePriceView

_MAX_NOTE = 600
_SHOWN_NAMES = 3
_DEVICE_ASSUMED = (
    "The ratio is taken as measured on the device that it is priced on; --measured-on names another"
)
_PricedRow = tuple[ChangePrice, PriceRow]


def change_document(view: ChangePriceView) -> Document:
    """Return the cost of each change, their total, and the effects on queues and policies."""
    rows = [(price, price_row(price, is_proven=True)) for price in view.prices.prices]
    names = [price.workload for price, _ in rows]
    remarks = dict.fromkeys(
        (
            *_workload_notes([row for _, row in rows]),
            *(note for price, row in rows for note in _hours_and_rate_notes(price, row)),
            *((_DEVICE_ASSUMED,) if view.is_device_assumed and rows else ()),
        )
    )
    return Document(
        name="perfledger-change-costs",
        facts={
            "total_price": summed_price_record(view.prices.total),
            "queues": queue_records(view.prices.queues),
            "policies": policy_evaluation_records(view.policy_evaluations),
        },
        blocks=(
            table(_columns(), rows, key="prices"),
            table(_total_columns(), _totals(view), key="total", in_json=False),
            *notes(remarks, names=names),
            *_total(view, names),
        ),
    )


def _columns() -> tuple[Column[_PricedRow], ...]:
    return (
        name("workload", "workload", lambda row: row[0].workload, limit=MAX_LONG_NAME),
        display("USD a year", _amount),
        display("95 %", lambda row: row[1].interval or "-"),
        display("on", lambda row: _where(row[1]), kind=CellKind.NAME, limit=MAX_LONG_NAME),
        fact("usd_per_year", lambda row: row[0].usd),
        fact("low", lambda row: row[0].low),
        fact("high", lambda row: row[0].high),
        fact("is_detectable", lambda row: row[0].is_detectable),
        fact("device_hours_per_year", lambda row: row[0].device_hours_per_year[1]),
        fact("device_hours_low", lambda row: row[0].device_hours_per_year[0]),
        fact("device_hours_high", lambda row: row[0].device_hours_per_year[2]),
        fact("hours_source", lambda row: row[0].hours_source),
        fact("extra_hours", lambda row: row[0].extra_hours),
        fact("absorbed_hours", lambda row: row[0].absorbed_hours),
        fact("renewal_devices", lambda row: row[0].renewal_devices),
        fact("rate", lambda row: rate_record(row[0].rate), parts=RATE_PARTS),
        fact("moves_to", lambda row: rate_record(row[0].moves_to), parts=RATE_PARTS),
        fact("projected_from", lambda row: row[0].projected_from),
        fact("note", lambda row: row[0].note),
    )


def _total_columns() -> tuple[Column[SummedPrice], ...]:
    return (
        fact("usd_per_year", lambda total: total.usd),
        *facts("low", "high", "is_detectable", "missing"),
    )


def _totals(view: ChangePriceView) -> tuple[SummedPrice, ...]:
    return () if view.prices.total is None else (view.prices.total,)


def _where(row: PriceRow) -> str:
    return f"{row.option}; {row.hours} device-hours a year" if row.option else "-"


def _amount(priced: _PricedRow) -> str:
    price, row = priced
    match row.verb:
        case "":
            return "no price"
        case "no detectable change" | "costs no cash" | "saves no cash":
            return row.verb
        case _:
            return f"{'-' if price.usd is not None and price.usd < 0 else '+'}{row.amount}"


def _workload_notes(rows: Sequence[PriceRow]) -> Iterator[str]:
    """Yield notes on workloads; workloads with the same note share it."""
    workloads: dict[str, list[str]] = {}
    for row in rows:
        remarks = [each for each in (row.capacity, row.note) if each]
        text = " ".join(clean_sentence(each, limit=_MAX_NOTE) for each in remarks)
        if text:
            workloads.setdefault(text, []).append(clean(row.workload, limit=MAX_LONG_NAME))
    for text, names in workloads.items():
        is_long = len(names) > _SHOWN_NAMES
        yield f"{f'{len(names)} workloads' if is_long else ', '.join(names)}: {text}"


def _hours_and_rate_notes(price: ChangePrice, row: PriceRow) -> Iterator[str]:
    rate = price.rate
    if row.option:
        hours = f" ({row.hours_interval})" if row.hours_interval else ""
        source = clean(row.hours_source, limit=_MAX_NOTE)
        yield f"{row.hours}{hours} device-hours: {source}"
    is_capacity = price.extra_hours is not None and not row.amount
    if rate is not None and not is_capacity:
        source = clean(rate.source, limit=_MAX_NOTE)
        yield f"{number_format.usd(rate.usd_per_device_hour)} a device-hour, {row.dated}: {source}"
        yield from (clean_sentence(each, limit=_MAX_NOTE) for each in rate.caveats)


def _total(view: ChangePriceView, names: Sequence[str]) -> Iterator[Paragraph]:
    total = yearly_rows.yearly_total(view.prices.total, len(view.prices.prices))
    if total is not None:
        missing = f"; without a price: {_names(total.missing)}" if total.missing else ""
        text = f"Together: {total.text}{missing}"
        yield Paragraph(text=text, style=TextStyle.STRONG, names=tuple(names))
    queues = yearly_rows.queue_sentences(view.prices.queues)
    yield from sentences(clean_sentence(each, limit=_MAX_NOTE) for each in queues)
    for row in yearly_rows.policy_evaluation_rows(view.policy_evaluations):
        why = f": {row.why}" if row.why else ""
        unpriced = f"; without a price: {_names(row.unpriced)}" if row.unpriced else ""
        team = clean(row.team, limit=MAX_LONG_NAME)
        yield from sentences([f"Policy of {team} {row.verb}{why}{unpriced}"], names=[team, *names])


def _names(workloads: Sequence[str]) -> str:
    return ", ".join(clean(workload, limit=MAX_LONG_NAME) for workload in workloads)
