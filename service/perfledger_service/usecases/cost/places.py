"""Finds the purchase options of the places that a user names: machines, providers, on-premises."""

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


def places_of(text: str) -> tuple[str, ...]:
    """Return the places in a comma-separated text."""
    return tuple(place for part in text.split(",") if (place := part.strip()))


def is_server_at(server: ServerSpec, places: Sequence[str]) -> bool:
    """Return whether a server is at one of the places, or no places are given."""
    names = {ON_PREM, server.option.casefold()}
    return not places or any(place.casefold() in names for place in places)


def is_priced_at(price: Price | UnknownPrice | RejectedPrice, places: Sequence[str]) -> bool:
    """Return whether a price belongs to one of the places, or no places are given.

    A place is a provider, a machine (p5.48xlarge), the beginning of its name (p5, a3, tpu), or a
    whole option (p5.48xlarge/on_demand); a provider may stand before it (aws:p5).
    """
    return not places or any(_is_at(price, place.casefold()) for place in places)


def accelerators_at(
    sheet: PriceSheet, servers: Sequence[ServerSpec], places: Sequence[str]
) -> tuple[str, ...]:
    """Return the accelerators of the places, each once; raises NotFoundError for an unknown one."""
    accelerators: dict[str, None] = {}
    listed: list[Price | UnknownPrice | RejectedPrice]
    listed = [*sheet.prices, *sheet.unknown, *sheet.rejected]
    for place in places:
        owned = [each.accelerator for each in servers if is_server_at(each, (place,))]
        rented = [
            each.accelerator
            for each in listed
            if is_priced_at(each, (place,)) and not _is_index(each)
        ]
        if not owned and not rented:
            raise NotFoundError(_unknown_place(sheet, place))
        accelerators |= dict.fromkeys([*owned, *rented])
    return tuple(accelerators)


def _is_at(price: Price | UnknownPrice | RejectedPrice, place: str) -> bool:
    option = price.option.casefold()
    sku, provider = option.partition("/")[0], price.provider.casefold()
    named = place.removeprefix(f"{provider}:")
    return (
        place == provider
        or named in {sku, option}
        or (sku.startswith(named) and bool(named) and not sku[len(named)].isalnum())
    )


def _is_index(price: Price | UnknownPrice | RejectedPrice) -> bool:
    return price.option.partition("/")[2].startswith(PricingModel.MARKET_INDEX)


def _unknown_place(sheet: PriceSheet, place: str) -> str:
    machines = sorted({price.sku.partition(".")[0] for price in sheet.prices if "." in price.sku})
    providers = sorted({price.provider for price in sheet.prices})
    return (
        f"no price at {place!r}: name {ON_PREM}, a machine ({', '.join(machines)}, tpu-v4, ...), a "
        f"provider ({', '.join(providers)}) or an option such as p5.48xlarge/on_demand"
    )
