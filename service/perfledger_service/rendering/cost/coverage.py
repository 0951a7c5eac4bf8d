"""Presents the hours that reservations and savings plans cover."""

from collections.abc import Iterator

from perfledger_cost_models.billing.commitment_coverage import CoveredHour, CoveredUsage
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    attributes,
    fact,
    figure,
    name,
    sentences,
    table,
    title,
)
from perfledger_service.rendering.layout.number_format import cents

_MAX_NAME = 60
_COLUMNS: tuple[Column[CoveredUsage], ...] = (
    name("name", "used", lambda usage: usage.name, limit=_MAX_NAME),
    figure("quantity", "hours", lambda usage: usage.quantity, cents),
    figure("reserved_quantity", "reserved", lambda usage: usage.reserved_quantity, cents),
    figure("plan_quantity", "by plans", lambda usage: usage.plan_quantity, cents),
    fact("plan_usd", lambda usage: usage.plan_usd),
    figure(
        "on_demand_quantity",
        "on demand",
        lambda usage: usage.on_demand_quantity,
        cents,
    ),
    figure("on_demand_usd", "USD on demand", lambda usage: usage.on_demand_usd, cents),
)


def coverage_document(coverage: CoveredHour, hours: int) -> Document:
    """Return the coverage of each used item, and the totals."""
    return Document(
        name="perfledger-coverage",
        version=2,
        facts={
            "hours": hours,
            **attributes(coverage, "reserved_usd", "committed_usd", "unused_usd"),
            **attributes(coverage, "on_demand_usd", "total_usd", "list_usd"),
        },
        blocks=(
            title(f"Bill of {hours:,} hours"),
            table(_COLUMNS, coverage.charges, key="charges"),
            *sentences(_sentences(coverage)),
        ),
    )


def _sentences(coverage: CoveredHour) -> Iterator[str]:
    paid = coverage.reserved_usd + coverage.committed_usd
    used = f", {number_format.share(float(1 - coverage.unused_usd / paid))} used" if paid else ""
    saved = coverage.list_usd - coverage.total_usd
    verb = "saved" if saved >= 0 else "lost"
    yield f"{cents(paid)} USD committed{used}; {cents(coverage.unused_usd)} USD unused"
    yield f"{cents(coverage.on_demand_usd)} USD on demand"
    yield (
        f"{cents(coverage.total_usd)} USD in total; all on demand {cents(coverage.list_usd)} USD: "
        f"{cents(abs(saved))} USD {verb}"
    )
