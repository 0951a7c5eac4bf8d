"""Forecasts device-hours and spend."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_cost_models.forecasting.calendar_periods import PeriodLength
from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import Source, files_of
from perfledger_service.cli.option_groups import DAY, argument, how, what
from perfledger_service.cli.option_values import today, usd
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_cost_models.forecasting.forecast import SpendingBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFlags:
    """A budget; the forecast shows the day on which it is spent."""

    budget_usd: Annotated[
        str | None, what("budget: forecasts the day on which it is spent", metavar="USD")
    ] = None
    budget_start: Annotated[
        datetime | None,
        what("first day of the budget", metavar=DAY, default="the first day of the forecast"),
    ] = None

    @property
    def budget(self) -> "SpendingBudget | None":
        """Return the budget, None without an amount; raises UsageError."""
        from perfledger_cost_models.forecasting.forecast import SpendingBudget

        if self.budget_usd is not None:
            since = None if self.budget_start is None else self.budget_start.date()
            return SpendingBudget(usd=usd(self.budget_usd, "--budget-usd"), since=since)
        if self.budget_start is not None:
            msg = "--budget-start needs --budget-usd"
            raise UsageError(msg)
        return None


@command(
    examples=(
        "perfledger fleet forecast history.csv",
        "perfledger fleet forecast history.csv --budget-usd 500000 --periods 12",
        "perfledger fleet forecast history.csv --format svg --output forecast.svg",
    )
)
def forecast(
    files: Annotated[
        list[Path] | None,
        argument(
            "accounting, metrics or bills as for `fleet hours`, or CSV: month,hours", metavar="FILE"
        ),
    ] = None,
    *,
    source: Source = None,
    budget: BudgetFlags,
    period: Annotated[
        PeriodLength | None, how("length of a period", default="month, or that of the table")
    ] = None,
    periods: Annotated[
        int | None, how("periods to forecast", metavar="COUNT", default="6 months or 13 weeks")
    ] = None,
    purchase_option: Annotated[
        str | None,
        how(
            "purchase option that prices the hours, such as p5.48xlarge/on_demand", metavar="OPTION"
        ),
    ] = None,
    price_flags: PriceFlags,
    output: ChartOutput,
) -> None:
    """Forecast device-hours and spend from past usage.

    The quantiles are as wide as the errors of the same forecast made from earlier dates.
    """
    from perfledger_service.rendering.fleet.forecast import forecast_document
    from perfledger_service.rendering.fleet.forecast_fan import forecast_svg
    from perfledger_service.usecases.fleet.forecast import ForecastRequest, forecast_files
    from perfledger_service.values.fleet_views import ImportKind

    output.write_document(
        forecast_files(
            files_of(files or (), source, ImportKind.USAGE),
            ForecastRequest(step=period, periods=periods, budget=budget.budget, today=today()),
            rate=price_flags.rate_of(purchase_option),
        ),
        forecast_document,
        svg=forecast_svg,
    )
