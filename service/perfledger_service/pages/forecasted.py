"""Turns forecasts of hours and money into terminal text, CSV and JSON, and sentences for who pays.

Nothing that others wrote reaches a page but as clean text.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from io import StringIO

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.forecast import (
    QUANTILES,
    BudgetDay,
    Forecast,
    Forecasts,
    Quantity,
)
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.period import Step
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean

# 1: first version. Keys are only ever added.
FORECAST_FORMAT = "perfledger-forecast"
VERSION = 1
_NAMES = tuple(f"p{round(100 * share)}" for share in QUANTILES)
_LOW, _MIDDLE, _HIGH = (_NAMES.index(name) for name in ("p10", "p50", "p90"))


def period_name(forecast: Forecast, number: int) -> str:
    """Return what a period is called: "2026-11", or a week's Monday."""
    start = forecast.calendar.start(number).isoformat()
    match forecast.calendar.step:
        case Step.MONTH:
            return start[:7]
        case Step.WEEK:
            return start


def forecast_text(view: Forecasts) -> Group:
    """Return the forecasts for a terminal of 80 columns, and the sentences to take away."""
    parts: list[RenderableType] = [Text(title(view), style="bold")]
    for forecast in view.forecasts:
        parts += [_grid(forecast), Text()]
    parts += [Text(sentence) for sentence in forecast_sentences(view)]
    parts += [Text(note, style="dim") for note in forecast_notes(view)]
    return Group(*parts)


def title(view: Forecasts) -> str:
    """Return what was forecast from what."""
    first = view.forecasts[0]
    count, ahead = len(first.past), len(first.periods)
    step = first.calendar.step
    until = period_name(first, count - 1)
    return f"{clean(view.name, limit=40)}: {count} {step}s to {until}, and the next {ahead}"


def forecast_sentences(view: Forecasts) -> tuple[str, ...]:
    """Return the sum of each forecast, and the budget's last day, in sentences for who pays."""
    return tuple(sentence for each in view.forecasts for sentence in _sentences(each))


def forecast_notes(view: Forecasts) -> Iterator[str]:
    """Yield how well the forecast told what came, and what it rests on."""
    first = view.forecasts[0]
    step = first.calendar.step
    for each in view.forecasts:
        tested = each.backtest
        if tested is None:
            yield f"{each.quantity}: the history is too short to go back and test the forecast."
            continue
        yield (
            f"Backtest of {each.quantity}: {tested.told} {step}s told at {tested.origins} earlier "
            f"times, {figures.whole_share(tested.coverage)} inside P10 to P90 (80 % should be); "
            f"pinball loss {figures.share(tested.loss)} of the mean {step}, seasonal naive "
            f"{figures.share(tested.naive_loss)}."
        )
    if len(first.past) < 2 * step.season:
        yield "The history has not two whole years: a year's course is not in the forecast."
    if view.rate is not None:
        yield f"USD at {view.rate.label}, as of {view.rate.as_of.isoformat()}."
        yield from (f"{view.rate.label}: {caveat}." for caveat in view.rate.caveats)


def forecast_csv(view: Forecasts) -> str:
    """Return a row a period, of the past its amount alone; the last row of each is the sum."""
    written = StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(("quantity", "period", "known", *_NAMES))
    for each in view.forecasts:
        count = len(each.past)
        for place, amount in enumerate(each.past):
            table.writerow((each.quantity, period_name(each, place), amount, *[""] * len(_NAMES)))
        for place, quantiles in enumerate(each.periods):
            table.writerow((each.quantity, period_name(each, count + place), "", *quantiles))
        table.writerow((each.quantity, "sum ahead", "", *each.total))
    return written.getvalue()


def forecast_json(view: Forecasts) -> str:
    """Return all figures as JSON; null where there is none."""
    document = {"format": FORECAST_FORMAT, "version": VERSION} | forecasts_document(view)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def forecasts_document(view: Forecasts) -> dict[str, object]:
    """Return all figures as a part of a JSON document."""
    return {
        "name": clean(view.name, limit=400),
        "rate": None if view.rate is None else view.rate.label,
        "usd_per_device_hour": None if view.rate is None else str(view.rate.usd_per_device_hour),
        "rate_as_of": None if view.rate is None else view.rate.as_of.isoformat(),
        "forecasts": [_document(each) for each in view.forecasts],
    }


