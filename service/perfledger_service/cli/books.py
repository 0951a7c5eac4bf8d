"""The flags that say which prices count in, those prices and inputs out."""

from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.settings import PriceSettings, price_settings
from perfledger_service.usecases.price_books import Books, read_books

PricesFile = Annotated[
    Path | None,
    typer.Option("--prices", help="what `prices update` wrote (or PERFLEDGER_PRICES)"),
]
OverridesFile = Annotated[
    Path | None,
    typer.Option(
        "--overrides", help="own prices and inputs, TOML or CSV (or PERFLEDGER_OVERRIDES)"
    ),
]
Contract = Annotated[
    Path | None,
    typer.Option("--contract", help="a contract's prices, TOML or CSV (or PERFLEDGER_CONTRACT)"),
]


def books_of(prices: Path | None, overrides: Path | None, contract: Path | None) -> Books:
    """Return the prices and inputs that count, by these flags and else by the environment."""
    return read_books(layers_of(prices, overrides, contract))


def layers_of(prices: Path | None, overrides: Path | None, contract: Path | None) -> PriceSettings:
    """Return where the prices and inputs that count are, by these flags and the environment."""
    flags = {"prices": prices, "overrides": overrides, "contract": contract}
    given = {name: str(path) for name, path in flags.items() if path is not None}
    return price_settings().model_copy(update=given)
