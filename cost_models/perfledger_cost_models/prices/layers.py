"""Merges price sheets: packaged, fetched, an organisation's, a contract's."""

from bisect import bisect_left
from collections.abc import Container, Sequence
from dataclasses import replace

from perfledger_cost_models.prices.price_sheet import (
    OptionKey,
    Price,
    PriceSheet,
    RejectedPrice,
    UnknownPrice,
)
from perfledger_cost_models.quote import PriceLayer


def layer_sheets(sheets: Sequence[PriceSheet], *, name: str) -> PriceSheet:
    """Merge sheets: for each option and region the last sheet with a price counts.

    The order is packaged snapshot, fetched price service, organisation, contract.
    A price that is older than the one it replaces says so, unless it is an organisation's own.
    """
    prices: dict[OptionKey, list[Price]] = {}
    rejected: tuple[RejectedPrice, ...] = ()
    for sheet in sheets:
        sheet_prices: dict[OptionKey, list[Price]] = {}
        for price in sheet.prices:
            sheet_prices.setdefault(price.key, []).append(price)
        prices |= {
            key: _with_newer_below(same, prices.get(key, ())) for key, same in sheet_prices.items()
        }
        rejected = (*still_rejected(rejected, sheet_prices), *sheet.rejected)
    all_prices = tuple(price for same in prices.values() for price in same)
    return PriceSheet(
        name=name,
        prices=all_prices,
        unknown=unpriced_options(sheets, all_prices),
        rejected=rejected,
    )


def _with_newer_below(prices: list[Price], below: Sequence[Price]) -> list[Price]:
    """Return the prices of an option, marked if the ones below them are newer, and others."""
    newest = max(prices, key=lambda price: price.recency)
    replaced = max(below, key=lambda price: price.recency, default=newest)
    is_other = replaced.newer_below is not None or replaced.usd_per_hour != newest.usd_per_hour
    newest_day = max(replaced.as_of, replaced.newer_below or replaced.as_of)
    if not is_other or newest_day <= newest.as_of or newest.layer is PriceLayer.OVERRIDE:
        return prices
    return [replace(price, newer_below=newest_day) for price in prices]


def still_rejected(
    rejected: Sequence[RejectedPrice], keys: Container[OptionKey]
) -> tuple[RejectedPrice, ...]:
    """Return the rejected rows of lower layers for which a higher one has no price."""
    return tuple(each for each in rejected if each.key not in keys)


def unpriced_options(
    sheets: Sequence[PriceSheet], prices: Sequence[Price]
) -> tuple[UnknownPrice, ...]:
    """Return the options that no sheet prices, each once: "1y" also covers 1y_no_upfront."""
    priced = sorted((price.provider, price.region, price.option) for price in prices)
    unknown_prices = {each.key: each for sheet in sheets for each in sheet.unknown}
    return tuple(each for each in unknown_prices.values() if not _is_among(priced, each))


def _is_among(priced: Sequence[tuple[str, str, str]], unknown: UnknownPrice) -> bool:
    """Return whether a sorted option equals its region's unknown one or is more specific."""
    key = (unknown.provider, unknown.region, unknown.option)
    if key in _next(priced, key):
        return True
    prefix = (*key[:2], f"{unknown.option}_")
    return any(
        place[:2] == prefix[:2] and place[2].startswith(prefix[2])
        for place in _next(priced, prefix)
    )


def _next(
    priced: Sequence[tuple[str, str, str]], key: tuple[str, str, str]
) -> Sequence[tuple[str, str, str]]:
    """Return the first of the sorted options at or after a key, if there is one."""
    start = bisect_left(priced, key)
    return priced[start : start + 1]
