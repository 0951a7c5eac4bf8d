"""Turns prices of changes and fleet profiles into tables, JSON, CSV and TOML for the terminal."""

import csv
import json
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from perfledger_cost_models.fleet import Claim, FleetProfile
from perfledger_cost_models.quote import ChangePrice, Rate, SummedPrice
from perfledger_service.cost_views import PricedView
from perfledger_service.pages import figures, yearly
from perfledger_service.pages.change_json import (
    change_price_document,
    money,
    queue_documents,
    ruling_documents,
    summed_document,
)
from perfledger_service.pages.escape import cell, clean, clean_sentence
from perfledger_service.pages.prices import PriceRow, price_row

CHANGE_FORMAT = "perfledger-change-costs"
FLEET_FORMAT = "perfledger-fleet"
VERSION = 1
COLUMNS = (
    "workload",
    "option",
    "usd_per_year",
    "low",
    "high",
    "is_detectable",
    "device_hours_per_year",
    "device_hours_low",
    "device_hours_high",
    "hours_source",
    "absorbed_hours",
    "usd_per_device_hour",
    "price_as_of",
    "price_source",
    "note",
    "assumed",
)
TOGETHER = "(together)"
_MAX_NAME = 200
_MAX_NOTE = 600


def change_text(view: PricedView) -> Group:
    """Return what changes cost a year for a terminal."""
    grid = Table("workload", *_right("USD a year", "95 %"), "on", box=None, padding=(0, 1))
    notes: dict[str, None] = {}  # in order, each once
    for price in view.priced.prices:
        row = price_row(price, is_proven=True)
        where = f"{row.option}; {row.hours} device-hours a year" if row.option else ""
        grid.add_row(
            Text(clean(row.workload, limit=_MAX_NAME)),
            Text(_amount(row)),
            Text(row.interval or "-"),
            Text(clean(where, limit=_MAX_NAME) if where else "-"),
        )
        notes |= dict.fromkeys(_notes(row, price.rate))
    return Group(grid, *(Text(note, style="dim") for note in notes), *_together(view))


