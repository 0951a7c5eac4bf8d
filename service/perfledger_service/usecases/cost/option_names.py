"""Selects purchase options by name: of a provider, of a machine, on-premises."""

from collections.abc import Sequence

from perfledger_cost_models.prices.price_sheet import (
    Price,
    PriceSheet,
    PricingModel,
    RejectedPrice,
    UnknownPrice,
)
from perfledger_cost_models.tco.onprem import ServerSpec
from perfledger_service.errors import NotFoundError

ON_PREM = "on-prem"


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated text."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def is_server_named(server: ServerSpec, names: Sequence[str]) -> bool:
    """Return whether one of the names is the server's, or no names are given."""
    own_names = {ON_PREM, server.option.casefold()}
    return not names or any(name.casefold() in own_names for name in names)


def is_price_named(price: Price | UnknownPrice | RejectedPrice, names: Sequence[str]) -> bool:
    """Return whether one of the names is the price's, or no names are given.

    The name is a provider, a machine (p5.48xlarge), the beginning of its name (p5, a3, tpu), or a
    whole option (p5.48xlarge/on_demand); a provider may stand before it (aws:p5).
    """
    return not names or any(_is_named(price, name.casefold()) for name in names)


def accelerators_named(
    sheet: PriceSheet, servers: Sequence[ServerSpec], names: Sequence[str]
) -> tuple[str, ...]:
    """Return the accelerators of the named options, once each.

    Raises NotFoundError for a name that no price and no server has.
    """
    accelerators: dict[str, None] = {}
    listed: list[Price | UnknownPrice | RejectedPrice]
    listed = [*sheet.prices, *sheet.unknown, *sheet.rejected]
    for name in names:
        owned = [each.accelerator for each in servers if is_server_named(each, (name,))]
        rented = [
            each.accelerator
            for each in listed
            if is_price_named(each, (name,)) and not _is_index(each)
        ]
        if not owned and not rented:
            raise NotFoundError(_unknown_name(sheet, name))
        accelerators |= dict.fromkeys([*owned, *rented])
    return tuple(accelerators)


def _is_named(price: Price | UnknownPrice | RejectedPrice, name: str) -> bool:
    option = price.option.casefold()
    sku, provider = option.partition("/")[0], price.provider.casefold()
    named = name.removeprefix(f"{provider}:")
    return (
        name == provider
        or named in {sku, option}
        or (sku.startswith(named) and bool(named) and not sku[len(named)].isalnum())
    )


def _is_index(price: Price | UnknownPrice | RejectedPrice) -> bool:
    return price.option.partition("/")[2].startswith(PricingModel.MARKET_INDEX)


def _unknown_name(sheet: PriceSheet, name: str) -> str:
    machines = sorted({price.sku.partition(".")[0] for price in sheet.prices if "." in price.sku})
    providers = sorted({price.provider for price in sheet.prices})
    return (
        f"no price at {name!r}: name {ON_PREM}, a machine ({', '.join(machines)}, tpu-v4, ...), a "
        f"provider ({', '.join(providers)}) or an option such as p5.48xlarge/on_demand"
    )
