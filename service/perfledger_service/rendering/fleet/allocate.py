"""Presents a bill allocated to teams and projects."""

from collections.abc import Iterator
from decimal import Decimal

from perfledger.rounding import decimals
from perfledger_cost_models.billing.cost_allocation import UNALLOCATED, AllocationRow, BillPart
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    attributes,
    figure,
    name,
    sentences,
    table,
)
from perfledger_service.rendering.layout.escape import clean_sentence

UNTAGGED = "(untagged)"


def _hours(hours: Decimal) -> str:
    return decimals(hours, 1)


_COST_COLUMNS: tuple[Column[AllocationRow], ...] = (
    figure("hours", "hours", lambda row: row.hours, _hours),
    figure("direct_usd", "direct", lambda row: row.direct_usd, number_format.cents),
    figure("idle_usd", "idle", lambda row: row.idle_usd, number_format.cents),
    figure("overhead_usd", "overhead", lambda row: row.overhead_usd, number_format.cents),
    figure("total_usd", "USD in total", lambda row: row.total_usd, number_format.cents),
)


def team_label(row: AllocationRow) -> str:
    """Return the team's name as shown, "(untagged)" without a known owner."""
    return row.team or UNTAGGED


def allocation_document(allocation: CostAllocation) -> Document:
    """Return each owner's hours and cost, and the total of the bill."""
    rows = allocation.rows
    has_projects = any(row.project for row in rows)
    weeks = allocation.weeks
    footer = (
        "the bill",
        *([""] if has_projects else []),
        _hours(allocation.used_hours),
        *(number_format.cents(allocation.sum_of(part)) for part in BillPart),
        number_format.cents(allocation.effective_usd),
    )
    return Document(
        name="perfledger-allocation",
        facts={
            **attributes(allocation, "start", "end", "source", "notes"),
            **attributes(allocation, "paid_hours", "used_hours", "effective_usd", "billed_usd"),
            "weeks": None
            if weeks is None
            else {
                "starts": weeks.starts,
                "end": weeks.end,
                "teams": [{"team": row.team or None, "hours": row.hours} for row in weeks.rows],
            },
        },
        blocks=(
            table(_columns(has_projects=has_projects), rows, key="rows", footer=footer),
            *sentences(allocation_sentences(allocation), names=[allocation.source]),
        ),
    )


def allocation_sentences(allocation: CostAllocation) -> Iterator[str]:
    """Yield the allocated share, the row of idle cost and overhead, the source and the notes."""
    used, paid = allocation.used_hours, allocation.paid_hours
    period = f"{allocation.start} to {allocation.end} (not included), USD: "
    if allocation.weeks is None:  # a bill alone names who paid, and not what was allocated
        yield f"{period}{_hours(paid)} paid device-hours; how many were allocated is unknown."
    else:
        share = f" ({number_format.share(float(used / paid))})" if paid else ""
        yield f"{period}{_hours(used)} of {_hours(paid)} paid device-hours were allocated{share}."
    if any(row.team == UNALLOCATED and row.idle_usd for row in allocation.rows):
        yield f"No owner has a quota for the idle devices: their cost is in the row {UNALLOCATED}."
    if any(row.team == UNALLOCATED and row.overhead_usd for row in allocation.rows):
        yield f"No usage to share the overhead by: it is in the row {UNALLOCATED}."
    yield clean_sentence(f"the usage is from {allocation.source}")
    yield from map(clean_sentence, allocation.notes)


def _columns(*, has_projects: bool) -> tuple[Column[AllocationRow], ...]:
    return (
        name("team", "team", lambda row: row.team or None, show=team_label),
        name("project", "project" if has_projects else None, lambda row: row.project or None),
        *_COST_COLUMNS,
    )
