"""Turns an allocation into terminal text, CSV and JSON."""

import csv
import json
from collections.abc import Iterator
from io import StringIO

from rich.console import Group
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.allocation import UNALLOCATED, Part, Row
from perfledger_cost_models.showback import Allocation
from perfledger_service.pages import figures
from perfledger_service.pages.escape import cell, clean, clean_sentence
from perfledger_service.pages.review_rows import cents

# 1: first version. Keys are only ever added.
ALLOCATION_FORMAT = "perfledger-allocation"
VERSION = 1
UNTAGGED = "(untagged)"
_COLUMNS = ("team", "project", "hours", "direct_usd", "idle_usd", "overhead_usd", "total_usd")
_MAX_NAME = 80


def team_words(row: Row) -> str:
    """Return the team's name as it is shown: use that nothing says the owner of is "(untagged)"."""
    return row.team or UNTAGGED


def allocation_text(allocation: Allocation) -> Group:
    """Return who pays what for a terminal of 80 columns, and where it is from."""
    rows = allocation.rows
    has_projects = any(row.project for row in rows)
    grid = Table.grid(padding=(0, 1))
    names = ("team", "project") if has_projects else ("team",)
    for _ in names:
        grid.add_column(overflow="fold")
    for _ in range(5):
        grid.add_column(justify="right")
    grid.add_row(*names, "hours", "direct", "idle", "overhead", "together", style="dim")
    for row in rows:
        shown = (team_words(row), row.project)[: len(names)]
        grid.add_row(
            *(Text(clean(name, limit=_MAX_NAME) if name else "") for name in shown),
            f"{row.hours:,.1f}",
            *(cents(row.usd_of(part)) for part in Part),
            cents(row.total_usd),
        )
    grid.add_row(
        *("the bill", "")[: len(names)],
        f"{allocation.used_hours:,.1f}",
        *(cents(allocation.sum_of(part)) for part in Part),
        cents(allocation.effective_usd),
        style="bold",
    )
    return Group(grid, Text(), *(Text(line) for line in allocation_sentences(allocation)))


def allocation_sentences(allocation: Allocation) -> Iterator[str]:
    """Yield how much was used, whose idle is, where it is from, and what to know about it."""
    used, paid = allocation.used_hours, allocation.paid_hours
    share = f" ({figures.share(float(used / paid))})" if paid else ""
    yield (
        f"{allocation.start} to {allocation.end} (not included), USD: {used:,.1f} of {paid:,.1f} "
        f"device-hours paid for were used{share}."
    )
    if any(row.team == UNALLOCATED and row.idle_usd for row in allocation.rows):
        yield f"Nobody is entitled to what stood idle: it is the row {UNALLOCATED}."
    if any(row.team == UNALLOCATED and row.overhead_usd for row in allocation.rows):
        yield f"Nobody used what overhead is shared by: it is the row {UNALLOCATED}."
    yield clean_sentence(f"who used what is told by {allocation.source}")
    yield from map(clean_sentence, allocation.notes)


def allocation_csv(allocation: Allocation) -> str:
    """Return a row a holder; "" is a team or project that nothing names."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in allocation.rows:
        values = _values(row)
        names = [cell(values[name] or "") for name in _COLUMNS[:2]]
        writer.writerow([*names, *(values[name] for name in _COLUMNS[2:])])
    return text.getvalue()


def allocation_json(allocation: Allocation) -> str:
    """Return all of it as JSON; money as text, and null for names that nothing says."""
    weeks = allocation.weeks
    document = {
        "format": ALLOCATION_FORMAT,
        "version": VERSION,
        "start": allocation.start.isoformat(),
        "end": allocation.end.isoformat(),
        "source": allocation.source,
        "notes": allocation.notes,
        "paid_hours": f"{allocation.paid_hours:f}",
        "used_hours": f"{allocation.used_hours:f}",
        "effective_usd": f"{allocation.effective_usd:f}",
        "billed_usd": f"{allocation.billed_usd:f}",
        "rows": [_values(row) for row in allocation.rows],
        "weeks": None
        if weeks is None
        else {
            "starts": [day.isoformat() for day in weeks.starts],
            "end": weeks.end.isoformat(),
            "teams": [{"team": row.team or None, "hours": row.hours} for row in weeks.rows],
        },
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _values(row: Row) -> dict[str, str | None]:
    return {
        "team": row.team or None,
        "project": row.project or None,
        "hours": f"{row.hours:f}",
        "direct_usd": f"{row.direct_usd:f}",
        "idle_usd": f"{row.idle_usd:f}",
        "overhead_usd": f"{row.overhead_usd:f}",
        "total_usd": f"{row.total_usd:f}",
    }
