"""Turns price lists, what is wrong with them and how they differ into text, Markdown, JSON, CSV.

Nothing that others wrote reaches a page but as clean text.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from datetime import date
from io import StringIO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.age import MAX_AGE_DAYS, OldPrice, age_warnings, old_prices, shelf_of
from perfledger_cost_models.price_check import Finding, SheetCheck
from perfledger_cost_models.price_rules import Level
from perfledger_cost_models.sheet import UNKNOWN, Price, PriceSheet, UnknownPrice
from perfledger_cost_models.sheet_diff import SheetDiff, newest_prices
from perfledger_service.cost_views import PriceUpdate
from perfledger_service.pages.escape import cell, clean, code, prose

# 1: first version. Keys are only ever added.
CHECK_FORMAT = "perfledger-price-check"
DIFF_FORMAT = "perfledger-price-diff"
VERSION = 1

_DIFF_COLUMNS = (
    "what",
    "provider",
    "option",
    "region",
    "usd_per_hour_before",
    "usd_per_hour_after",
    "change",
    "as_of_before",
    "as_of_after",
    "source",
)
_SHEET_COLUMNS = (
    "provider",
    "option",
    "region",
    "accelerator",
    "count",
    "usd_per_hour",
    "usd_per_device_hour",
    "as_of",
    "is_read_date",
    "is_superseded",
    "confidence",
    "source",
    "warnings",
    "provenance",
)
_STYLES = {Level.REJECT: "red", Level.WARN: "yellow", Level.UNKNOWN: "dim"}
_MAX_NAME = 120
_MAX_REASON = 300
_MAX_ROWS = 40  # of each kind, in a terminal; JSON and CSV have all of them


def price_check_text(check: SheetCheck, *, today: date | None = None) -> Group:
    """Return the findings for a terminal of 80 columns; `today` tells which prices are old."""
    parts: list[RenderableType] = []
    for finding in check.findings:
        head = Text(f"row {finding.row} ", style="bold")
        head.append(clean(finding.option, limit=_MAX_NAME), style="not bold")
        line = Text(f"  {finding.level}", style=_STYLES[finding.level])
        line.append(f" {finding.rule}: {clean(finding.reason, limit=_MAX_REASON)}", style="none")
        parts += [head, line]
    parts += [Text(words, style="yellow") for words in _old(old_prices(check.sheet, today=today))]
    parts.append(Text(_summary(check), style="red" if check.rejected else "green"))
    return Group(*parts)


def price_check_markdown(check: SheetCheck, *, today: date | None = None) -> str:
    """Return the findings as Markdown."""
    lines = [_summary(check), "", "| row | option | | rule | why |", "|---|---|---|---|---|"]
    lines += [
        f"| {each.row} | {code(each.option, limit=_MAX_NAME)} | {each.level} | {each.rule} "
        f"| {prose(each.reason)} |"
        for each in check.findings
    ]
    lines += ["", *_old(old_prices(check.sheet, today=today))]
    return "\n".join(lines) + "\n"


def price_check_json(check: SheetCheck, *, today: date | None = None) -> str:
    """Return the findings as JSON."""
    document = {
        "format": CHECK_FORMAT,
        "version": VERSION,
        "sheet": check.name,
        "rows": check.rows,
        "usable": len(check.sheet.prices),
        "findings": [asdict(finding) for finding in check.findings],
        "old": [
            _price(each.price) | {"warning": each.warning}
            for each in old_prices(check.sheet, today=today)
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def price_check_csv(check: SheetCheck) -> str:
    """Return the findings as CSV, a row for each."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Finding)])
    for each in check.findings:
        writer.writerow([cell(str(value)) for value in asdict(each).values()])
    return text.getvalue()


