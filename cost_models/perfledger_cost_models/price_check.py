"""The text of a price list into what is wrong with each row: rejected, to be looked at, or sound.

Published prices go wrong more often than formulas do: placeholders, the Windows meter in place of
Linux's, a commitment's price filed under on demand, a chip's price where the instance's should be.
Every rule reads numbers and identity, never what somebody noted about the row.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from statistics import median

from perfledger_cost_models.sheet import COLUMNS, Price, PriceSheet, PricingModel, read_price
from perfledger_cost_models.sheet_diff import newest_prices
from perfledger_cost_models.table import Confidence, PriceSheetError, Row, read_rows
from perfledger_cost_models.tpu import slice_of

# What catalogs write where they have no price.
SENTINELS = (Decimal(0), Decimal(700))
# On-demand prices of one SKU differ by region, by 1.44 times at most among the packaged ones.
MAX_REGION_SPREAD = 2
# Between providers the same card costs 1.4 to 16 USD: beyond this a price is of something else.
MAX_OVER_MEDIAN = 3
# Sizes of a family differ in processors and memory around the same card: g5.xlarge, g5.16xlarge.
MAX_SIZE_SCALING = Decimal("0.35")
# Azure's Windows meter adds this for each vCPU and hour: 48 of them are 2.208 on NC48ads_A100_v4.
WINDOWS_USD_PER_VCPU = Decimal("0.046")
WINDOWS_TOLERANCE = Decimal("0.01")
# A larger step since the last sheet is real (AWS, June 2025: -44 %) or wrong: somebody has to look.
MAX_STEP = Decimal("0.20")
STEP_RULE = "step since the last sheet"
PAIR = 2
# Two prices of one thing in one currency agree this well if one was copied from the other.
SAME = Decimal("0.001")

_AZURE_SIZE = re.compile(r"Standard_[A-Z]+(?P<processors>\d+)[a-z]*_(?P<rest>\w+)")
_SIZE = re.compile(
    r"(?P<family>[a-z]+\d+[a-z]*(?:-[a-z]+\d*)?)\.\w+|(?P<google>a\d-[a-z]+gpu)-\d+g"
)
_COMMITMENTS = (PricingModel.SAVINGS_PLAN, PricingModel.RESERVED, PricingModel.COMMITTED_USE)
_YEARS = re.compile(r"(?P<years>[13])y")


class Level(StrEnum):
    """What a finding means for the row."""

    REJECT = "reject"  # must not be used
    WARN = "warn"  # may be used; somebody should look
    UNKNOWN = "unknown"  # the row says that there is no price, which is an answer


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


@dataclass(frozen=True, slots=True)
class _Listed:
    """A price and where it stands."""

    row: int
    price: Price


_Found = Iterator[tuple[_Listed, Level, str]]


def check_sheet(text: str, name: str, *, previous: PriceSheet | None = None) -> SheetCheck:
    """Check every row by every rule; `previous` is the last sheet, for steps since then.

    Raises PriceSheetError for what is no table with the columns of a price sheet.
    """
    listed: list[_Listed] = []
    findings: list[Finding] = []
    rows = 0
    for row in read_rows(text, name, columns=COLUMNS):
        rows += 1
        found = _read(row)
        if isinstance(found, Finding):
            findings.append(found)
        else:
            listed.append(found)
    for rule, check in _RULES.items():  # what one rejects is no yardstick for the next
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


def _read(row: Row) -> _Listed | Finding:
    """Read one row whatever its confidence says."""
    option = "/".join(row.cells[name].strip()[:80] for name in ("provider", "sku", "pricing_model"))
    if not row.cells["usd_per_hour"].strip():
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
        return _Listed(row.number, read_price(replace(row, cells=cells)))
    except PriceSheetError as error:
        reason = str(error)
        return Finding(
            row=row.number, option=option, level=Level.REJECT, rule="reading", reason=reason
        )


def _is_day(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.strip()) is not None


def _finding(one: _Listed, level: Level, rule: str, reason: str) -> Finding:
    price = one.price
    region = f"@{price.region}" if price.region else ""
    option = f"{price.provider}:{price.option}{region}"
    return Finding(row=one.row, option=option, level=level, rule=rule, reason=reason)


def _sentinels(listed: Sequence[_Listed]) -> _Found:
    for one in listed:
        if one.price.usd_per_hour in SENTINELS:
            yield one, Level.REJECT, f"{one.price.usd_per_hour} is a placeholder, not a price"


def _duplicates(listed: Sequence[_Listed]) -> _Found:
    for same in _groups(listed, lambda p: (p.provider, p.option, p.region, p.as_of)):
        if len(same) > 1:
            rows = ", ".join(str(one.row) for one in same)
            is_same = len({one.price.usd_per_hour for one in same}) == 1
            for one in same:
                level = Level.WARN if is_same else Level.REJECT
                yield one, level, f"rows {rows} are the same price of the same day"


def _spot(listed: Sequence[_Listed]) -> _Found:
    for same in _groups(listed, lambda p: (p.provider, p.sku, p.region)):
        on_demand = _newest(same, PricingModel.ON_DEMAND)
        if on_demand is None:
            continue
        for one in same:
            is_spot = one.price.pricing_model is PricingModel.SPOT
            if is_spot and one.price.usd_per_hour > on_demand.usd_per_hour:
                reason = (
                    f"spot at {one.price.usd_per_hour} is above on demand, {on_demand.usd_per_hour}"
                )
                yield one, Level.REJECT, reason


def _terms(listed: Sequence[_Listed]) -> _Found:
    """Check that the longer a commitment is, the less it costs."""
    for same in _groups(listed, lambda p: (p.provider, p.sku, p.region)):
        on_demand = _newest(same, PricingModel.ON_DEMAND)
        committed = [one for one in same if one.price.pricing_model in _COMMITMENTS]
        for one in committed:
            usd, years = one.price.usd_per_hour, _years(one.price)
            if on_demand is not None and usd > on_demand.usd_per_hour:
                reason = f"committed at {usd} is above on demand, {on_demand.usd_per_hour}"
                yield one, Level.REJECT, reason
            shorter = [
                other.price
                for other in committed
                if other.price.pricing_model is one.price.pricing_model
                and _payment(other.price) == _payment(one.price)
                and 0 < _years(other.price) < years
            ]
            if any(usd > other.usd_per_hour for other in shorter):
                yield one, Level.REJECT, f"{years} years at {usd} cost more an hour than one"


def _sizes(listed: Sequence[_Listed]) -> _Found:
    current = _current(one for one in listed if one.price.pricing_model is PricingModel.ON_DEMAND)
    for same in _groups(current, lambda p: (p.provider, _family(p), p.accelerator, p.region)):
        if not _family(same[0].price):
            continue
        middle = median(one.price.usd_per_device_hour for one in same)
        for one in same:
            share = one.price.usd_per_device_hour / middle - 1
            if abs(share) > MAX_SIZE_SCALING:
                reason = f"{share:+.0%} per accelerator from the middle of its family's sizes"
                yield one, Level.WARN, reason


def _windows(listed: Sequence[_Listed]) -> _Found:
    azure = [
        one
        for one in listed
        if one.price.provider == "azure" and one.price.pricing_model is PricingModel.ON_DEMAND
    ]
    for one in azure:
        price, size = one.price, _AZURE_SIZE.fullmatch(one.price.sku)
        if size is None:
            continue
        meter = int(size["processors"]) * WINDOWS_USD_PER_VCPU
        for other in azure:
            smaller = other.price
            is_smaller = smaller.count < price.count or smaller.usd_per_hour < price.usd_per_hour
            if not (_is_alike(smaller, price) and is_smaller):
                continue
            extra = price.usd_per_hour - smaller.usd_per_device_hour * price.count
            if abs(extra - meter) <= WINDOWS_TOLERANCE * meter:
                reason = (
                    f"{price.usd_per_hour} is {smaller.sku}'s price for {price.count} accelerators "
                    f"and {size['processors']} x {WINDOWS_USD_PER_VCPU}: the Windows meter"
                )
                yield one, Level.REJECT, reason
                break


def _regions(listed: Sequence[_Listed]) -> _Found:
    """Check the spread over regions; of prices too far apart the stranger ones are wrong."""
    current = _current(one for one in listed if one.price.pricing_model is PricingModel.ON_DEMAND)
    for same in _groups(current, lambda p: (p.provider, p.sku, p.option)):
        first = same[0].price
        peers = [
            one.price.usd_per_device_hour
            for one in current
            if (one.price.provider, one.price.accelerator) == (first.provider, first.accelerator)
        ]
        middle = median(peers)
        by_distance = sorted(same, key=lambda one: _ratio(one.price.usd_per_device_hour, middle))
        while (spread := _spread(by_distance)) > MAX_REGION_SPREAD:
            reason = f"on demand differs {spread:.3g}-fold between regions"
            if len(peers) == len(same) == PAIR:  # nothing tells which of the two is wrong
                yield from ((one, Level.WARN, reason) for one in by_distance)
                break
            yield by_distance.pop(), Level.REJECT, reason


def _outliers(listed: Sequence[_Listed]) -> _Found:
    current = _current(listed)
    for same in _groups(current, lambda p: (p.accelerator, p.count, p.pricing_model)):
        middle = median(one.price.usd_per_device_hour for one in same)
        for one in same:
            if _ratio(one.price.usd_per_device_hour, middle) > MAX_OVER_MEDIAN:
                each = one.price.usd_per_device_hour
                reason = f"{each:.4g} per accelerator, the median of its like is {middle:.4g}"
                yield one, Level.WARN, reason


def _chips(listed: Sequence[_Listed]) -> _Found:
    for one in listed:
        found = slice_of(one.price.sku)
        if found is not None and one.price.count != found.chips:
            reason = f"{one.price.sku} is {found.chips} chips, not {one.price.count}"
            yield one, Level.REJECT, reason


def _denominators(listed: Sequence[_Listed]) -> _Found:
    """Find the price of one accelerator where the instance's should be."""
    current = _current(listed)
    for same in _groups(
        current, lambda p: (p.provider, p.accelerator, p.pricing_model, p.option_term, p.region)
    ):
        for one in same:
            price = one.price
            each = [other.price.usd_per_device_hour for other in same if other is not one]
            is_one = any(abs(price.usd_per_hour / usd - 1) <= SAME for usd in each)
            if price.count > 1 and is_one:
                reason = f"{price.usd_per_hour} is the price of one of its {price.count}"
                yield one, Level.REJECT, reason


