"""Turns a review into a workbook whose figures are formulas over named inputs.

The formulas are the model's own text: who changes an input sees what the review would have said at
it. What was drawn stands there as a value, and says so.
"""

from datetime import UTC, datetime, time
from decimal import Decimal

from perfledger_cost_models.allocation import Part
from perfledger_cost_models.decision import at_modes
from perfledger_cost_models.forecast import QUANTILES, Quantity
from perfledger_cost_models.procurement import YEARS
from perfledger_cost_models.projection import NotProjected, Projection
from perfledger_cost_models.review import Review, Unknown
from perfledger_cost_models.review_records import ProjectedSpeed
from perfledger_cost_models.showback import Allocation
from perfledger_cost_models.way_costs import NEED_WORTH
from perfledger_service.pages.allocated import allocation_sentences, team_words
from perfledger_service.pages.escape import clean
from perfledger_service.pages.forecasted import forecast_notes, forecast_sentences
from perfledger_service.pages.projected import PROJECTED
from perfledger_service.pages.review_forecast import named_periods, unit_of
from perfledger_service.pages.review_rows import input_rows, option_rows, paid_cents
from perfledger_service.pages.review_supplied import supply_sheet, waits_sheet
from perfledger_service.pages.review_words import decision_words, outlook_words, unknown_words
from perfledger_service.pages.workbook import Look, Sheet, Workbook

MAX_TEXT = 2000
INPUT_COLUMN, LINE_COLUMN = 4, 3  # where the named cells stand

_WIDTHS = (6, 44, 34, 16, 16, 16, 14, 12, 16, 80)


def review_xlsx(review: Review) -> bytes:
    """Return the workbook's bytes; the same review gives the same."""
    book = Workbook(f"Procurement review {review.quarter.name}", _moment(review))
    _decision(book, review)
    _options(book, review)
    _inputs(book, review)
    _model(book, review)
    _forecast(book, review)
    supply_sheet(book, review.supply)
    waits_sheet(book, review)
    _projected(book, review)
    _allocation(book, review)
    _notes(book, review)
    return book.to_bytes()


def _moment(review: Review) -> datetime:
    # The format has no time zones.
    return datetime.combine(review.made_on, time(), UTC).replace(tzinfo=None)


def _decision(book: Workbook, review: Review) -> None:
    words = decision_words(review)
    sheet = book.sheet("Decision", (f"Procurement review {review.quarter.name}", ""), (52, 60))
    rows = [(fact.words, fact.value) for fact in words.facts]
    if review.is_example:
        rows.insert(0, ("An example", "demand, supply and teams are made up; the prices are real"))
    sheet.text(1, 0, words.take, Look.TITLE)
    sheet.text(2, 0, _cell(words.why), Look.WRAPPED)
    for place, (left, right) in enumerate(rows, start=4):
        sheet.text(place, 0, left, Look.WRAPPED)
        sheet.text(place, 1, right, Look.WRAPPED)
    row = len(rows) + 5
    sheet.text(row, 0, "Live, at the inputs of this workbook:", Look.HEAD)
    last = len(review.options) + 1
    npv = f"Options!$I$2:$I${last}"
    cheapest = f"INDEX(Options!$A$2:$A${last},MATCH(MIN({npv}),{npv},0))"
    best = min(option_rows(review), key=lambda each: _npv(review, each.line))
    sheet.text(row + 1, 0, "cheapest option")
    sheet.formula(row + 1, 1, cheapest, best.name, Look.PLAIN)
    taken, kept = review.taken, review.kept
    sheet.text(row + 2, 0, "what the recommendation saves against today's way, USD")
    saving = f"{kept.way.npv}-{taken.way.npv}"
    sheet.formula(row + 2, 1, saving, float(kept.npv - taken.npv), Look.MONEY)
    sheet.text(row + 4, 0, f"Budget for {review.outlook.quarter}")
    sheet.text(row + 4, 1, _cell(outlook_words(review)), Look.WRAPPED)


