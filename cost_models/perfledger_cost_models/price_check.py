"""The text of a price list into what is wrong with each row: rejected, to be looked at, or sound.

Published prices go wrong more often than formulas do: placeholders, the Windows meter in place of
Linux's, a commitment's price filed under on demand, a chip's price where the instance's should be.
Every rule reads numbers and identity, never what somebody noted about the row.
"""

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from perfledger_cost_models.price_rules import RULES, Found, Level, Listed, current_prices
from perfledger_cost_models.sheet import COLUMNS, PriceSheet, read_price
from perfledger_cost_models.sheet_diff import newest_prices
from perfledger_cost_models.table import Confidence, PriceSheetError, Row, read_rows

# A larger step since the last sheet is real (AWS, June 2025: -44 %) or wrong: somebody has to look.
MAX_STEP = Decimal("0.20")
STEP_RULE = "step since the last sheet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with one row; rows without findings pass."""

    row: int  # as a spreadsheet counts: the header is row 1
    option: str  # "azure:Standard_NC48ads_A100_v4/on_demand@eastus", as far as it can be read
    level: Level
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetCheck:
    """All findings on a sheet, and the prices that no rule rejects."""

    name: str
    rows: int
    findings: tuple[Finding, ...]  # by row
    sheet: PriceSheet  # of what was not rejected

    @property
    def rejected(self) -> tuple[Finding, ...]:
        """Return the findings for which a row must not be used."""
        return tuple(finding for finding in self.findings if finding.level is Level.REJECT)

    @property
    def to_approve(self) -> tuple[Finding, ...]:
        """Return the large steps since the last sheet, which somebody has to approve."""
        return tuple(finding for finding in self.findings if finding.rule == STEP_RULE)


def check_sheet(text: str, name: str, *, previous: PriceSheet | None = None) -> SheetCheck:
    """Check every row by every rule; `previous` is the last sheet, for steps since then.

    Raises PriceSheetError for what is no table with the columns of a price sheet.
    """
    listed: list[Listed] = []
    findings: list[Finding] = []
    rows = 0
    for row in read_rows(text, name, columns=COLUMNS):
        rows += 1
        found = _read(row)
        if isinstance(found, Finding):
            findings.append(found)
        else:
            listed.append(found)
    for rule, check in RULES.items():  # what one rejects is no yardstick for the next
        found_here = list(check(listed))
        findings += [_finding(one, level, rule, reason) for one, level, reason in found_here]
        rejected = {one.row for one, level, _ in found_here if level is Level.REJECT}
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


def _read(row: Row) -> Listed | Finding:
    """Read one row whatever its confidence says."""
    option = "/".join(row.cells[name].strip()[:80] for name in ("provider", "sku", "pricing_model"))
    if not any(row.cells[name].strip() for name in ("usd_per_hour", "usd_per_accelerator_hour")):
        reason = "there is no price: it stays unknown"
        return Finding(
            row=row.number, option=option, level=Level.UNKNOWN, rule="price", reason=reason
        )
    cells = dict(row.cells)
    if cells["confidence"] not in tuple(Confidence):
        cells["confidence"] = Confidence.LOW
    if not _is_day(cells["as_of_date"]):
        cells["as_of_date"] = ""
    try:
        return Listed(row.number, read_price(replace(row, cells=cells)))
    except PriceSheetError as error:
        reason = str(error)
        return Finding(
            row=row.number, option=option, level=Level.REJECT, rule="reading", reason=reason
        )


def _is_day(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip()) is not None


def _finding(one: Listed, level: Level, rule: str, reason: str) -> Finding:
    price = one.price
    region = f"@{price.region}" if price.region else ""
    option = f"{price.provider}:{price.option}{region}"
    return Finding(row=one.row, option=option, level=level, rule=rule, reason=reason)


def _steps(listed: list[Listed], previous: PriceSheet) -> Found:
    newest = newest_prices(previous)
    for one in current_prices(listed):
        price = one.price
        known = newest.get((price.provider, price.option, price.region))
        if known is None:
            continue
        step = price.usd_per_hour / known.usd_per_hour - 1
        if abs(step) > MAX_STEP:
            reason = f"{step:+.1%} since {known.as_of}: approve it before it is used"
            yield one, Level.WARN, reason