def change_json(view: PricedView) -> str:
    """Return what changes cost as JSON; null where there is no figure."""
    document = {
        "format": CHANGE_FORMAT,
        "version": VERSION,
        "prices": [change_price_document(price) for price in view.priced.prices],
        "total_price": summed_document(view.priced.total),
        "queues": queue_documents(view.priced.queues),
        "policies": ruling_documents(view.rulings),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def change_csv(view: PricedView) -> str:
    """Return what changes cost as CSV: a row for each price and one for all together."""
    rows = [_cells(price) for price in view.priced.prices]
    if view.priced.total is not None:
        rows.append(_total_cells(view.priced.total))
    return _csv(COLUMNS, rows)


def fleet_text(profile: FleetProfile) -> Group:
    """Return a fleet profile for a terminal."""
    columns = _right("device-hours a year", "99 %", "jobs")
    grid = Table("workload", "on", *columns, box=None, padding=(0, 1))
    for use in profile.uses:
        grid.add_row(
            Text(clean(use.workload, limit=_MAX_NAME)),
            Text(clean(use.where, limit=_MAX_NAME)),
            Text(figures.count(use.mode)),
            Text(figures.TO.join(map(figures.count, (use.low, use.high)))),
            Text(f"{use.jobs:,}"),
        )
    lines = [Text(f"{profile.source}: {profile.days:.0f} days")]
    lines += map(Text, unmatched_sentences(profile))
    if profile.unclaimed_hours:
        names = ", ".join(
            f"{clean(name, limit=_MAX_NAME) or 'no name'} {figures.count(hours)}"
            for name, hours in profile.unclaimed
        )
        hours = figures.count(profile.unclaimed_hours)
        lines.append(Text(f"{hours} device-hours of the period are nobody's: {names}"))
    return Group(grid, *lines)


def unmatched_sentences(profile: FleetProfile) -> tuple[str, ...]:
    """Return which usage tables matched no record: they are left out, not counted as zero."""
    return tuple(f"no record matches {_claim(claim)}: left out" for claim in profile.unmatched)


def fleet_toml(profile: FleetProfile) -> str:
    """Return a fleet profile as the tables of perfledger.toml."""
    lines = ["# Written by `perfledger cost fleet`; in pyproject.toml: [[tool.perfledger.fleet]]"]
    for use in profile.entries():
        lines += [
            "",
            "[[fleet]]",
            f"workload = {_toml(use.workload)}",
            f"where = {_toml(use.where)}",
            f"device_hours_per_year = {use.device_hours_per_year:.1f}",
            f"low = {use.low:.1f}",
            f"high = {use.high:.1f}",
            f"source = {_toml(use.source)}",
        ]
    return "\n".join(lines) + "\n"


def fleet_json(profile: FleetProfile) -> str:
    """Return a fleet profile as JSON."""
    document = {
        "format": FLEET_FORMAT,
        "version": VERSION,
        "unit": "device-hours",
        "source": profile.source,
        "start": profile.start.isoformat(),
        "as_of": profile.end.isoformat(),
        "fleet": [
            {
                "workload": use.workload,
                "where": use.where,
                "counted": use.counted_hours,
                "low_per_year": use.low,
                "per_year": use.mode,
                "high_per_year": use.high,
                "jobs": use.jobs,
            }
            for use in profile.uses
        ],
        "unmatched": [
            {"match": claim.match, "workload": claim.workload, "where": claim.where}
            for claim in profile.unmatched
        ],
        "unclaimed": profile.unclaimed_hours,
        "largest_unclaimed": [
            {"name": name, "counted": hours} for name, hours in profile.unclaimed
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def fleet_csv(profile: FleetProfile) -> str:
    """Return a fleet profile as CSV, in device-hours."""
    columns = ("workload", "where", "counted", "low", "per_year", "high", "jobs", "source", "as_of")
    as_of = profile.end.date().isoformat()
    rows = [
        (
            cell(use.workload),
            cell(use.where),
            *(f"{hours:.4f}" for hours in (use.counted_hours, use.low, use.mode, use.high)),
            str(use.jobs),
            cell(profile.source),
            as_of,
        )
        for use in profile.uses
    ]
    return _csv(columns, rows)


def _claim(claim: Claim) -> str:
    labels = ", ".join(f"{key}={glob}" for key, glob in claim.match.items())
    match, workload, where = (
        clean(text, limit=_MAX_NAME) for text in (labels, claim.workload, claim.where)
    )
    return f"{match} ({workload} on {where})"


def _amount(row: PriceRow) -> str:
    match row.verb:
        case "":
            return "no price"
        case "no detectable change" | "costs no cash":
            return row.verb
        case verb:
            return f"{'-' if verb == 'saves' else '+'}{row.amount}"


def _right(*titles: str) -> tuple[Column, ...]:
    return tuple(Column(title, justify="right") for title in titles)


def _notes(row: PriceRow, rate: Rate | None) -> Iterator[str]:
    said = [each for each in (row.absorbed, row.note) if each]
    if said:
        name = clean(row.workload, limit=_MAX_NAME)
        text = " ".join(clean_sentence(each, limit=_MAX_NOTE) for each in said)
        yield f"{name}: {text}"
    if row.option:
        hours = f" ({row.hours_interval})" if row.hours_interval else ""
        source = clean(row.hours_source, limit=_MAX_NOTE)
        yield f"{row.hours}{hours} device-hours: {source}"
    if rate is not None:
        source = clean(rate.source, limit=_MAX_NOTE)
        yield f"{figures.usd(rate.usd_per_device_hour)} a device-hour, {row.dated}: {source}"
        yield from (clean_sentence(each, limit=_MAX_NOTE) for each in rate.caveats)


def _together(view: PricedView) -> Iterator[Text]:
    total = yearly.yearly_total(view.priced.total, len(view.priced.prices))
    if total is not None:
        missing = f"; without a price: {_names(total.missing)}" if total.missing else ""
        yield Text(f"Together: {total.text}{missing}", style="bold")
    for sentence in yearly.queue_sentences(view.priced.queues):
        yield Text(clean_sentence(sentence, limit=_MAX_NOTE))
    for row in yearly.ruling_rows(view.rulings):
        why = f": {row.why}" if row.why else ""
        unpriced = f"; without a price: {_names(row.unpriced)}" if row.unpriced else ""
        yield Text(f"Policy of {clean(row.team, limit=_MAX_NAME)} {row.verb}{why}{unpriced}")


def _names(workloads: Sequence[str]) -> str:
    return ", ".join(clean(name, limit=_MAX_NAME) for name in workloads)


def _cells(price: ChangePrice) -> tuple[str, ...]:
    low, mode, high = price.device_hours_per_year
    absorbed = "" if price.absorbed_hours is None else repr(price.absorbed_hours[1])
    return (
        cell(price.workload),
        cell(price.rate.option) if price.rate else "",
        *(money(usd) or "" for usd in (price.usd, price.low, price.high)),
        str(price.is_detectable).lower(),
        *(repr(hours) for hours in (mode, low, high)),
        cell(price.hours_source),
        absorbed,
        *_rate_cells(price.rate),
        cell(price.note),
        cell("; ".join(price.rate.assumed)) if price.rate else "",
    )


def _rate_cells(rate: Rate | None) -> tuple[str, str, str]:
    if rate is None:
        return "", "", ""
    return money(rate.usd_per_device_hour) or "", rate.as_of.isoformat(), cell(rate.source)


def _total_cells(total: SummedPrice) -> tuple[str, ...]:
    amounts = tuple(money(usd) or "" for usd in (total.usd, total.low, total.high))
    missing = f"without a price: {', '.join(total.missing)}" if total.missing else ""
    empty = ("",) * (len(COLUMNS) - 8)
    return TOGETHER, "", *amounts, str(total.is_detectable).lower(), *empty, cell(missing), ""


def _csv(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    file = StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return file.getvalue()


def _toml(text: str) -> str:
    """Return a TOML string: JSON's escapes are TOML's too, which wants DEL escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
