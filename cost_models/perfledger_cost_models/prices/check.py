"""Checks every row of a price list and reports what is wrong with it.

Published prices go wrong more often than formulas do: placeholders, the Windows meter in place of
Linux's, a commitment's price filed under on demand, a chip's price where the instance's should be.
Every rule reads numbers and identity only, never the notes of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from perfledger.rounding import decimals
from perfledger_cost_models.csv_table import (
    CellError,
    PriceSheetError,
    SheetRow,
    iso_date,
    read_rows,
)
from perfledger_cost_models.prices.diff import newest_prices
from perfledger_cost_models.prices.exchange_rates import ExchangeRateTable
from perfledger_cost_models.prices.history_rules import ONE_DAY
from perfledger_cost_models.prices.plausibility_rules import (
    RULES,
    RULES_OF_OWN_PRICES,
    RULES_WITH_HISTORY,
)
from perfledger_cost_models.prices.price_list import is_unknown, read_price, read_unknown
from perfledger_cost_models.prices.price_sheet import (
    COLUMNS,
    OPTIONAL_COLUMNS,
    OptionKey,
    Price,
    PriceSheet,
    RejectedPrice,
    UnknownPrice,
    option_of,
    option_term,
)
from perfledger_cost_models.prices.priced_rows import (
    FindingSeverity,
    PricedRow,
    RowFindings,
    current_prices,
)
from perfledger_cost_models.quote import PriceLayer

# A larger step since the last sheet is either real (AWS, June 2025: -44 %) or wrong: a person
# approves it.
MAX_STEP = Decimal("0.20")
STEP_RULE = "step since the last sheet"
READING_RULE = "reading"
FUTURE_RULE = "future date"
CONFIDENCE_RULE = "confidence"
MAX_CELL = 80  # characters of a cell in the name of a row
REJECTED_CONFIDENCE = "reject"  # of a row that its author marked as wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFinding:
    """One defect of one row; rows without findings pass."""

    row: int  # the number of its line; the header is line 1
    option: str  # "azure:Standard_NC48ads_A100_v4/on_demand@eastus", as far as it is readable
    level: FindingSeverity
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetCheck:
    """All findings on a sheet, and the sheet without the rows that are rejected."""

    name: str
    rows: int
    findings: tuple[PriceFinding, ...]  # by row
    sheet: PriceSheet

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """The context in which a sheet is checked.

    `reference` is a checked sheet that it is compared with, such as the layer below it. Rows dated
    after `today` are rejected; None skips that. `previous` is the last sheet, for large steps.
    """

    layer: PriceLayer = PriceLayer.SNAPSHOT
    reference: PriceSheet | None = None
    today: date | None = None
    exchange_rates: ExchangeRateTable | None = None
    previous: PriceSheet | None = None


DEFAULT_CONTEXT = CheckContext()


@dataclass(slots=True)
class _Checked:
    """The remaining rows, and the findings on the others."""

    name: str
    remaining: list[PricedRow] = field(default_factory=list[PricedRow])
    unknown: dict[OptionKey, UnknownPrice] = field(default_factory=dict[OptionKey, UnknownPrice])
    findings: list[PriceFinding] = field(default_factory=list[PriceFinding])
    rejected: list[RejectedPrice] = field(default_factory=list[RejectedPrice])
    marked: set[int] = field(default_factory=set[int])  # rows that the author rejects
    rows: int = 0

    def apply(self, rule: str, row_findings: RowFindings) -> None:
        """Record a rule's findings, and remove the rows that it rejects."""
        rejected: dict[int, RejectedPrice] = {}
        for one, level, reason in row_findings:
            if one.is_reference or one.row in rejected:
                continue
            self.findings.append(_finding(one, level, rule, reason))
            if level is FindingSeverity.REJECT:
                rejected[one.row] = _rejected_price(one, self.name, reason)
        self.rejected += rejected.values()
        self.remaining = [one for one in self.remaining if one.row not in rejected]


def check_sheet(text: str, name: str, *, context: CheckContext = DEFAULT_CONTEXT) -> SheetCheck:
    """Read a price list in CSV with the columns of COLUMNS, and check every row with every rule.

    Raises PriceSheetError for a text that is not such a table.
    """
    checked = _Checked(name=name)
    for row in read_rows(text, name, columns=COLUMNS, optional=OPTIONAL_COLUMNS):
        checked.rows += 1
        _read_row(row, checked, context)
    _apply_rules(checked, context)
    if context.previous is not None:
        checked.findings += [
            _finding(one, level, STEP_RULE, reason)
            for one, level, reason in _steps(checked.remaining, context.previous)
        ]
    return _sheet_check(checked)


def check_prices(prices: Sequence[Price], name: str, *, context: CheckContext) -> SheetCheck:
    """Check prices that do not come from a table, in rows numbered from 1."""
    checked = _Checked(name=name, rows=len(prices))
    checked.remaining = [PricedRow(row, price) for row, price in enumerate(prices, start=1)]
    _apply_rules(checked, context)
    return _sheet_check(checked)


