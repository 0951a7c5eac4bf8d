"""Checks every row of a price list and reports what is wrong with it.

Published prices go wrong more often than formulas do: placeholders, the Windows meter in place of
Linux's, a commitment's price filed under on demand, a chip's price where the instance's should be.
Every rule reads numbers and identity only, never the notes of a row.
"""

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from perfledger_cost_models.csv_table import PriceSheetError, SheetRow, SourceConfidence, read_rows
from perfledger_cost_models.prices.plausibility_rules import (
    RULES,
    FindingSeverity,
    PricedRow,
    RowFindings,
    current_prices,
)
from perfledger_cost_models.prices.price_diff import newest_prices
from perfledger_cost_models.prices.price_sheet import COLUMNS, PriceSheet, read_price

# A larger step since the last sheet is real (AWS, June 2025: -44 %) or wrong: a person approves it.
MAX_STEP = Decimal("0.20")
STEP_RULE = "step since the last sheet"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFinding:
    """One defect of one row; rows without findings pass."""

    row: int  # as a spreadsheet counts: the header is row 1
    option: str  # "azure:Standard_NC48ads_A100_v4/on_demand@eastus", as far as it can be read
    level: FindingSeverity
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetCheck:
    """All findings on a sheet, and the prices that no rule rejects."""

    name: str
    rows: int
    findings: tuple[PriceFinding, ...]  # by row
    sheet: PriceSheet  # of what was not rejected

    @property
    def rejected(self) -> tuple[PriceFinding, ...]:
        """Return the findings for which a row must not be used."""
        return tuple(
            finding for finding in self.findings if finding.level is FindingSeverity.REJECT
        )

    @property
    def to_approve(self) -> tuple[PriceFinding, ...]:
        """Return the large steps since the last sheet, which a person has to approve."""
        return tuple(finding for finding in self.findings if finding.rule == STEP_RULE)


def check_sheet(text: str, name: str, *, previous: PriceSheet | None = None) -> SheetCheck:
    """Check every row with every rule; `previous` is the last sheet, for steps since then.

    Raises PriceSheetError for a text that is no table with the columns of a price sheet.
    """
    listed: list[PricedRow] = []
    findings: list[PriceFinding] = []
    rows = 0
    for row in read_rows(text, name, columns=COLUMNS):
        rows += 1
        outcome = _read(row)
        if isinstance(outcome, PriceFinding):
            findings.append(outcome)
        else:
            listed.append(outcome)
    for rule, check in RULES.items():  # a row that one rule rejects is no reference for the next
        rule_findings = list(check(listed))
        findings += [_finding(one, level, rule, reason) for one, level, reason in rule_findings]
        rejected = {one.row for one, level, _ in rule_findings if level is FindingSeverity.REJECT}
        listed = [one for one in listed if one.row not in rejected]
    if previous is not None:
        findings += [
            _finding(one, level, STEP_RULE, reason)
            for one, level, reason in _steps(listed, previous)
        ]
    return SheetCheck(
        name=name,
        rows=rows,
        findings=tuple(sorted(findings, key=lambda finding: (finding.row, finding.rule))),
        sheet=PriceSheet(name=name, prices=tuple(one.price for one in listed)),
    )


def _read(row: SheetRow) -> PricedRow | PriceFinding:
    """Read one row, whatever its confidence."""
    option = "/".join(row.cells[name].strip()[:80] for name in ("provider", "sku", "pricing_model"))
    if not any(row.cells[name].strip() for name in ("usd_per_hour", "usd_per_accelerator_hour")):
        reason = "no price: the row stays unknown"
        level = FindingSeverity.UNKNOWN
        return PriceFinding(row=row.number, option=option, level=level, rule="price", reason=reason)
    cells = dict(row.cells)
    if cells["confidence"] not in tuple(SourceConfidence):
        cells["confidence"] = SourceConfidence.LOW
    if not _is_day(cells["as_of_date"]):
        cells["as_of_date"] = ""
    try:
        return PricedRow(row.number, read_price(replace(row, cells=cells)))
    except PriceSheetError as error:
        level = FindingSeverity.REJECT
        return PriceFinding(
            row=row.number, option=option, level=level, rule="reading", reason=str(error)
        )


def _is_day(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip()) is not None


def _finding(row: PricedRow, level: FindingSeverity, rule: str, reason: str) -> PriceFinding:
    price = row.price
    region = f"@{price.region}" if price.region else ""
    option = f"{price.provider}:{price.option}{region}"
    return PriceFinding(row=row.row, option=option, level=level, rule=rule, reason=reason)


def _steps(listed: list[PricedRow], previous: PriceSheet) -> RowFindings:
    newest = newest_prices(previous)
    for one in current_prices(listed):
        price = one.price
        previous_price = newest.get(price.key)
        if previous_price is None:
            continue
        step = price.usd_per_hour / previous_price.usd_per_hour - 1
        if abs(step) > MAX_STEP:
            reason = (
                f"{100 * step:+.1f} % since {previous_price.as_of}: approve it before it is used"
            )
            yield one, FindingSeverity.WARN, reason
