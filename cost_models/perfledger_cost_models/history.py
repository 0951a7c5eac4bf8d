"""Accounting, bills, or a table by month, into the hours and the money of whole past periods."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import StringIO
from itertools import pairwise

from perfledger_cost_models.focus_charges import read_charges
from perfledger_cost_models.headed_table import Row, amounts, read_rows
from perfledger_cost_models.paths import MAX_PERIODS
from perfledger_cost_models.period import SECONDS_A_DAY, Calendar, Step, calendar_of
from perfledger_cost_models.usage import EARLIEST, LATEST, Usage, UsageFileError
from perfledger_cost_models.year_before import MAX_AMOUNT

# Of a period at either end: if less of it is told, it is not whole and is left out.
MIN_TOLD = 0.95
# What nobody tells of between two files: longer is a file that is missing.
MAX_GAP_S = 2 * SECONDS_A_DAY
_HOURS, _USD = "hours", "usd"
_WEEK = re.compile(r"(\d{4})-?W(\d{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Device-hours and USD of whole periods, one after the other; None where nothing tells."""

    calendar: Calendar
    hours: tuple[float, ...] | None
    usd: tuple[float, ...] | None

    def __len__(self) -> int:
        return len(self.hours or self.usd or ())


@dataclass(frozen=True, slots=True)
class Cost:
    """Money for accelerators, spent evenly from `start` to `end`; seconds since 1970, UTC."""

    start: float
    end: float
    usd: float


def history_of(usages: Sequence[Usage], costs: Sequence[Cost] | None, *, step: Step) -> History:
    """Return what files tell, by month or week; `costs` are None where they tell of none.

    What spans periods is shared out by time. Periods at the ends that are not told whole are left
    out. Raises UsageFileError for a gap between files, and where no period is whole.
    """
    start, end = _told(usages)
    calendar = calendar_of(step, datetime.fromtimestamp(start, UTC).date())
    edges = [calendar.seconds(0)]
    while edges[-1] < end and len(edges) <= MAX_PERIODS:
        edges.append(calendar.seconds(len(edges)))
    if edges[-1] < end:
        msg = f"the files tell of more than {MAX_PERIODS} {step}s: leave out what is slipped"
        raise UsageFileError(msg)
    known = [
        (min(after, end) - max(before, start)) / (after - before)
        for before, after in pairwise(edges)
    ]
    whole = [place for place, share in enumerate(known) if share >= MIN_TOLD]
    if not whole:
        msg = f"the files do not tell of a whole {step}: export longer periods"
        raise UsageFileError(msg)
    kept = slice(whole[0], whole[-1] + 1)
    hours = [(span.start, span.end, span.device_hours) for one in usages for span in one.spans]
    money = None if costs is None else [(each.start, each.end, each.usd) for each in costs]
    return History(
        calendar=calendar_of(step, calendar.start(whole[0])),
        hours=_shared(hours, edges)[kept],
        usd=None if money is None else _shared(money, edges)[kept],
    )


def costs_of_bill(text: str) -> tuple[Cost, ...]:
    """Return what a FOCUS bill in CSV says that accelerators cost; raises BillError."""
    charges = read_charges(StringIO(text, newline=""))
    return tuple(
        Cost(each.start, each.end, float(each.effective_usd))
        for each in charges
        if each.effective_usd
    )


def is_history_table(first_line: str) -> bool:
    """Whether a file begins as a table of months or weeks does."""
    names = {name.strip().lower() for name in first_line.removeprefix("\ufeff").split(",")}
    return bool(names & set(Step)) and bool(names & {_HOURS, _USD})


def read_history(text: str, name: str) -> History:
    """Read a CSV with `month` (2026-03) or `week` (2026-W10, or its Monday), `hours` and `usd`.

    One of the two is enough. Rows stand in order, none is missing. Raises UsageFileError.
    """
    rows = read_rows(text, name, most_rows=MAX_PERIODS)
    step = next((each for each in Step if each in rows[0].cells), None)
    hours, usd = (amounts(rows, column, most=MAX_AMOUNT) for column in (_HOURS, _USD))
    if step is None or (hours is None and usd is None):
        msg = f"{name} needs a column month or week, and hours or usd: name them so"
        raise UsageFileError(msg)
    calendar = calendar_of(step, _day(rows[0], step))
    for place, row in enumerate(rows):
        if _day(row, step) != calendar.start(place):
            msg = (
                f"{row.where}: {row.cells[step][:40]!r} stands where {calendar.start(place)} is "
                f"next: give each {step} once, in order; one without use has 0"
            )
            raise UsageFileError(msg)
    return History(calendar=calendar, hours=hours, usd=usd)


def _told(usages: Sequence[Usage]) -> tuple[float, float]:
    """Return from when to when files tell, without a gap between them."""
    told = sorted((one.start, one.end, one.name) for one in usages)
    if not told:
        msg = "no file of the past was given: give usage files, bills or a table by month"
        raise UsageFileError(msg)
    start, end, _ = told[0]
    for begins, ends, name in told[1:]:
        if begins - end > MAX_GAP_S:
            then = datetime.fromtimestamp(end, UTC).date()
            msg = f"nothing tells of the time from {then} to where {name} begins: add that file"
            raise UsageFileError(msg)
        end = max(end, ends)
    return start, end


def _shared(
    spans: Sequence[tuple[float, float, float]], edges: Sequence[float]
) -> tuple[float, ...]:
    """Share amounts out to the periods between edges, evenly by time."""
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


def _day(row: Row, step: Step) -> date:
    """Return the first day of the period that a row is of."""
    text = row.cells[step].strip()
    try:
        if found := _WEEK.fullmatch(text) if step is Step.WEEK else None:
            day = date.fromisocalendar(int(found[1]), int(found[2]), 1)
        else:
            day = date.fromisoformat(f"{text}-01" if text.count("-") == 1 else text)
    except ValueError as error:
        msg = f"{row.where}: {text[:40]!r} is no {step}: write 2026-03, 2026-W10 or a day"
        raise UsageFileError(msg) from error
    moment = datetime.combine(day, datetime.min.time(), UTC).timestamp()
    if not EARLIEST <= moment <= LATEST or calendar_of(step, day).first != day:
        msg = f"{row.where}: {text[:40]!r} is not the first day of a {step} after 2000: correct it"
        raise UsageFileError(msg)
    return day
