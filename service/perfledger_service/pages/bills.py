"""Turns what a bill says of accelerators into terminal text, JSON and CSV."""

import csv
import json
from io import StringIO

from rich.console import Group
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.focus import Bill, Usage
from perfledger_service.pages.escape import cell, clean

# 1: first version. Keys are only ever added.
BILL_FORMAT = "perfledger-bill"
VERSION = 1
_COLUMNS = (
    "team",
    "provider",
    "sku",
    "region",
    "model",
    "instance_hours",
    "effective_usd",
    "billed_usd",
)
_MAX_NAME = 80


def bill_text(bill: Bill) -> Group:
    """Return who used what for a terminal of 80 columns, and what the rest of the bill is."""
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "left", "right", "right", "right"):
        grid.add_column(justify=justify, overflow="fold")
    grid.add_row("team", "option", "hours", "USD", "USD/h", style="dim")
    for one in bill.usage:
        hourly = one.effective_usd / one.instance_hours if one.instance_hours else None
        option = f"{one.provider}:{one.sku}/{one.model}@{one.region}"
        grid.add_row(
            Text(clean(one.team, limit=_MAX_NAME) if one.team else ""),
            Text(clean(option, limit=_MAX_NAME)),
            f"{one.instance_hours:,.1f}",
            f"{one.effective_usd:z,.2f}",
            "" if hourly is None else f"{hourly:z,.2f}",
        )
    used = sum(one.effective_usd for one in bill.usage)
    parts = (
        f"{used:z,.2f} USD for accelerators that were used",
        f"{bill.unused_usd:z,.2f} USD for commitments to them that nobody used",
        f"{bill.other_usd:z,.2f} USD for all else",
    )
    lines = (
        f"From {bill.start:%Y-%m-%d} to {bill.end:%Y-%m-%d}, {bill.rows:,} rows, effective cost:",
        *parts,
        f"together {bill.effective_usd:z,.2f} USD; invoiced {bill.billed_usd:z,.2f} USD",
    )
    return Group(grid, Text(), *map(Text, lines))


def bill_json(bill: Bill) -> str:
    """Return who used what as JSON; money as text, to the last digit."""
    document = {
        "format": BILL_FORMAT,
        "version": VERSION,
        "start": bill.start.isoformat(),
        "end": bill.end.isoformat(),
        "rows": bill.rows,
        "usage": [_texts(one) for one in bill.usage],
        "unused_usd": str(bill.unused_usd),
        "other_usd": str(bill.other_usd),
        "effective_usd": str(bill.effective_usd),
        "billed_usd": str(bill.billed_usd),
    }
    return json.dumps(document, indent=2) + "\n"


def bill_csv(bill: Bill) -> str:
    """Return who used what as CSV."""
    text = StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for one in bill.usage:
        writer.writerow({name: cell(text) for name, text in _texts(one).items()})
    return text.getvalue()


def _texts(one: Usage) -> dict[str, str]:
    return {name: str(getattr(one, name)) for name in _COLUMNS}
