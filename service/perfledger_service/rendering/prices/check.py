"""Presents the errors of a price sheet."""

from collections.abc import Iterator, Sequence
from datetime import date

from perfledger_cost_models.prices.check import PriceFinding, SheetCheck
from perfledger_cost_models.prices.priced_rows import FindingSeverity
from perfledger_cost_models.prices.staleness import (
    MAX_AGE_DAYS,
    StalePrice,
    max_age_of,
    stale_prices,
)
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    Paragraph,
    TextStyle,
    fact,
    facts,
    figure,
    name,
    notes,
    record_facts,
    table,
    words,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.prices.list import MAX_OPTION

_STYLES = {
    FindingSeverity.REJECT: TextStyle.WORSE,
    FindingSeverity.WARN: TextStyle.WARNING,
    FindingSeverity.UNKNOWN: TextStyle.NOTE,
}
_COLUMNS: tuple[Column[PriceFinding], ...] = (
    figure("row", "row", lambda finding: finding.row),
    name("option", "option", lambda finding: finding.option, limit=MAX_OPTION),
    words("level", "", lambda finding: finding.level),
    words("rule", "rule", lambda finding: finding.rule),
    words("reason", "why", lambda finding: finding.reason, kind=CellKind.REMARK),
    *record_facts(
        PriceFinding, lambda finding: finding, without=("row", "option", "level", "rule", "reason")
    ),
)
_OLD_COLUMNS: tuple[Column[StalePrice], ...] = (
    *facts("provider", "option", "region", "accelerator", "usd_per_hour", of="price"),
    *facts("as_of", "source", of="price"),
    fact("warning", lambda stale: stale.warning),
)


def price_check_document(check: SheetCheck, *, today: date | None = None) -> Document:
    """Return the findings; `today` determines which prices are old."""
    old = stale_prices(check.sheet, today=today)
    summary = Paragraph(
        text=_summary(check),
        style=TextStyle.WORSE if check.rejected else TextStyle.BETTER,
        names=(check.name,),
    )
    return Document(
        name="perfledger-price-check",
        facts={"sheet": check.name, "rows": check.rows, "usable": len(check.sheet.prices)},
        blocks=(
            table(
                _COLUMNS,
                check.findings,
                key="findings",
                style=lambda finding: _STYLES[finding.level],
            ),
            table(_OLD_COLUMNS, old, key="old", in_csv=False),
            *notes(age_sentences(old)),
            summary,
        ),
    )


def age_sentences(stale: Sequence[StalePrice]) -> Iterator[str]:
    """Yield the number of outdated prices of each kind."""
    for kind, days in MAX_AGE_DAYS.items():
        old = [each for each in stale if max_age_of(each.price.pricing_model) is kind]
        if old:
            oldest = min(each.price.as_of for each in old)
            yield f"{len(old)} {kind} prices are older than {days} days, the oldest of {oldest}"


def _summary(check: SheetCheck) -> str:
    rejected = len({finding.row for finding in check.rejected})
    usable = f"{len(check.sheet.prices)} of {check.rows} rows are usable"
    return f"{clean(check.name, limit=MAX_OPTION)}: {usable}, {rejected} rejected"
