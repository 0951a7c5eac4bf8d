"""Writes the capacity sheets of a review: devices, and waits for them."""

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.job_logs.csv_rows import DeviceUse
from perfledger_cost_models.review.document import Review, SupplySection, UnknownFigure
from perfledger_cost_models.review.queue_waits import RecordedWaits
from perfledger_cost_models.scheduling.job_outcomes import PolicySummary
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.plan.queue_waits import NO_TEAM, wait_sentence
from perfledger_service.rendering.plan.simulate import devices_in_use, review_sentences
from perfledger_service.rendering.review.first_page import unknown_line
from perfledger_service.rendering.review.xlsx_workbook import CellStyle, Workbook, Worksheet

_MAX_TEXT = 400
_USE_REMARKS = {
    DeviceUse.COMPLETE: (),
    DeviceUse.LOWER_BOUND: ("Rows that were left out held devices, so more were in use.",),
    DeviceUse.UNKNOWN: (
        "How many devices were in use is unknown: rows that were left out held some.",
    ),
}


def supply_sheet(book: Workbook, supply: SupplySection) -> None:
    """Write the coverage of the need, the existing supply, and its use according to the bill."""
    titles = (
        "Year", "paid hours needed", "carried by the existing supply", "to be bought", "coverage",
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
            sheet.formula(row, 4, f"C{row + 1}/B{row + 1}", share, CellStyle.SHARE)
    row = _capacity(sheet, supply, len(supply.coverage) + 2)
    _write_bill(sheet, supply, row + 1)


def waits_sheet(book: Workbook, review: Review) -> None:
    """Write the waits by team and under other policies."""
    titles = (
        "Team or policy", "jobs", "mean wait, h", "median wait, h",
        "P95 of the wait, h", "within the objective", "devices in use", "idle while jobs waited, h",
    )  # fmt: skip
    sheet = book.sheet("Waits", titles, (40, *[18] * 7))
    row = _write_waits(sheet, review.supply.waits, review.quarter.name)
    _write_policies(sheet, review.supply.policies, row + 1)


def _capacity(sheet: Worksheet, supply: SupplySection, top: int) -> int:
    """Write the existing supply, starting at a row; return the row after it."""
    heads = ("Existing supply", "accelerator", "devices", "kind", "since", "until", "USD a year")
    _heads(sheet, top, heads)
    for row, one in enumerate(supply.entries, start=top + 1):
        kind = "owned" if one.is_owned else "committed"
        sheet.text(row, 0, clean(one.name, limit=_MAX_TEXT))
        sheet.text(row, 1, clean(one.accelerator, limit=_MAX_TEXT))
        sheet.number(row, 2, one.devices)
        for column, text in enumerate(
            (kind, one.since.isoformat(), number_format.day(one.until)), 3
        ):
            sheet.text(row, column, text)
        if one.usd_per_year is not None:
            sheet.number(row, 6, float(one.usd_per_year), CellStyle.MONEY)
    return top + len(supply.entries) + 1


def _write_bill(sheet: Worksheet, supply: SupplySection, top: int) -> None:
    _heads(sheet, top, ("The bill", "accelerator-hours", "effective USD", "USD per hour"))
    if isinstance(supply.by_mode, UnknownFigure):
        sheet.text(top + 1, 0, unknown_line(supply.by_mode))
        return
    for row, (name, hours, usd) in enumerate(supply.by_mode, start=top + 1):
        sheet.text(row, 0, clean(name, limit=_MAX_TEXT))
        sheet.number(row, 1, float(hours))
        sheet.number(row, 2, float(usd), CellStyle.MONEY)
        if hours:
            sheet.formula(row, 3, f"C{row + 1}/B{row + 1}", float(usd / hours), CellStyle.MONEY)
    last = top + len(supply.by_mode) + 1
    for row, doubt in enumerate(supply.mode_doubts, start=last + 1):
        sheet.text(row, 0, clean(f"on demand?: {doubt}", limit=_MAX_TEXT))
    if not isinstance(supply.unused_usd, UnknownFigure):
        sheet.text(last, 0, "unused commitments")
        sheet.number(last, 2, float(supply.unused_usd), CellStyle.MONEY)


def _write_waits(sheet: Worksheet, waits: RecordedWaits | UnknownFigure, quarter: str) -> int:
    """Write the waits of each team and of all jobs; return the row after them."""
    if isinstance(waits, UnknownFigure):
        sheet.text(1, 0, unknown_line(waits))
        return 2
    for row, one in enumerate((*waits.teams, waits.overall), start=1):
        team = "all jobs" if one is waits.overall else one.team or NO_TEAM
        sheet.text(row, 0, clean(team, limit=_MAX_TEXT))
        sheet.number(row, 1, one.jobs)
        _hours(sheet, row, (one.wait_mean_s, one.wait_p50_s, one.wait_p95_s))
        if one.met_share is not None:
            sheet.number(row, 5, one.met_share, CellStyle.SHARE)
    last = len(waits.teams) + 2
    sheet.text(last, 0, wait_sentence(waits, quarter))
    return last + 1


def _write_policies(sheet: Worksheet, policies: PolicyComparison | UnknownFigure, top: int) -> None:
    if isinstance(policies, UnknownFigure):
        sheet.text(top, 0, unknown_line(policies))
        return
    _heads(
        sheet,
        top,
        (f"replayed on {quantity(policies.devices, 'device')}, initially empty",),
    )
    for row, one in enumerate(policies.rows, start=top + 1):
        _policy(sheet, row, one.figures, devices_in_use(policies, one.figures.useful))
    remarks = (*review_sentences(policies), *_USE_REMARKS[policies.device_use])
    for row, remark in enumerate(remarks, start=top + len(policies.rows) + 1):
        sheet.text(row, 0, remark)


def _policy(sheet: Worksheet, row: int, summary: PolicySummary, in_use: float | None) -> None:
    sheet.text(row, 0, summary.policy)
    sheet.number(row, 1, summary.jobs)
    _hours(sheet, row, (summary.wait_mean_s, summary.wait_p50_s, summary.wait_p95_s))
    if in_use is not None:
        sheet.number(row, 6, in_use, CellStyle.SHARE)
    sheet.number(row, 7, summary.wanted_idle_hours)


def _hours(sheet: Worksheet, row: int, waits_s: tuple[float, ...]) -> None:
    for column, wait_s in enumerate(waits_s, start=2):
        sheet.number(row, column, wait_s / SECONDS_PER_HOUR, CellStyle.MONEY)


def _heads(sheet: Worksheet, row: int, heads: tuple[str, ...]) -> None:
    for column, text in enumerate(heads):
        sheet.text(row, column, text, CellStyle.HEAD)
