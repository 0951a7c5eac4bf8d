"""Price sheets and ways to get hours in, what is wrong with them and what an hour costs out."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from perfledger_cost_models.age import age_warnings, shelf_of
from perfledger_cost_models.comparison import (
    BreakEven,
    Option,
    bought_option,
    break_even,
    compare,
    owned_option,
    tornado,
    yearly_parts,
)
from perfledger_cost_models.onprem import SERVERS, Server
from perfledger_cost_models.parameter import ParameterSheet, packaged_parameters
from perfledger_cost_models.price_check import SheetCheck, check_sheet
from perfledger_cost_models.purchase import mode_of
from perfledger_cost_models.sheet import (
    Price,
    PriceMissingError,
    PriceSheet,
    PricingModel,
    packaged_sheet,
    packaged_text,
    read_sheet,
)
from perfledger_cost_models.table import MAX_SHEET_CHARS
from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.text_files import read_text
from perfledger_service.usecases.translating import translated
from perfledger_service.views import CostRow, CostView, OwningView

# UTF-8 takes at most four bytes a character.
MAX_SHEET_BYTES = 4 * MAX_SHEET_CHARS


def check_prices(path: Path | None, *, previous: Path | None = None) -> SheetCheck:
    """Check a price list, or the packaged one; `previous` is held against it for large steps.

    Raises NotFoundError, TooLargeError, UsageError and what a sheet that is no table raises.
    """
    text = packaged_text() if path is None else read_text(path, most_bytes=MAX_SHEET_BYTES)
    name = packaged_sheet().name if path is None else path.name
    with translated():
        before = None if previous is None else _sheet(previous)
        return check_sheet(text, name, previous=before)


def compare_costs(accelerator: str, *, use: float, today: date) -> CostView:
    """Return what a useful hour of an accelerator costs on every option that is known for it.

    `use` is the share of hours that are useful: what is committed to or owned is paid for all
    hours, what is bought by the hour for the useful ones. Raises NotFoundError for an accelerator
    without a price, and UsageError.
    """
    parameters = packaged_parameters()
    prices = _newest(accelerator)
    servers = [server for server in SERVERS if server.accelerator == accelerator]
    if not prices and not servers:
        known = sorted({price.accelerator for price in packaged_sheet().prices})
        msg = f"no price for an accelerator {accelerator!r}: there are {', '.join(known)}"
        raise NotFoundError(msg)
    with translated():
        owned = [owned_option(server, parameters, use=use) for server in servers]
        bought = [_bought(price, parameters, use) for price in prices]
        found = compare([*owned, *bought])
    by_name = {_name(price): price for price in prices}
    owner = servers[0] if servers else None
    return CostView(
        accelerator=accelerator,
        use=use,
        rows=tuple(
            CostRow(
                cost=cost,
                price=by_name.get(cost.name),
                break_even=_break_even(owner, by_name.get(cost.name), parameters),
                warnings=_warnings(by_name.get(cost.name), today),
            )
            for cost in found
        ),
        assumed=tuple(dict.fromkeys(words for option in owned for words in option.assumed)),
    )


def owning(option: str, *, use: float) -> OwningView:
    """Return what owning a server costs a year and what its useful hour depends on.

    Raises NotFoundError for a server that is not known, UsageError for a use that is no share.
    """
    server = next((one for one in SERVERS if one.option == option), None)
    if server is None:
        msg = f"no server {option!r}: there are {', '.join(one.option for one in SERVERS)}"
        raise NotFoundError(msg)
    sheet = packaged_parameters()
    with translated():
        (hour,) = compare([owned_option(server, sheet, use=use)])
        return OwningView(
            label=server.label,
            accelerators=server.accelerators,
            use=use,
            parts=yearly_parts(server, sheet, use=use),
            hour=hour,
            bars=tornado(server, sheet, use=use),
        )


def _sheet(path: Path) -> PriceSheet:
    return read_sheet(read_text(path, most_bytes=MAX_SHEET_BYTES), path.name)


def _newest(accelerator: str) -> tuple[Price, ...]:
    """Return the newest trusted price of each option that can be bought, in one region each."""
    sheet = packaged_sheet()
    found: dict[str, Price] = {}
    for price in sheet.prices:
        is_bought = price.pricing_model is not PricingModel.MARKET_INDEX and price.is_trusted
        if price.accelerator != accelerator or not is_bought or _name(price) in found:
            continue
        try:
            found[_name(price)] = sheet.find(_name(price))
        except PriceMissingError:  # it is not sold in the reference region
            found[_name(price)] = sheet.find(f"{_name(price)}@{price.region}")
    return tuple(found.values())


def _bought(price: Price, parameters: ParameterSheet, use: float) -> Option:
    mode = mode_of(price)
    option = bought_option(mode, parameters, use=use, accelerator=price.accelerator)
    return replace(option, name=_name(price))


def _break_even(
    owner: Server | None, price: Price | None, parameters: ParameterSheet
) -> BreakEven | None:
    if owner is None or price is None:
        return None
    return break_even(owner, parameters, usd_per_hour=float(price.usd_per_device_hour))


def _warnings(price: Price | None, today: date) -> tuple[str, ...]:
    if price is None:
        return ()
    shelf = shelf_of(price.pricing_model)
    return age_warnings(price.as_of, today=today, shelf=shelf, is_read_date=price.is_read_date)


def _name(price: Price) -> str:
    return f"{price.provider}:{price.option}"
