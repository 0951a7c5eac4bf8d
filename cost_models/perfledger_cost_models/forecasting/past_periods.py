"""Computes hours and spend of complete past periods from accounting, bills or tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise

from perfledger_cost_models.billing.focus_charges import read_charges
from perfledger_cost_models.forecasting.calendar_periods import (
    PeriodCalendar,
    PeriodLength,
    calendar_of,
)
from perfledger_cost_models.forecasting.sample_paths import MAX_PERIODS
from perfledger_cost_models.forecasting.seasonal_naive import MAX_AMOUNT
from perfledger_cost_models.usage.csv_with_header import CsvRow, amounts, read_rows
from perfledger_cost_models.usage.device_spans import (
    EARLIEST,
    LATEST,
    DeviceUsage,
    UsageFileError,
    check_covered,
)
from perfledger_profiles.parsing.text_table import first_row, lower_name

# A first or last period with less than this share of data is incomplete and dropped.
MIN_KNOWN_SHARE = 0.95
_HOURS, _USD = "hours", "usd"
_WEEK = re.compile(r"(\d{4})-?W(\d{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageHistory:
    """Device-hours and USD of consecutive complete periods; None if there are none."""

    calendar: PeriodCalendar
    hours: tuple[float, ...] | None
    usd: tuple[float, ...] | None

    def __len__(self) -> int:
        return len(self.hours or self.usd or ())


@dataclass(frozen=True, slots=True)
class CostSpan:
    """A cost of accelerators, spent evenly from `start` to `end`; seconds since 1970, UTC."""

    start: float
    end: float
    usd: float


def history_of(
    usages: Sequence[DeviceUsage], costs: Sequence[CostSpan] | None, *, step: PeriodLength
) -> UsageHistory:
    """Return the history of files by month or week; `costs` is None for files without costs.

    Amounts that span periods are split by time. Incomplete periods at the ends are dropped. Raises
    UsageFileError for a gap between files, and if no period is complete.
    """
    start, end = _recorded_span(usages)
    calendar = calendar_of(step, datetime.fromtimestamp(start, UTC).date())
    edges = [calendar.seconds(0)]
    while edges[-1] < end and len(edges) <= MAX_PERIODS:
        edges.append(calendar.seconds(len(edges)))
    if edges[-1] < end:
        msg = f"the files span more than {MAX_PERIODS} {step}s: correct their dates"
        raise UsageFileError(msg)
    recorded_shares = [
        (min(after, end) - max(before, start)) / (after - before)
        for before, after in pairwise(edges)
    ]
    complete = [index for index, share in enumerate(recorded_shares) if share >= MIN_KNOWN_SHARE]
    if not complete:
        msg = f"the files do not cover a whole {step}: export a longer time"
        raise UsageFileError(msg)
    complete_span = slice(complete[0], complete[-1] + 1)
    hours = [(span.start, span.end, span.device_hours) for one in usages for span in one.spans]
    money = None if costs is None else [(each.start, each.end, each.usd) for each in costs]
    return UsageHistory(
        calendar=calendar_of(step, calendar.start(complete[0])),
        hours=_amounts_by_period(hours, edges)[complete_span],
        usd=None if money is None else _amounts_by_period(money, edges)[complete_span],
    )


def costs_of_bill(text: str) -> tuple[CostSpan, ...]:
    """Return the accelerator costs of a FOCUS bill in CSV; raises BillError."""
    charges = read_charges(text)
    return tuple(
        CostSpan(each.start, each.end, float(each.effective_usd))
        for each in charges
        if each.effective_usd
    )


def is_history_table(text: str) -> bool:
    """Return whether a text is a table of months or weeks, by its header."""
    names = set(map(lower_name, first_row(text)))
    return bool(names & set(PeriodLength)) and bool(names & {_HOURS, _USD})


def read_history(text: str, name: str) -> UsageHistory:
    """Read a CSV with `month` (2026-03) or `week` (2026-W10, or its Monday), `hours` and `usd`.

    One of `hours` and `usd` is enough. Rows must be in order and complete. Raises UsageFileError.
    """
    rows = read_rows(text, name, most_rows=MAX_PERIODS)
    step = next((each for each in PeriodLength if each in rows[0].cells), None)
    hours, usd = (amounts(rows, column, maximum=MAX_AMOUNT) for column in (_HOURS, _USD))
    if step is None or (hours is None and usd is None):
        msg = f"{name} lacks a column month or week, or a column hours or usd: add it"
        raise UsageFileError(msg)
    calendar = calendar_of(step, _day(rows[0], step))
    for index, row in enumerate(rows):
        if _day(row, step) != calendar.start(index):
            msg = (
                f"{row.where}: {row.cells[step][:40]!r} is not the expected "
                f"{calendar.start(index)}: list each {step} once, in order, with 0 for no use"
            )
            raise UsageFileError(msg)
    return UsageHistory(calendar=calendar, hours=hours, usd=usd)


def _recorded_span(usages: Sequence[DeviceUsage]) -> tuple[float, float]:
    """Return the start and end of the files' data, which must have no gap."""
    if not usages:
        msg = "there is no file of past usage: pass usage files, bills or a table by month"
        raise UsageFileError(msg)
    start, end = min(one.start for one in usages), max(one.end for one in usages)
    check_covered(usages, start, end)
    return start, end


def _amounts_by_period(
    spans: Sequence[tuple[float, float, float]], edges: Sequence[float]
) -> tuple[float, ...]:
    """Split amounts over the periods between edges, evenly by time."""
    sums = [0.0] * (len(edges) - 1)
    place = 0
    for start, end, amount in sorted(spans):
        while place < len(sums) - 1 and edges[place + 1] <= start:
            place += 1
        at = place
        while at < len(sums) and edges[at] <= end:
            inside = min(end, edges[at + 1]) - max(start, edges[at])
            if end > start:
                sums[at] += amount * max(inside, 0.0) / (end - start)
            elif start < edges[at + 1]:
                sums[at] += amount
            at += 1
    return tuple(sums)


def _day(row: CsvRow, step: PeriodLength) -> date:
    """Return the first day of a row's period."""
    text = row.cells[step].strip()
    try:
        if week := _WEEK.fullmatch(text) if step is PeriodLength.WEEK else None:
            day = date.fromisocalendar(int(week[1]), int(week[2]), 1)
        else:
            day = date.fromisoformat(f"{text}-01" if text.count("-") == 1 else text)
    except ValueError as error:
        msg = f"{row.where}: {text[:40]!r} is not a {step}: write 2026-03, 2026-W10 or a day"
        raise UsageFileError(msg) from error
    moment = datetime.combine(day, datetime.min.time(), UTC).timestamp()
    if not EARLIEST <= moment <= LATEST or calendar_of(step, day).first != day:
        msg = f"{row.where}: {text[:40]!r} is not the first day of a {step} after 2000: correct it"
        raise UsageFileError(msg)
    return day
