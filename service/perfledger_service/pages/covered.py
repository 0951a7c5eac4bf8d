"""Turns what commitments cover of some hours into terminal text, JSON and CSV."""

import csv
import json
from dataclasses import asdict
from decimal import Decimal
from io import StringIO

from rich.console import Group
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.coverage import CoveredHour, CoveredUse
from perfledger_service.pages.escape import cell, clean

# 1: first version. Keys are only ever added.
COVERAGE_FORMAT = "perfledger-coverage"
VERSION = 1
_MAX_NAME = 60


def coverage_text(found: CoveredHour, hours: int) -> Group:
    """Return what was covered for a terminal of 80 columns, and what it all comes to."""
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "right", "right", "right", "right", "right"):
        grid.add_column(justify=justify, overflow="fold")
    titles = ("", "hours used", "reserved", "by plans", "on demand", "USD on demand")
    grid.add_row(*titles, style="dim")
    for each in found.charges:
        figures = (each.quantity, each.reserved, each.planned, each.on_demand)
        name = Text(clean(each.name, limit=_MAX_NAME))
        grid.add_row(name, *map(_figure, figures), f"{each.on_demand_usd:,.2f}")
    return Group(
        Text(f"What {hours:,} hours are billed", style="bold"),
        grid,
        Text(),
        *(Text(line) for line in _lines(found)),
    )


def coverage_json(found: CoveredHour, hours: int) -> str:
    """Return what was covered as JSON; amounts as text, to the last digit."""
    document = {
        "format": COVERAGE_FORMAT,
        "version": VERSION,
        "hours": hours,
        "charges": [_texts(each) for each in found.charges],
        "reserved_usd": str(found.reserved_usd),
        "committed_usd": str(found.committed_usd),
        "unused_usd": str(found.unused_usd),
        "on_demand_usd": str(found.on_demand_usd),
        "total_usd": str(found.total_usd),
        "list_usd": str(found.list_usd),
    }
    return json.dumps(document, indent=2) + "\n"


def coverage_csv(found: CoveredHour) -> str:
    """Return what was covered as CSV, a row for each thing that was used."""
    text = StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(
        text, CoveredUse.__dataclass_fields__, lineterminator="\n"
    )
    writer.writeheader()
    for each in found.charges:
        writer.writerow({name: cell(value) for name, value in _texts(each).items()})
    return text.getvalue()


def _lines(found: CoveredHour) -> tuple[str, ...]:
    paid = found.reserved_usd + found.committed_usd
    used = f", {1 - found.unused_usd / paid:.1%} of it used" if paid else ""
    saved = found.list_usd - found.total_usd
    verb = "saved" if saved >= 0 else "lost"
    together = f"together {found.total_usd:,.2f} USD; all on demand {found.list_usd:,.2f} USD"
    return (
        f"{paid:,.2f} USD committed to{used}; {found.unused_usd:,.2f} USD covered nothing",
        f"{found.on_demand_usd:,.2f} USD on demand",
        f"{together}: {abs(saved):,.2f} USD {verb}",
    )


def _figure(quantity: Decimal) -> str:
    return f"{quantity:,.2f}"


def _texts(each: CoveredUse) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(each).items()}
