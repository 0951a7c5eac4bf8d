"""Writes a review as a workbook whose figures are formulas over named inputs.

The formulas are those of the model: changing an input shows how the review would have turned out.
Results of random draws are values, marked as such.
"""

from datetime import UTC, datetime, time
from decimal import Decimal

from perfledger_cost_models.billing.cost_allocation import BillPart
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.forecasting.forecast import QUANTILES, ForecastQuantity
from perfledger_cost_models.procurement.cost_model import PLAN_YEARS, YEARS
from perfledger_cost_models.procurement.decision import evaluate_at_modes
from perfledger_cost_models.procurement.option_formulas import NEED_WORTH
from perfledger_cost_models.projection.projection import MissingProjection, Projection
from perfledger_cost_models.review.document import Review, UnknownFigure
from perfledger_cost_models.review.measured_changes import ProjectedSpeed
from perfledger_cost_models.units import USD
from perfledger_service.rendering.cost.project import PROJECTED_MARK
from perfledger_service.rendering.fleet.allocate import allocation_sentences, team_label
from perfledger_service.rendering.fleet.forecast import forecast_notes, forecast_sentences
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.review.capacity_sheets import supply_sheet, waits_sheet
from perfledger_service.rendering.review.first_page import (
    first_page,
    outlook_sentence,
    unknown_line,
)
from perfledger_service.rendering.review.forecast_rows import named_periods, unit_of
from perfledger_service.rendering.review.rows import (
    NO_ADDRESS,
    input_rows,
    option_rows,
    paid_whole_usd,
)
from perfledger_service.rendering.review.sweep_sheet import sweep_sheet
from perfledger_service.rendering.review.xlsx_workbook import CellStyle, Workbook, Worksheet

MAX_TEXT = 2000
_MAX_LITERAL = 200  # a text in a formula may have 255 characters
INPUT_COLUMN, LINE_COLUMN = 4, 3  # the cells of the defined names

_WIDTHS = (6, 44, 34, 16, 16, 16, 14, 12, 16, 80, 60)
_ADDRESS_COLUMN = 10


def review_xlsx(review: Review) -> bytes:
    """Return the workbook as bytes; equal reviews give equal bytes."""
    book = Workbook(f"Procurement review {review.quarter.name}", _moment(review))
    _decision(book, review)
    _options(book, review)
    _inputs(book, review)
    _model(book, review)
    sweep_sheet(book, review)
    _forecast(book, review)
    supply_sheet(book, review.supply)
    waits_sheet(book, review)
    _write_projection(book, review)
    _allocation(book, review)
    _notes(book, review)
    return book.to_bytes()


def _moment(review: Review) -> datetime:
    # The format has no time zones.
    return datetime.combine(review.made_on, time(), UTC).replace(tzinfo=None)


def _decision(book: Workbook, review: Review) -> None:
    """Write the first page; its headline and live figures follow changed inputs."""
    words = first_page(review)
    sheet = book.sheet("Decision", (f"Procurement review {review.quarter.name}", ""), (60, 60))
    last = len(review.options) + 1
    npv = f"Options!$I$2:$I${last}"
    cheapest = f"INDEX(Options!$A$2:$A${last},MATCH(MIN({npv}),{npv},0))"
    best = min(option_rows(review), key=lambda each: _npv(review, each.line))
    take = clean(words.take, limit=_MAX_LITERAL)
    changed = f'At these inputs the cheapest is another option: "&{cheapest}&" instead of '
    headline = f'IF({cheapest}="{best.name}","{take}","{changed}{best.name}")'
    sheet.formula(1, 0, headline, take, CellStyle.TITLE)
    choice, status_quo = review.choice, review.status_quo
    sheet.text(3, 0, "At the inputs of this workbook, as you change them:", CellStyle.HEAD)
    saving = f"{status_quo.option.npv}-{choice.option.npv}"
    live_figures: tuple[tuple[str, str, float | str], ...] = (
        ("cheapest option", cheapest, best.name),
        (f"{choice.option.name}: cost over {YEARS} years, today's money, USD",
         choice.option.npv, float(choice.npv)),
        (f"saving of {choice.option.name} over today's option, USD",
         saving, float(status_quo.npv - choice.npv)),
    )  # fmt: skip
    for row, (label, formula, value) in enumerate(live_figures, start=4):
        sheet.text(row, 0, _cell(label))
        sheet.formula(
            row, 1, formula, value, CellStyle.PLAIN if isinstance(value, str) else CellStyle.USD
        )
    sheet.text(8, 0, "At the review's own inputs, which were simulated:", CellStyle.HEAD)
    rows = [(fact.words, fact.value) for fact in words.facts]
    if review.is_example:
        rows.insert(0, ("An example", "demand, supply and teams are made up; the prices are real"))
    rows.append((f"Budget for {review.expected_quarter.quarter}", outlook_sentence(review)))
    sheet.text(9, 0, _cell(words.why))
    for place, (left, right) in enumerate(rows, start=11):
        sheet.text(place, 0, _cell(left))
        sheet.text(place, 1, _cell(right))