def _options(book: Workbook, review: Review) -> None:
    years = [f"end of year {year}" for year in range(1, YEARS + 1)]
    titles = (
        "Option",
        "Where",
        "Devices",
        "at the start, USD",
        *(f"{year}, USD" for year in years),
        "sum, USD",
        "worth today, USD",
        "USD per useful hour",
        "drawn: worth today, 5 %",
        "drawn: median",
        "drawn: 95 %",
        "drawn: best in",
        "drawn: cheaper than today in",
    )
    sheet = book.sheet("Options", titles, (28, 34, 9, *[15] * 12))
    for row, shown in enumerate(option_rows(review), start=1):
        facts = next(one for one in review.options if one.outcome.way.npv == shown.line)
        outcome, way = facts.outcome, facts.outcome.way
        sheet.text(row, 0, shown.name)
        sheet.text(row, 1, _cell(way.where))
        if way.devices is not None:
            sheet.formula(row, 2, f"{way.key}_devices", way.devices, Look.NUMBER)
        # Payments are whole cents, so that what is shown adds up to the sum that is shown.
        paid = paid_cents(outcome)
        for column, (name, usd) in enumerate(zip(way.paid, paid, strict=True), start=3):
            sheet.formula(row, column, f"ROUND({name},2)", float(usd), Look.MONEY)
        whole = float(sum(paid, Decimal(0)))
        sheet.formula(row, 7, f"SUM(D{row + 1}:G{row + 1})", whole, Look.MONEY)
        sheet.formula(row, 8, way.npv, float(outcome.npv), Look.MONEY)
        if outcome.hour is not None:
            hour = f"{way.npv}/{NEED_WORTH}"
            sheet.formula(row, 9, hour, float(outcome.hour), Look.NUMBER)
        for column, usd in enumerate(outcome.npv_band, start=10):
            sheet.number(row, column, float(usd), Look.MONEY)
        sheet.number(row, 13, outcome.chance_best, Look.SHARE)
        sheet.number(row, 14, outcome.chance_cheaper, Look.SHARE)


def _inputs(book: Workbook, review: Review) -> None:
    titles = (
        "n", "Input", "Name", "low", "most likely (change this)", "high", "Unit", "Basis", "As of",
        "Source",
    )  # fmt: skip
    sheet = book.sheet("Inputs", titles, _WIDTHS)
    rows = zip(input_rows(review), review.model.inputs, strict=True)
    for row, (shown, each) in enumerate(rows, start=1):
        sheet.number(row, 0, shown.number)
        sheet.text(row, 1, _cell(shown.words))
        sheet.text(row, 2, each.name)
        sheet.number(row, 3, float(each.low), Look.NUMBER)
        sheet.number(row, INPUT_COLUMN, float(each.mode), Look.ENTRY)
        sheet.number(row, 5, float(each.high), Look.NUMBER)
        for column, text in enumerate(
            (shown.unit, shown.basis, shown.as_of, shown.source), start=6
        ):
            sheet.text(row, column, _cell(text))
        book.name(each.name, f"Inputs!$E${row + 1}")


def _model(book: Workbook, review: Review) -> None:
    titles = ("Line", "What", "Formula", "Value", "Unit")
    sheet = book.sheet("Model", titles, (24, 60, 80, 20, 10))
    likely = at_modes(review.model)
    for row, line in enumerate(review.model.lines, start=1):
        sheet.text(row, 0, line.name)
        sheet.text(row, 1, _cell(line.words))
        sheet.text(row, 2, line.formula)
        form = Look.MONEY if line.unit == "USD" else Look.NUMBER
        value = float(likely[line.name][0])
        sheet.formula(row, LINE_COLUMN, line.formula, value, form)
        sheet.text(row, 4, line.unit)
        book.name(line.name, f"Model!$D${row + 1}")


def _forecast(book: Workbook, review: Review) -> None:
    names = (f"P{round(100 * share)}" for share in QUANTILES)
    titles = ("Quantity", "Period", *names, "P90 less P50: contingency")
    sheet = book.sheet("Forecast", titles, (16, 14, *[18] * 6))
    found = review.demand.forecast
    if isinstance(found, Unknown):
        sheet.text(1, 0, unknown_words(found))
        return
    row = 1
    for forecast in found.forecasts:
        look = Look.MONEY if forecast.quantity is Quantity.USD else Look.NUMBER
        for name, quantiles in named_periods(forecast):
            sheet.text(row, 0, unit_of(forecast))
            sheet.text(row, 1, name)
            for column, amount in enumerate(quantiles, start=2):
                sheet.number(row, column, amount, look)
            sheet.formula(row, 7, f"G{row + 1}-E{row + 1}", quantiles[-1] - quantiles[2], look)
            row += 1