def sheet_table(sheet: PriceSheet, *, today: date) -> Group:
    """Return the prices for a terminal, those that are older than their kind keeps in yellow."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("option@region", overflow="fold")
    table.add_column("accelerator", justify="right", no_wrap=True)
    table.add_column("USD/h", justify="right", no_wrap=True)
    table.add_column("as of", no_wrap=True)
    newest = frozenset(newest_prices(sheet).values())
    for price in sheet.prices:
        is_old = price in newest and bool(_warnings(price, today))
        read = " read" if price.is_read_date else ""
        mark = " superseded" if price not in newest else " old" if is_old else read
        cells = (
            _name(price),
            f"{price.count}x {price.accelerator}",
            f"{price.usd_per_hour:f}",
            f"{price.as_of}{mark}",
        )
        shown = (Text(clean(text, limit=_MAX_REASON)) for text in cells)
        style = "dim" if price not in newest else "yellow" if is_old else ""
        table.add_row(*shown, style=style)
    for each in sheet.unknown:
        cells = (_name(each), f"{each.count}x {each.accelerator}", "unknown", f"{each.looked_for}")
        table.add_row(*(Text(clean(text, limit=_MAX_REASON)) for text in cells), style="dim")
    return Group(table, Text(_keeping(), style="dim"))


def sheet_json(sheet: PriceSheet, *, today: date) -> str:
    """Return the prices as a JSON list."""
    return json.dumps(_sheet_rows(sheet, today), indent=2) + "\n"


def sheet_csv(sheet: PriceSheet, *, today: date) -> str:
    """Return the prices as CSV, a row for each."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_SHEET_COLUMNS)
    for row in _sheet_rows(sheet, today):
        cells = (row[name] for name in _SHEET_COLUMNS)
        texts = ("; ".join(each) if isinstance(each, list) else each for each in cells)
        writer.writerow(cell("" if each is None else str(each)) for each in texts)
    return text.getvalue()


def diff_text(diff: SheetDiff) -> Group:
    """Return what differs for a terminal of 80 columns, the largest changes first."""
    parts: list[RenderableType] = []
    for one in diff.changed[:_MAX_ROWS]:
        line = Text(f"{float(one.change):+8.1%}  ", style="red" if one.change > 0 else "green")
        line.append(f"{one.before.usd_per_hour:f} to {one.after.usd_per_hour:f}  ", style="bold")
        parts.append(line.append(_name(one.after), style="none"))
    if len(diff.changed) > _MAX_ROWS:
        parts.append(Text(f"{len(diff.changed) - _MAX_ROWS} more changed", style="dim"))
    for mark, style, prices in (("+", "green", diff.added), ("-", "red", diff.removed)):
        for price in prices[:_MAX_ROWS]:
            line = Text(f"{mark} {price.usd_per_hour:f}  ", style=style)
            parts.append(line.append(_name(price), style="none"))
        if len(prices) > _MAX_ROWS:
            parts.append(Text(f"{mark} {len(prices) - _MAX_ROWS} more", style="dim"))
    return Group(*parts, Text(_diff_summary(diff), style="bold"))