def _options(book: Workbook, review: Review) -> None:
    years = [f"year {year}" for year in PLAN_YEARS]
    titles = (
        "Option",
        "Where",
        "Devices",
        "at the start, USD",
        *(f"{year}, USD" for year in years),
        "sum, USD",
        "present value, USD",
        "USD per hour needed",
        "simulated: present value, 5 %",
        "simulated: present value, median",
        "simulated: present value, 95 %",
        "simulated: best in",
        "simulated: cheaper than today's option in",
        "Region and date of the price",
    )
    sheet = book.sheet("Options", titles, (28, 34, 9, *[15] * 12, 34))
    for row, option_row in enumerate(option_rows(review), start=1):
        facts = next(one for one in review.options if one.outcome.option.npv == option_row.line)
        outcome, option = facts.outcome, facts.outcome.option
        sheet.text(row, 0, option_row.name)
        sheet.text(row, 1, _cell(option.where))
        if option.devices is not None:
            sheet.formula(row, 2, f"{option.key}_devices", option.devices, CellStyle.NUMBER)
        # Payments are in whole USD, so that they add up to the sum shown.
        paid = paid_whole_usd(outcome)
        for column, (name, usd) in enumerate(zip(option.paid, paid, strict=True), start=3):
            sheet.formula(row, column, f"ROUND({name},0)", float(usd), CellStyle.USD)
        total = float(sum(paid, Decimal(0)))
        sheet.formula(row, 7, f"SUM(D{row + 1}:G{row + 1})", total, CellStyle.USD)
        sheet.formula(row, 8, option.npv, float(outcome.npv), CellStyle.USD)
        if outcome.hour is not None:
            hour = f"{option.npv}/{NEED_WORTH}"
            sheet.formula(row, 9, hour, float(outcome.hour), CellStyle.NUMBER)
        for column, usd in enumerate(outcome.npv_band, start=10):
            sheet.number(row, column, float(usd), CellStyle.USD)
        sheet.number(row, 13, outcome.chance_best, CellStyle.CHANCE)
        sheet.number(row, 14, outcome.chance_cheaper, CellStyle.CHANCE)
        sheet.text(row, 15, option_row.origin)


def _inputs(book: Workbook, review: Review) -> None:
    titles = (
        "n", "Input", "Name", "low", "most likely (change this)", "high", "Unit", "Basis", "As of",
        "Source", "Address",
    )  # fmt: skip
    sheet = book.sheet("Inputs", titles, _WIDTHS)
    rows = zip(input_rows(review), review.model.inputs, strict=True)
    for row, (input_row, each) in enumerate(rows, start=1):
        sheet.number(row, 0, input_row.number)
        sheet.text(row, 1, _cell(input_row.words))
        sheet.text(row, 2, each.name)
        sheet.number(row, 3, float(each.low), CellStyle.NUMBER)
        sheet.number(row, INPUT_COLUMN, float(each.mode), CellStyle.ENTRY)
        sheet.number(row, 5, float(each.high), CellStyle.NUMBER)
        for column, text in enumerate(
            (input_row.unit, input_row.basis, input_row.as_of, input_row.source), start=6
        ):
            sheet.text(row, column, _cell(text))
        if input_row.link:
            sheet.address(row, _ADDRESS_COLUMN, input_row.link)
        elif input_row.is_price:
            sheet.text(row, _ADDRESS_COLUMN, NO_ADDRESS)
        book.name(each.name, f"Inputs!$E${row + 1}")


def _model(book: Workbook, review: Review) -> None:
    titles = ("Line", "What", "Formula", "Value", "Unit")
    sheet = book.sheet("Model", titles, (24, 60, 80, 20, 10))
    likely = evaluate_at_modes(review.model)
    for row, line in enumerate(review.model.lines, start=1):
        sheet.text(row, 0, line.name)
        sheet.text(row, 1, _cell(line.label))
        sheet.text(row, 2, line.formula)
        form = CellStyle.USD if line.unit == USD else CellStyle.NUMBER
        value = float(likely[line.name][0])
        sheet.formula(row, LINE_COLUMN, line.formula, value, form)
        sheet.text(row, 4, line.unit)
        book.name(line.name, f"Model!$D${row + 1}")


def _forecast(book: Workbook, review: Review) -> None:
    names = (f"P{round(100 * share)}" for share in QUANTILES)
    titles = ("Quantity", "Period", *names, "P90 less P50: contingency")
    sheet = book.sheet("Forecast", titles, (16, 14, *[18] * 6))
    forecasts = review.demand.forecast
    if isinstance(forecasts, UnknownFigure):
        sheet.text(1, 0, unknown_line(forecasts))
        return
    row = 1
    for forecast in forecasts.forecasts:
        is_money = forecast.quantity is ForecastQuantity.USD
        look = CellStyle.USD if is_money else CellStyle.NUMBER
        for name, quantiles in named_periods(forecast):
            sheet.text(row, 0, unit_of(forecast.quantity))
            sheet.text(row, 1, name)
            for column, amount in enumerate(quantiles, start=2):
                sheet.number(row, column, amount, look)
            formula, apart = f"G{row + 1}-E{row + 1}", quantiles[-1] - quantiles[2]
            if is_money:  # of the amounts as they are shown, as on the page
                formula = f"ROUND(G{row + 1},0)-ROUND(E{row + 1},0)"
                apart = round(quantiles[-1]) - round(quantiles[2])
            sheet.formula(row, 7, formula, apart, look)
            row += 1


