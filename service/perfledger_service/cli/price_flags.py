"""Defines the options for prices and hardware inputs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.option_groups import how
from perfledger_service.cli.option_values import refuse_unused, today

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_cost_models.prices.price_sheet import PriceSheet
    from perfledger_cost_models.quote import HourlyRate
    from perfledger_service.settings.service import PriceSettings
    from perfledger_service.usecases.inputs.price_books import PriceBooks


WITHOUT_OPTION = "without --purchase-option nothing is priced: give it, or leave the files out"


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
    def _paths(self) -> dict[str, str]:
        """Return the given files by their setting."""
        flags = {
            "prices": self.prices,
            "overrides": self.overrides,
            "contract": self.contract,
            "exchange_rates": self.exchange_rates,
        }
        return {name: str(path) for name, path in flags.items() if path is not None}

    @property
    def flags(self) -> dict[str, bool]:
        """Return the flags of the given files, for `refuse_unused`."""
        return {f"--{name.replace('_', '-')}": True for name in self._paths}

    @property
    def settings(self) -> "PriceSettings":
        """Return the price settings of these options, else of the environment."""
        from perfledger_service.settings.service import price_settings

        return price_settings().model_copy(update=self._paths)

    @property
    def books(self) -> "PriceBooks":
        """Return the prices and inputs that apply; name the rows that are left out."""
        return self._books(is_before_tax=False)

    @property
    def sheet_before_tax(self) -> "PriceSheet":
        """Return the prices that apply without tax, to compare a bill with; else as `books`."""
        return self._books(is_before_tax=True).sheet

    def _books(self, *, is_before_tax: bool) -> "PriceBooks":
        from rich.console import Console

        from perfledger_service.rendering.prices.rejected import rejected_lines
        from perfledger_service.usecases.inputs.price_books import read_price_books

        books = read_price_books(self.settings, today=today(), is_before_tax=is_before_tax)
        for line in rejected_lines(books.sheet.rejected):
            Console(stderr=True).print(line, markup=False, highlight=False)
        return books

    def rate_of(self, option: str | None) -> "HourlyRate | None":
        """Return the rate of a purchase option, None without one.

        Raises NotFoundError for one without a price, UsageError for files that price nothing.
        """
        from perfledger_cost_models.tco.hourly_rates import rate_of
        from perfledger_service.usecases.inputs.error_translation import translate_errors

        if option is None:
            refuse_unused(self.flags, WITHOUT_OPTION)
            return None
        with translate_errors():
            return rate_of(self.books.sheet, option, today=today())