def diff_json(diff: SheetDiff) -> str:
    """Return what differs as JSON."""
    document = {
        "format": DIFF_FORMAT,
        "version": VERSION,
        "before": diff.before,
        "after": diff.after,
        "same": diff.same,
        "added": [_price(price) for price in diff.added],
        "removed": [_price(price) for price in diff.removed],
        "changed": [
            {
                "before": _price(one.before),
                "after": _price(one.after),
                "change": float(one.change),
            }
            for one in diff.changed
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def diff_csv(diff: SheetDiff) -> str:
    """Return what differs as CSV, a row for each option and region."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_DIFF_COLUMNS)
    rows: list[tuple[str, Price | None, Price | None]] = [
        *(("changed", one.before, one.after) for one in diff.changed),
        *(("added", None, price) for price in diff.added),
        *(("removed", price, None) for price in diff.removed),
    ]
    changes = [f"{float(one.change):.6f}" for one in diff.changed]
    for place, (what, before, after) in enumerate(rows):
        price = after or before
        if price is not None:
            usd = ("" if each is None else f"{each.usd_per_hour:f}" for each in (before, after))
            days = ("" if each is None else each.as_of.isoformat() for each in (before, after))
            change = changes[place] if place < len(changes) else ""
            names = (price.provider, price.option, price.region, *usd, change, *days, price.source)
            writer.writerow([what, *map(cell, names)])
    return text.getvalue()


def update_text(update: PriceUpdate) -> Group:
    """Return what new prices change, what was rejected and what somebody has to approve."""
    parts: list[RenderableType] = [diff_text(update.diff), price_check_text(update.check)]
    if update.left_out:
        counts = ", ".join(f"{count} with {reason}" for reason, count in update.left_out)
        parts.append(Text(f"Left out of what was read: {counts}.", style="dim"))
    return Group(*parts)


def _old(found: Sequence[OldPrice]) -> Iterator[str]:
    """Say in a line for each kind how many prices are older than it keeps."""
    for shelf, days in MAX_AGE_DAYS.items():
        old = [each for each in found if shelf_of(each.price.pricing_model) is shelf]
        if old:
            oldest = min(each.price.as_of for each in old)
            yield f"{len(old)} {shelf} prices are older than {days} days, the oldest of {oldest}"


def _warnings(price: Price, today: date) -> tuple[str, ...]:
    shelf = shelf_of(price.pricing_model)
    return age_warnings(price.as_of, today=today, shelf=shelf, is_read_date=price.is_read_date)


def _sheet_rows(sheet: PriceSheet, today: date) -> list[dict[str, str | int | list[str] | None]]:
    """Return a row for each price, then one for each that is not known, whose price is null."""
    newest = frozenset(newest_prices(sheet).values())
    known: list[dict[str, str | int | list[str] | None]] = [
        {
            **_price(price),
            "count": price.count,
            "usd_per_device_hour": f"{price.usd_per_device_hour:f}",
            "confidence": price.confidence,
            "provenance": price.layer,
            "is_read_date": price.is_read_date,
            "is_superseded": price not in newest,
            "age_days": (today - price.as_of).days,
            "warnings": list(_warnings(price, today)),
        }
        for price in sheet.prices
    ]
    return known + [_unknown_row(each) for each in sheet.unknown]


def _unknown_row(each: UnknownPrice) -> dict[str, str | int | list[str] | None]:
    return {
        "provider": each.provider,
        "option": each.option,
        "region": each.region,
        "accelerator": each.accelerator,
        "usd_per_hour": None,
        "as_of": None,
        "source": each.source,
        "count": each.count,
        "usd_per_device_hour": None,
        "confidence": UNKNOWN,
        "provenance": UNKNOWN,
        "is_read_date": False,
        "is_superseded": False,
        "age_days": None,
        "warnings": [f"its price was {each.why}"],
    }


def _keeping() -> str:
    kept = ", ".join(f"{shelf} prices {days}" for shelf, days in MAX_AGE_DAYS.items())
    return (
        f"old: beyond the days that its kind keeps ({kept}); read: the day it was read; "
        "superseded: a newer one counts; unknown: looked for until then and not found, never zero"
    )


def _price(price: Price) -> dict[str, str]:
    return {
        "provider": price.provider,
        "option": price.option,
        "region": price.region,
        "accelerator": price.accelerator,
        "usd_per_hour": f"{price.usd_per_hour:f}",
        "as_of": price.as_of.isoformat(),
        "source": price.source,
    }


def _name(price: Price | UnknownPrice) -> str:
    region = f"@{price.region}" if price.region else ""
    return clean(f"{price.provider}:{price.option}{region}", limit=_MAX_NAME)


def _diff_summary(diff: SheetDiff) -> str:
    names = (clean(name, limit=_MAX_NAME) for name in (diff.before, diff.after))
    return (
        f"{' to '.join(names)}: {len(diff.changed)} changed, {len(diff.added)} added, "
        f"{len(diff.removed)} removed, {diff.same} the same"
    )


def _summary(check: SheetCheck) -> str:
    rejected = len({finding.row for finding in check.rejected})
    usable = f"{len(check.sheet.prices)} of {check.rows} rows can be used"
    return f"{clean(check.name, limit=_MAX_NAME)}: {usable}, {rejected} rejected"