def _steps(listed: Sequence[_Listed], previous: PriceSheet) -> _Found:
    newest = newest_prices(previous)
    for one in _current(listed):
        price = one.price
        known = newest.get((price.provider, price.option, price.region))
        if known is None:
            continue
        step = price.usd_per_hour / known.usd_per_hour - 1
        if abs(step) > MAX_STEP:
            reason = f"{step:+.1%} since {known.as_of}: approve it before it is used"
            yield one, Level.WARN, reason


_RULES: dict[str, Callable[[Sequence[_Listed]], _Found]] = {
    "placeholder": _sentinels,
    "duplicate": _duplicates,
    "chips and cores": _chips,
    "Windows meter": _windows,
    "instance and accelerator": _denominators,
    "spread over regions": _regions,
    "spot above on demand": _spot,
    "commitments by term": _terms,
    "sizes of a family": _sizes,
    "median of its like": _outliers,
}


def _groups(
    listed: Iterable[_Listed], key: Callable[[Price], object]
) -> tuple[tuple[_Listed, ...], ...]:
    groups: defaultdict[object, list[_Listed]] = defaultdict(list)
    for one in listed:
        groups[key(one.price)].append(one)
    return tuple(tuple(group) for group in groups.values())


def _current(listed: Iterable[_Listed]) -> tuple[_Listed, ...]:
    """Return the newest price of each option and region: what it cost before is history."""
    newest: dict[tuple[str, str, str], _Listed] = {}
    for one in sorted(listed, key=lambda one: one.price.recency):
        newest[one.price.provider, one.price.option, one.price.region] = one
    return tuple(newest.values())


def _newest(listed: Iterable[_Listed], model: PricingModel) -> Price | None:
    found = [one.price for one in listed if one.price.pricing_model is model]
    return max(found, key=lambda price: price.recency, default=None)


def _spread(listed: Sequence[_Listed]) -> Decimal:
    each = [one.price.usd_per_hour for one in listed]
    return max(each) / min(each)


def _is_alike(one: Price, other: Price) -> bool:
    return (one.accelerator, one.region) == (other.accelerator, other.region)


def _family(price: Price) -> str:
    found = _SIZE.fullmatch(price.sku)
    return (found["family"] or found["google"]) if found else ""


def _years(price: Price) -> int:
    found = _YEARS.match(price.term)
    return int(found["years"]) if found else 0


def _payment(price: Price) -> str:
    return _YEARS.sub("", price.term)


def _ratio(one: Decimal, other: Decimal) -> Decimal:
    return max(one / other, other / one)
