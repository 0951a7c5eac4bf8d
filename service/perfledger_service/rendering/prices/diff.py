"""Presents the differences between two price sheets."""

from dataclasses import dataclass
from decimal import Decimal

from perfledger import rounding
from perfledger_cost_models.prices.diff import SheetDiff
from perfledger_cost_models.prices.price_sheet import Price
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
    figure,
    notes,
    table,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.prices.list import MAX_OPTION, option_name
from perfledger_service.rendering.prices.rejected import rejected_lines

_MAX_ROWS = 120  # for people; JSON and CSV have all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A price that was changed, added or removed; `price` is the newer one."""

    kind: str
    price: Price
    before: Price | None
    after: Price | None
    change: float | None = None


def price_diff_document(diff: SheetDiff) -> Document:
    """Return the differences, the largest changes first."""
    rows = [
        _Row(
            kind="changed",
            price=one.after,
            before=one.before,
            after=one.after,
            change=float(one.change),
        )
        for one in diff.changed
    ]
    rows += [_Row(kind="added", price=each, before=None, after=each) for each in diff.added]
    rows += [_Row(kind="removed", price=each, before=each, after=None) for each in diff.removed]
    summary = Paragraph(
        text=_summary(diff), style=TextStyle.STRONG, names=(diff.before, diff.after)
    )
    return Document(
        name="perfledger-price-diff",
        version=2,
        facts={"before": diff.before, "after": diff.after, "same": diff.same},
        blocks=(
            table(_columns(), rows, key="prices", style=_style, most=_MAX_ROWS),
            summary,
            *notes(tuple(rejected_lines(diff.rejected))),
        ),
    )


def _columns() -> tuple[Column[_Row], ...]:
    return (
        figure("kind", "", lambda row: row.kind),
        figure("change", "change", lambda row: row.change, number_format.percent),
        *facts("provider", "option", "region", "accelerator", of="price"),
        figure("usd_per_hour_before", "before", lambda row: _usd(row.before), rounding.exact),
        figure("usd_per_hour_after", "after, USD/h", lambda row: _usd(row.after), rounding.exact),
        display(
            "option@region",
            lambda row: option_name(row.price),
            kind=CellKind.NAME,
            limit=MAX_OPTION,
        ),
        fact("as_of_before", lambda row: row.before and row.before.as_of),
        fact("as_of_after", lambda row: row.after and row.after.as_of),
        fact("source", lambda row: row.price.source),
    )


def _usd(price: Price | None) -> Decimal | None:
    return None if price is None else price.usd_per_hour


def _style(row: _Row) -> TextStyle:
    is_dearer = row.change > 0 if row.change is not None else row.after is None
    return TextStyle.WORSE if is_dearer else TextStyle.BETTER


def _summary(diff: SheetDiff) -> str:
    names = (clean(name, limit=MAX_OPTION) for name in (diff.before, diff.after))
    return (
        f"{' to '.join(names)}: {len(diff.changed)} changed, {len(diff.added)} added, "
        f"{len(diff.removed)} removed, {diff.same} the same"
    )