def _sheet_check(checked: _Checked) -> SheetCheck:
    return SheetCheck(
        name=checked.name,
        rows=checked.rows,
        findings=tuple(sorted(checked.findings, key=lambda finding: (finding.row, finding.rule))),
        sheet=PriceSheet(
            name=checked.name,
            prices=tuple(one.price for one in checked.remaining),
            unknown=tuple(checked.unknown.values()),
            rejected=tuple(sorted(checked.rejected, key=lambda each: each.row)),
        ),
    )


def _read_row(row: SheetRow, checked: _Checked, context: CheckContext) -> None:
    """Read one row; a row that cannot be read is rejected."""
    try:
        if is_unknown(row):
            unknown = read_unknown(row)
            if unknown.key in checked.unknown:
                row.reject("sku", "is unknown here and in an earlier row")
            checked.unknown[unknown.key] = unknown
            reason = "no price: the row stays unknown"
            level = FindingSeverity.UNKNOWN
            checked.findings.append(_row_finding(row, level, "price", reason))
            return
        price = read_price(row, layer=context.layer, exchange_rates=context.exchange_rates)
    except PriceSheetError as error:
        # Sheet and line stand beside the reason.
        reason = error.problem if isinstance(error, CellError) else str(error)
        checked.findings.append(_row_finding(row, FindingSeverity.REJECT, READING_RULE, reason))
        checked.rejected.append(_unreadable_row(row, checked.name, reason))
        return
    checked.remaining.append(PricedRow(row.number, price))
    if row.cells["confidence"].strip() == REJECTED_CONFIDENCE:
        checked.marked.add(row.number)


def _apply_rules(checked: _Checked, context: CheckContext) -> None:
    """Remove what a rule rejects: a row that one rule rejects is no reference for the next."""
    if context.today is not None:
        checked.apply(FUTURE_RULE, _future_rows(checked.remaining, context.today))
    references = _references(context.reference)
    is_own = context.layer is PriceLayer.OVERRIDE
    for name, rule in RULES.items():
        if is_own and name not in RULES_OF_OWN_PRICES:
            continue
        own_keys = {one.price.key for one in checked.remaining}
        references_beside = [
            one for one in references if name in RULES_WITH_HISTORY or one.price.key not in own_keys
        ]
        checked.apply(name, rule([*references_beside, *checked.remaining]))
    marked = [one for one in checked.remaining if one.row in checked.marked]
    reason = "its own confidence is reject"
    checked.apply(CONFIDENCE_RULE, ((one, FindingSeverity.REJECT, reason) for one in marked))
    for one in checked.remaining:
        checked.unknown.pop(one.price.key, None)


def _future_rows(listed: Sequence[PricedRow], today: date) -> RowFindings:
    for one in listed:
        day = one.price.newest_day
        if day > today + ONE_DAY:
            yield one, FindingSeverity.REJECT, f"dated {day}, after today ({today})"


def _references(sheet: PriceSheet | None) -> list[PricedRow]:
    """Return a checked sheet's prices as rows that cannot be rejected."""
    prices = () if sheet is None else sheet.prices
    return [PricedRow(-index, price, is_reference=True) for index, price in enumerate(prices)]


def _rejected_price(rejected_row: PricedRow, name: str, reason: str) -> RejectedPrice:
    return RejectedPrice(
        sheet=name,
        row=rejected_row.row,
        provider=rejected_row.price.provider,
        option=rejected_row.price.option,
        region=rejected_row.price.region,
        accelerator=rejected_row.price.accelerator,
        as_of=rejected_row.price.as_of,
        reason=reason,
    )


def _unreadable_row(row: SheetRow, name: str, reason: str) -> RejectedPrice:
    """Return an unreadable row, with the contents of its cells."""
    cells = {column: cell.strip()[:MAX_CELL] for column, cell in row.cells.items()}
    return RejectedPrice(
        sheet=name,
        row=row.number,
        provider=cells["provider"],
        option=option_of(cells["sku"], cells["pricing_model"], option_term(cells["term"])),
        region=cells["region"],
        accelerator=cells["accelerator"],
        as_of=iso_date(cells["as_of_date"]),
        reason=reason,
    )


def _row_finding(row: SheetRow, level: FindingSeverity, rule: str, reason: str) -> PriceFinding:
    names = ("provider", "sku", "pricing_model")
    option = "/".join(row.cells[name].strip()[:MAX_CELL] for name in names)
    return PriceFinding(row=row.number, option=option, level=level, rule=rule, reason=reason)


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
                f"{'+' if step > 0 else '-'}{decimals(abs(100 * step), 1)} % since "
                f"{previous_price.as_of}: approve it before it is used"
            )
            yield one, FindingSeverity.WARN, reason