def _write_projection(book: Workbook, review: Review) -> None:
    titles = (
        "Workload", "Measured on", "Day", "Projected onto", "Provenance", "times as fast", "low",
        "high", "Price", "As of", "USD per million units", "low", "high",
    )  # fmt: skip
    sheet = book.sheet("Projected", titles, (40, 16, 12, 16, 14, 14, 12, 12, 40, 12, 18, 14, 14))
    projection = review.performance.projection
    if isinstance(projection, UnknownFigure):
        sheet.text(1, 0, unknown_line(projection))
        return
    rows = ((one, cost) for one in projection for cost in one.costs or (None,))
    for row, (one, cost) in enumerate(rows, start=1):
        _projected_row(sheet, row, one)
        if cost is not None:
            sheet.text(row, 8, _cell(cost.rate.label))
            sheet.text(row, 9, cost.rate.as_of.isoformat())
            for column, usd in enumerate((cost.usd, cost.low, cost.high), start=10):
                sheet.number(row, column, float(usd))


def _projected_row(sheet: Worksheet, row: int, projected: ProjectedSpeed) -> None:
    texts = (
        projected.workload,
        projected.source,
        projected.day.isoformat(),
        projected.device,
        PROJECTED_MARK,
    )
    for column, text in enumerate(texts):
        sheet.text(row, column, _cell(text))
    match projected.projection:
        case MissingProjection():
            sheet.text(row, 5, _cell(projected.projection.reason))
        case Projection():
            speeds = (
                projected.projection.speed,
                projected.projection.low,
                projected.projection.high,
            )
            for column, speed in enumerate(speeds, start=5):
                sheet.number(row, column, speed)


def _allocation(book: Workbook, review: Review) -> None:
    titles = (
        "Team", "Project", "device-hours", "direct, USD", "idle, USD", "overhead, USD",
        "total, USD",
    )  # fmt: skip
    sheet = book.sheet("Allocation", titles, (40, 30, *[18] * 5))
    allocation = review.allocation
    if not isinstance(allocation, CostAllocation):
        sheet.text(1, 0, unknown_line(allocation))
        return
    for row, one in enumerate(allocation.rows, start=1):
        sheet.text(row, 0, _cell(team_label(one)))
        sheet.text(row, 1, _cell(one.project) if one.project else "")
        sheet.number(row, 2, float(one.hours), CellStyle.NUMBER)
        for column, part in enumerate(BillPart, start=3):
            sheet.number(row, column, float(one.usd_of(part)), CellStyle.MONEY)
        total = float(one.total_usd)
        sheet.formula(row, 6, f"SUM(D{row + 1}:F{row + 1})", total, CellStyle.MONEY)
    last = len(allocation.rows)
    sheet.text(last + 1, 0, "the bill")
    sums = (allocation.used_hours, *map(allocation.sum_of, BillPart), allocation.effective_usd)
    for column, (letter, column_sum) in enumerate(zip("CDEFG", sums, strict=True), start=2):
        formula = f"SUM({letter}2:{letter}{last + 1})"
        sheet.formula(last + 1, column, formula, float(column_sum), CellStyle.SUM)
    for row, sentence in enumerate(allocation_sentences(allocation), start=last + 3):
        sheet.text(row, 0, _cell(sentence))


def _notes(book: Workbook, review: Review) -> None:
    sheet = book.sheet(
        "Notes", ("Kind", "What", "Reason, or origin", "Remedy, or SHA-256"), (12, 60, 48, 40)
    )
    rows = [("not known", one.name, one.reason, one.remedy) for one in review.unknowns]
    rows += [(str(one.basis), one.name, "", "") for one in review.risks]
    rows += [
        ("source", one.name, f"{one.origin} {one.as_of}".strip(), one.sha256)
        for one in review.sources
    ]
    rows.append(
        ("draws", f"{review.draws:,} draws, seed {review.seed}", "PERT by input's name", "")
    )
    rows += [("forecast", sentence, "", "") for sentence in _write_forecasts(review)]
    for row, cells in enumerate(rows, start=1):
        for column, text in enumerate(cells):
            sheet.text(row, column, _cell(text) if text else "")


def _write_forecasts(review: Review) -> tuple[str, ...]:
    forecasts = review.demand.forecast
    if isinstance(forecasts, UnknownFigure):
        return ()
    return (*forecast_sentences(forecasts), *forecast_notes(forecasts))


def _npv(review: Review, line: str) -> Decimal:
    return next(one.outcome.npv for one in review.options if one.outcome.option.npv == line)


def _cell(text: str) -> str:
    return clean(text, limit=MAX_TEXT)