def _projected(book: Workbook, review: Review) -> None:
    titles = (
        "Workload", "Measured on", "Day", "Projected onto", "Provenance", "times as fast", "low",
        "high", "Price", "As of", "USD per million units", "low", "high",
    )  # fmt: skip
    sheet = book.sheet("Projected", titles, (40, 16, 12, 16, 14, 14, 12, 12, 40, 12, 18, 14, 14))
    found = review.performance.projection
    if isinstance(found, Unknown):
        sheet.text(1, 0, unknown_words(found))
        return
    rows = ((one, cost) for one in found for cost in one.costs or (None,))
    for row, (one, cost) in enumerate(rows, start=1):
        _projected_row(sheet, row, one)
        if cost is not None:
            sheet.text(row, 8, _cell(cost.rate.label))
            sheet.text(row, 9, cost.rate.as_of.isoformat())
            for column, usd in enumerate((cost.usd, cost.low, cost.high), start=10):
                sheet.number(row, column, float(usd))


def _projected_row(sheet: Sheet, row: int, one: ProjectedSpeed) -> None:
    texts = (one.workload, one.source, one.day.isoformat(), one.device, PROJECTED)
    for column, text in enumerate(texts):
        sheet.text(row, column, _cell(text))
    match one.projection:
        case NotProjected():
            sheet.text(row, 5, _cell(one.projection.why))
        case Projection():
            speeds = (one.projection.speed, one.projection.low, one.projection.high)
            for column, speed in enumerate(speeds, start=5):
                sheet.number(row, column, speed)


def _allocation(book: Workbook, review: Review) -> None:
    titles = (
        "Team", "Project", "device-hours", "direct, USD", "idle, USD", "overhead, USD",
        "together, USD",
    )  # fmt: skip
    sheet = book.sheet("Allocation", titles, (40, 30, *[18] * 5))
    found = review.allocation
    if not isinstance(found, Allocation):
        sheet.text(1, 0, unknown_words(found))
        return
    for row, one in enumerate(found.rows, start=1):
        sheet.text(row, 0, _cell(team_words(one)))
        sheet.text(row, 1, _cell(one.project) if one.project else "")
        sheet.number(row, 2, float(one.hours), Look.NUMBER)
        for column, part in enumerate(Part, start=3):
            sheet.number(row, column, float(one.usd_of(part)), Look.MONEY)
        whole = float(one.total_usd)
        sheet.formula(row, 6, f"SUM(D{row + 1}:F{row + 1})", whole, Look.MONEY)
    last = len(found.rows)
    sheet.text(last + 1, 0, "the bill")
    sums = (found.used_hours, *map(found.sum_of, Part), found.effective_usd)
    for column, (letter, together) in enumerate(zip("CDEFG", sums, strict=True), start=2):
        formula = f"SUM({letter}2:{letter}{last + 1})"
        sheet.formula(last + 1, column, formula, float(together), Look.SUM)
    for row, sentence in enumerate(allocation_sentences(found), start=last + 3):
        sheet.text(row, 0, _cell(sentence))


def _notes(book: Workbook, review: Review) -> None:
    sheet = book.sheet(
        "Notes", ("Kind", "What", "Why, or from where", "How, or SHA-256"), (12, 60, 48, 40)
    )
    rows = [("not known", one.what, one.why, one.how) for one in review.unknowns]
    rows += [(str(one.basis), one.what, "", "") for one in review.risks]
    rows += [
        ("source", one.what, f"{one.origin} {one.as_of}".strip(), one.sha256)
        for one in review.sources
    ]
    rows.append(
        ("draws", f"{review.draws:,} draws, seed {review.seed}", "PERT by input's name", "")
    )
    rows += [("forecast", sentence, "", "") for sentence in _told_ahead(review)]
    for row, cells in enumerate(rows, start=1):
        for column, text in enumerate(cells):
            sheet.text(row, column, _cell(text) if text else "", Look.WRAPPED)


def _told_ahead(review: Review) -> tuple[str, ...]:
    found = review.demand.forecast
    if isinstance(found, Unknown):
        return ()
    return (*forecast_sentences(found), *forecast_notes(found))


def _npv(review: Review, line: str) -> Decimal:
    return next(one.outcome.npv for one in review.options if one.outcome.way.npv == line)


def _cell(text: str) -> str:
    return clean(text, limit=MAX_TEXT)