def _grid(forecast: Forecast) -> Table:
    grid = Table.grid(padding=(0, 2))
    for justify in range(6):
        grid.add_column(justify="right" if justify else "left")
    heads = (f"P{name[1:]}" for name in _NAMES)
    unit = "device-hours" if forecast.quantity is Quantity.HOURS else "USD"
    grid.add_row(unit, *heads, style="dim")
    for place, quantiles in enumerate(forecast.periods):
        grid.add_row(period_name(forecast, len(forecast.past) + place), *map(_amount, quantiles))
    grid.add_row("together", *map(_amount, forecast.total), style="bold")
    return grid


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def _sentences(forecast: Forecast) -> Iterator[str]:
    low, middle, high = (forecast.total[place] for place in (_LOW, _MIDDLE, _HIGH))
    span = f"The next {len(forecast.periods)} {forecast.calendar.step}s"
    match forecast.quantity:
        case Quantity.HOURS:
            yield (
                f"{span} need {_amount(middle)} device-hours most likely, {_amount(low)} to "
                f"{_amount(high)} with four chances of five."
            )
        case Quantity.USD:
            budget, more = (
                figures.usd(to_decimal(round(usd, 2))) for usd in (middle, high - middle)
            )
            yield (
                f"{span} cost {budget} most likely (P50, the budget); a contingency of {more} on "
                "top is enough with nine chances of ten (P90)."
            )
    if forecast.budget is not None:
        yield _budget(forecast.budget, forecast.calendar.start(len(forecast.past)))


def _budget(found: BudgetDay, ahead: date) -> str:
    """Return when the budget is spent; `ahead` is the first day that is forecast."""
    early, middle, late = found.days
    since = "" if found.budget.since is None else f" since {found.budget.since.isoformat()}"
    words = f"The budget of {figures.usd(found.budget.usd)}{since}"
    if found.budget.since is not None:
        words += f", of which {figures.usd(to_decimal(found.spent_usd))} is spent,"
    if early is not None and early < ahead:
        return f"{words} was spent on {early.isoformat()}."
    if middle is None:
        first = "" if early is None else f", and no sooner than {early.isoformat()} (P10)"
        return (
            f"{words} lasts beyond what is forecast most likely{first}: "
            f"{figures.share(found.chance)} chance of being spent by then."
        )
    if early == late:
        return f"{words} is spent on {middle.isoformat()}."
    between = f"{_day(early)} to {_day(late)}"
    return f"{words} is spent on {middle.isoformat()} most likely ({between}, P10 to P90)."


def _day(day: date | None) -> str:
    return "later than is forecast" if day is None else day.isoformat()


def _document(forecast: Forecast) -> dict[str, object]:
    count = len(forecast.past)
    return {
        "quantity": forecast.quantity,
        "step": forecast.calendar.step,
        "past": [
            {"period": period_name(forecast, place), "amount": amount}
            for place, amount in enumerate(forecast.past)
        ],
        "periods": [
            {"period": period_name(forecast, count + place)}
            | dict(zip(_NAMES, quantiles, strict=True))
            for place, quantiles in enumerate(forecast.periods)
        ],
        "total": dict(zip(_NAMES, forecast.total, strict=True)),
        "has_trend": forecast.has_trend,
        "has_season": forecast.has_season,
        "stretch": forecast.stretch,
        "origins": forecast.origins,
        "backtest": None
        if forecast.backtest is None
        else asdict(forecast.backtest) | {"coverage": forecast.backtest.coverage},
        "budget": None if forecast.budget is None else _budget_document(forecast.budget),
    }


def _budget_document(found: BudgetDay) -> dict[str, object]:
    since = found.budget.since
    return {
        "usd": str(found.budget.usd),
        "since": None if since is None else since.isoformat(),
        "spent_usd": str(Decimal(repr(found.spent_usd))),
        "days": dict(
            zip(
                ("p10", "p50", "p90"),
                (None if day is None else day.isoformat() for day in found.days),
                strict=True,
            )
        ),
        "chance": found.chance,
    }
