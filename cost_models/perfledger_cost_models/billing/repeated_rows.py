"""Rejects bills that contain a part twice, as overlapping exports do, since costs would double.

Rows are compared by what they charge for, not by how it is written: numbers, times and tags count
by their value, and costs not at all, because a later export may have other costs of the same hours.
A second export in another granularity has no equal rows, but gives an instance more hours than its
period has.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from perfledger.rounding import digits
from perfledger.time_units import HOURS_PER_DAY, SECONDS_PER_HOUR
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.billing.focus_rows import BillRow
from perfledger_profiles.parsing.text_table import is_number

# Of the rows that name their resource; a provider may write a few charges twice on purpose.
MAX_REPEATED_SHARE = 0.01
# Two equal rows without a resource may be two machines. This many, on days all of whose rows are
# repeated equally often, are one export twice.
MIN_ROWS = 3
# A whole bill of such rows, costs and other charges included, is so from this many on.
MIN_ROWS_OF_BILL = 2
# An instance runs an hour an hour. Each of its starts is billed for a minute at least, and some
# licences for an hour.
MAX_HOURS_OVER = Decimal("1.1")
_HOUR = Decimal(1)
_COSTS = frozenset({"BilledCost", "ContractedCost", "EffectiveCost", "ListCost"})
_TIMES = frozenset({"ChargePeriodEnd", "ChargePeriodStart"})
_DOCUMENTS = frozenset({"AllocatedTags", "SkuPriceDetails", "Tags"})
# Resources that are one machine each; those of a scale set share its name.
_MACHINE = re.compile(r"(?i)(?:.*[/:])?i-[0-9a-f]{8,}|.*/virtualmachines/[^/]+")


def content_of(row: BillRow) -> int:
    """Return a hash of what a row charges for, equal for all ways to write it, without its cost."""
    return hash(tuple(_value(name, cell) for name, cell in row.cells.items() if name not in _COSTS))


def without_repeats(rows: Iterable[BillRow]) -> Iterator[BillRow]:
    """Yield the rows of a bill; raise BillError at its end if it contains a part twice.

    Rows charged by the hour with a ResourceId are repeats if one charges for the same. Without it,
    days are there twice if each of their rows is there the same number of times, and so is a bill.
    A machine that has more hours than the time from its first to its last row, or than a day, is
    there twice, too.
    """
    count = _Count()
    for row in rows:
        count.add(row)
        yield row
    count.check()


@dataclass(slots=True)
class _Count:
    """What the rows of a bill charge for, and how often."""

    named: set[int] = field(default_factory=set[int])
    count_named: int = 0
    count_repeated: int = 0
    first_line: int = 0
    days: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    exact: Counter[int] = field(default_factory=Counter[int])  # without resource, with their cost
    machines: dict[str, "_MachineHours"] = field(default_factory=dict[str, "_MachineHours"])

    def add(self, row: BillRow) -> None:
        content = content_of(row)
        resource = row.cells["ResourceId"]
        if not resource:
            self.exact[hash((content, row.number("EffectiveCost"), row.number("BilledCost")))] += 1
        if not row.is_by_time:
            return
        if not resource:
            self.days[row.cells["ChargePeriodStart"].strip()[:10]][content] += 1
            return
        self.count_named += 1
        if content in self.named:
            self.count_repeated += 1
            self.first_line = self.first_line or row.line
        self.named.add(content)
        is_used = row.is_of_period and not row.is_unused and row.instance
        if is_used and _MACHINE.fullmatch(resource):
            period = row.moment("ChargePeriodStart"), row.moment("ChargePeriodEnd")
            self.machines.setdefault(resource, _MachineHours(*period)).add(*period, row.hours)

    def check(self) -> None:
        if self.count_repeated > MAX_REPEATED_SHARE * self.count_named:
            msg = (
                f"{self.count_repeated} of the bill's {self.count_named} rows charged by the hour "
                "charge for what another one charges for, resource and period included, the first "
                f"in line {self.first_line}: a part was exported or joined twice. Remove it."
            )
            raise BillError(msg)
        self._check_unnamed()
        for resource, machine in self.machines.items():
            if problem := machine.problem:
                msg = (
                    f"the bill gives {resource[:100]} {problem}: a part was exported twice, "
                    "perhaps by the day and by the month. Remove it."
                )
                raise BillError(msg)

    def _check_unnamed(self) -> None:
        repeated: defaultdict[int, list[str]] = defaultdict(list)
        for day, contents in sorted(self.days.items()):
            copies = set(contents.values())
            if len(copies) == 1:
                repeated[copies.pop()].append(day)
        is_whole = not self.count_named and len(self.exact) >= MIN_ROWS_OF_BILL
        for times, days in sorted(repeated.items()):
            count = sum(len(self.days[day]) for day in days)
            is_bill = is_whole and set(self.exact.values()) == {times}
            if times > 1 and (is_bill or count >= MIN_ROWS):
                period = f"{days[0]} to {days[-1]}" if len(days) > 1 else days[0]
                msg = (
                    f"each of the bill's rows of {period} that are charged by the hour is there "
                    f"{times} times, costs apart: remove the copies. If they are "
                    "different resources, export ResourceId or join equal rows to one with their "
                    "sum."
                )
                raise BillError(msg)


@dataclass(slots=True)
class _MachineHours:
    """The hours of one machine, by day where its rows are of a day at most."""

    start: datetime
    end: datetime
    total: Decimal = Decimal(0)
    by_day: dict[str, Decimal] = field(default_factory=dict[str, Decimal])

    def add(self, start: datetime, end: datetime, hours: Decimal) -> None:
        self.start, self.end = min(start, self.start), max(end, self.end)
        self.total += hours
        if end - start <= timedelta(days=1):
            day = start.date().isoformat()
            self.by_day[day] = self.by_day.get(day, Decimal(0)) + hours

    @property
    def problem(self) -> str:
        """Return a clause with more hours than there are, "" if there are none."""
        day, hours = max(self.by_day.items(), key=lambda item: item[1], default=("", Decimal(0)))
        if hours > HOURS_PER_DAY * MAX_HOURS_OVER:
            return f"{digits(hours, 4)} hours on {day}"
        time = Decimal((self.end - self.start).total_seconds()) / SECONDS_PER_HOUR
        if self.total <= time * MAX_HOURS_OVER + _HOUR:
            return ""
        return (
            f"{digits(self.total, 4)} hours from {self.start:%Y-%m-%d} to {self.end:%Y-%m-%d}, "
            f"which has {digits(time, 4)}"
        )


def _value(name: str, cell: str) -> object:
    """Return a cell's value: 1.50 is 1.5, and +00:00 is Z."""
    text = cell.strip()
    if name in _TIMES:
        with suppress(ValueError):
            moment = datetime.fromisoformat(text.removesuffix(" UTC").removesuffix("Z"))
            return (moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta())).isoformat()
    elif name in _DOCUMENTS and text:
        with suppress(ValueError, RecursionError):
            return _text_of(json.loads(text))
    elif name == "PricingQuantity" and is_number(text):
        return Decimal(text).normalize()
    return text


def _text_of(document: object) -> str:
    is_map = isinstance(document, Mapping)
    return json.dumps(document, sort_keys=True) if is_map else str(document)
