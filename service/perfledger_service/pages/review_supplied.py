"""Turns what a review knows of capacity into sheets: what is there, how long jobs waited for it."""

from perfledger_cost_models.outcome import Summary
from perfledger_cost_models.policy_gain import PolicyComparison
from perfledger_cost_models.recorded_waits import RecordedWaits
from perfledger_cost_models.review import Review, Supply, Unknown
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean
from perfledger_service.pages.review_words import unknown_words
from perfledger_service.pages.waits import NO_TEAM, wait_words
from perfledger_service.pages.workbook import Look, Sheet, Workbook

_SECONDS_PER_HOUR = 3600
_MAX_TEXT = 400


def supply_sheet(book: Workbook, supply: Supply) -> None:
    """Write how much of the need is carried, by what, and what the bill says of its use."""
    titles = (
        "Year", "useful hours needed", "carried by what is there", "to be bought", "coverage",
        "", "",
    )  # fmt: skip
    sheet = book.sheet("Supply", titles, (40, *[20] * 6))
    for row, (year, hours, carried, needed) in enumerate(supply.coverage, start=1):
        sheet.number(row, 0, year)
        sheet.number(row, 1, float(hours))
        sheet.number(row, 2, float(carried))
        sheet.formula(row, 3, f"B{row + 1}-C{row + 1}", float(needed))
        if hours:
            share = float(carried / hours)
            sheet.formula(row, 4, f"C{row + 1}/B{row + 1}", share, Look.SHARE)
    row = _held(sheet, supply, len(supply.coverage) + 2)
    _billed(sheet, supply, row + 1)


def waits_sheet(book: Workbook, review: Review) -> None:
    """Write how long jobs waited, by team, and how long they would have under other policies."""
    titles = (
        "Team or policy", "jobs", "mean wait, h", "half waited at most, h",
        "95 % waited at most, h", "within the objective", "devices in use", "idle while wanted, h",
    )  # fmt: skip
    sheet = book.sheet("Waits", titles, (40, *[18] * 7))
    row = _recorded(sheet, review.supply.waits, review.quarter.name)
    _replayed(sheet, review.supply.policies, row + 1)


def _held(sheet: Sheet, supply: Supply, top: int) -> int:
    """Write what is owned or committed to from a row on; return the row after it."""
    heads = ("What is there", "accelerator", "devices", "kind", "since", "until", "USD a year")
    _heads(sheet, top, heads)
    for row, one in enumerate(supply.held, start=top + 1):
        kind = "owned" if one.is_owned else "committed"
        sheet.text(row, 0, clean(one.name, limit=_MAX_TEXT))
        sheet.text(row, 1, clean(one.accelerator, limit=_MAX_TEXT))
        sheet.number(row, 2, one.devices)
        for column, text in enumerate((kind, one.since.isoformat(), figures.day(one.until)), 3):
            sheet.text(row, column, text)
        if one.usd_per_year is not None:
            sheet.number(row, 6, float(one.usd_per_year), Look.MONEY)
    return top + len(supply.held) + 1


def _billed(sheet: Sheet, supply: Supply, top: int) -> None:
    _heads(sheet, top, ("What the bill says", "accelerator-hours", "effective USD", "USD per hour"))
    if isinstance(supply.by_mode, Unknown):
        sheet.text(top + 1, 0, unknown_words(supply.by_mode))
        return
    for row, (name, hours, usd) in enumerate(supply.by_mode, start=top + 1):
        sheet.text(row, 0, clean(name, limit=_MAX_TEXT))
        sheet.number(row, 1, float(hours))
        sheet.number(row, 2, float(usd), Look.MONEY)
        if hours:
            sheet.formula(row, 3, f"C{row + 1}/B{row + 1}", float(usd / hours), Look.MONEY)
    if not isinstance(supply.unused_usd, Unknown):
        last = top + len(supply.by_mode) + 1
        sheet.text(last, 0, "commitments that nobody used")
        sheet.number(last, 2, float(supply.unused_usd), Look.MONEY)


def _recorded(sheet: Sheet, waits: RecordedWaits | Unknown, quarter: str) -> int:
    """Write each team's waits, and everyone's; return the row after them."""
    if isinstance(waits, Unknown):
        sheet.text(1, 0, unknown_words(waits))
        return 2
    for row, one in enumerate((*waits.teams, waits.everyone), start=1):
        team = "all jobs" if one is waits.everyone else one.team or NO_TEAM
        sheet.text(row, 0, clean(team, limit=_MAX_TEXT))
        sheet.number(row, 1, one.jobs)
        _hours(sheet, row, (one.wait_mean_s, one.wait_p50_s, one.wait_p95_s))
        if one.met_share is not None:
            sheet.number(row, 5, one.met_share, Look.SHARE)
    last = len(waits.teams) + 2
    sheet.text(last, 0, wait_words(waits, quarter))
    return last + 1


def _replayed(sheet: Sheet, policies: PolicyComparison | Unknown, top: int) -> None:
    if isinstance(policies, Unknown):
        sheet.text(top, 0, unknown_words(policies))
        return
    _heads(sheet, top, (f"replayed on {policies.devices} devices, empty at first",))
    for row, one in enumerate(policies.rows, start=top + 1):
        _policy(sheet, row, one.figures)


def _policy(sheet: Sheet, row: int, found: Summary) -> None:
    sheet.text(row, 0, found.policy)
    sheet.number(row, 1, found.jobs)
    _hours(sheet, row, (found.wait_mean_s, found.wait_p50_s, found.wait_p95_s))
    if found.useful is not None:
        sheet.number(row, 6, found.useful, Look.SHARE)
    sheet.number(row, 7, found.wanted_idle_hours)


def _hours(sheet: Sheet, row: int, waits_s: tuple[float, ...]) -> None:
    for column, wait_s in enumerate(waits_s, start=2):
        sheet.number(row, column, wait_s / _SECONDS_PER_HOUR, Look.MONEY)


def _heads(sheet: Sheet, row: int, heads: tuple[str, ...]) -> None:
    for column, text in enumerate(heads):
        sheet.text(row, column, text, Look.HEAD)
