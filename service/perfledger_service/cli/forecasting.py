"""Commands about what is coming: hours, money, and when a job that can wait had best start."""

from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.forecast import Budget
from perfledger_cost_models.period import Step
from perfledger_cost_models.start_window import Aim
from perfledger_cost_models.usage import moment
from perfledger_service.cli.checking import Output
from perfledger_service.cli.inputs import Store, given_files
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.fan_plot import forecast_svg
from perfledger_service.pages.forecasted import forecast_csv, forecast_json, forecast_text
from perfledger_service.pages.windows import window_csv, window_json, window_svg, window_text
from perfledger_service.usecases.forecasting import Ahead, find_window, forecast_files
from perfledger_service.usecases.translating import translated
from perfledger_service.views import ImportKind


class ForecastFormat(StrEnum):
    """How a forecast, or a window, is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


_Form = Annotated[ForecastFormat, typer.Option("--format", help="how to write it; svg draws")]


def cost_forecast(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="accounting, metrics or bills as of cost fleet, or CSV: month,hours"),
    ] = None,
    *,
    store: Store = None,
    step: Annotated[
        Step | None, typer.Option(help="month or week (default: month; a table says itself)")
    ] = None,
    ahead: Annotated[
        int | None, typer.Option(help="how many periods (default: 6 months or 13 weeks)")
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="where hours are bought: p5.48xlarge/on_demand")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="USD: say when it is spent")] = None,
    budget_from: Annotated[
        str | None, typer.Option(help="the budget's first day (default: the first one ahead)")
    ] = None,
    form: _Form = ForecastFormat.TABLE,
    output: Output = None,
) -> None:
    """Say how many device-hours the next months or weeks need, and what they cost.

    Quantiles are as wide as the same forecasts, made earlier, were off.
    """
    if budget is None and budget_from is not None:
        msg = "--budget-from is of a budget: give --budget too"
        raise UsageError(msg)
    found = forecast_files(
        given_files(files or (), store, ImportKind.USAGE),
        Ahead(
            step=step,
            periods=ahead,
            budget=None if budget is None else Budget(usd=_usd(budget), since=_day(budget_from)),
        ),
        option=at,
        today=datetime.now(UTC).date(),
    )
    match form:
        case ForecastFormat.TABLE:
            show_table(forecast_text(found), output)
        case ForecastFormat.JSON:
            show_text(forecast_json(found), output)
        case ForecastFormat.CSV:
            show_text(forecast_csv(found), output)
        case ForecastFormat.SVG:
            show_text(forecast_svg(found), output)


def cost_window(
    series: Annotated[
        Path, typer.Argument(help="CSV: time, and kg_per_kwh, g_per_kwh or usd_per_hour")
    ],
    *,
    hours: Annotated[float, typer.Option(help="how long the job runs")],
    deadline: Annotated[
        str | None, typer.Option(help="when it has to be done, such as 2026-11-24T08:00Z")
    ] = None,
    earliest: Annotated[
        str | None, typer.Option(help="when it could start (default: where the file begins)")
    ] = None,
    kw: Annotated[
        float | None, typer.Option(help="what it draws, facility included: for kilograms")
    ] = None,
    pause: Annotated[
        float | None, typer.Option(help="it may pause, which takes so many minutes each time")
    ] = None,
    least: Annotated[
        Aim | None, typer.Option(help="usd or kg (default: usd, where the file has prices)")
    ] = None,
    form: _Form = ForecastFormat.TABLE,
    output: Output = None,
) -> None:
    """Say when a job that can wait emits or costs least, and what that saves."""
    found = find_window(
        series,
        hours=hours,
        earliest=_moment(earliest),
        deadline=_moment(deadline),
        kw=kw,
        pause_hours=None if pause is None else pause / 60,
        aim=least,
    )
    match form:
        case ForecastFormat.TABLE:
            show_table(window_text(found), output)
        case ForecastFormat.JSON:
            show_text(window_json(found), output)
        case ForecastFormat.CSV:
            show_text(window_csv(found), output)
        case ForecastFormat.SVG:
            show_text(window_svg(found), output)


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation as error:
        msg = f"--budget is {text[:40]!r}: write USD as 500000"
        raise UsageError(msg) from error


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as error:
        msg = f"--budget-from is {text!r:.40}: write a day as 2026-11-01"
        raise UsageError(msg) from error


def _moment(text: str | None) -> datetime | None:
    """Return a moment as ISO 8601 writes it; without a zone it is UTC."""
    if text is None:
        return None
    with translated():
        return datetime.fromtimestamp(moment(text, "a moment that was asked for"), UTC)
