"""Defines the options for prices and hardware inputs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.option_groups import how
from perfledger_service.cli.option_values import today
from perfledger_service.errors import NotFoundError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_cost_models.quote import HourlyRate
    from perfledger_service.settings.service import PriceSettings
    from perfledger_service.usecases.inputs.price_books import PriceBooks


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFlags:
    """Files with prices and inputs that replace the packaged ones."""

    prices: Annotated[
        Path | None,
        how("a sheet written by `prices update` (or PERFLEDGER_PRICES)", metavar="FILE"),
    ] = None
    overrides: Annotated[
        Path | None,
        how("your own prices and inputs, TOML or CSV (or PERFLEDGER_OVERRIDES)", metavar="FILE"),
    ] = None
    contract: Annotated[
        Path | None,
        how("a contract's prices, TOML or CSV (or PERFLEDGER_CONTRACT)", metavar="FILE"),
    ] = None

    exchange_rates: Annotated[
        Path | None,
        how("the ECB's table of rates, CSV (or PERFLEDGER_EXCHANGE_RATES)", metavar="FILE"),
    ] = None

    @property
    def settings(self) -> "PriceSettings":
        """Return the price settings of these options, else of the environment."""
        from perfledger_service.settings.service import price_settings

        flags = {
            "prices": self.prices,
            "overrides": self.overrides,
            "contract": self.contract,
            "exchange_rates": self.exchange_rates,
        }
        paths = {name: str(path) for name, path in flags.items() if path is not None}
        return price_settings().model_copy(update=paths)

    @property
    def books(self) -> "PriceBooks":
        """Return the prices and inputs that apply; name the rows that are left out."""
        from rich.console import Console

        from perfledger_service.rendering.prices.rejected import rejected_lines
        from perfledger_service.usecases.inputs.price_books import read_price_books

        books = read_price_books(self.settings, today=today())
        for line in rejected_lines(books.sheet.rejected):
            Console(stderr=True).print(line, markup=False, highlight=False)
        return books

    def rate_of(self, option: str | None) -> "HourlyRate | None":
        """Return the rate of a purchase option, None without one; raises NotFoundError."""
        from perfledger_cost_models.prices.price_sheet import PriceMissingError
        from perfledger_cost_models.tco.hourly_rates import rate_of

        if option is None:
            return None
        try:
            return rate_of(self.books.sheet, option, today=today())
        except PriceMissingError as error:
            raise NotFoundError(str(error)) from error
