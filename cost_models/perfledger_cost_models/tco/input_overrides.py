"""Applies an organisation's own hardware inputs and servers to the packaged ones."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal

from perfledger.rounding import decimals
from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.contract import (
    OverrideError,
    OwnHardwareInput,
    PriceOverrides,
    PurchaseTax,
)
from perfledger_cost_models.prices.exchange_rates import ExchangeRate
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.source_address import named_address
from perfledger_cost_models.tco.hardware_inputs import HardwareInput, HardwareInputSheet
from perfledger_cost_models.tco.onprem import ServerSpec, owned_rate
from perfledger_cost_models.units import USD

# Units of hardware inputs without purchase tax: wages, and resale, which does not refund the tax.
WAGES, RESALE = "USD/FTE-year", "of price"
_CURRENCY = re.compile(r"[A-Z]{3}(?=/|$)")  # at the start of a unit: "CHF/kWh"


def apply_own_inputs(
    sheet: HardwareInputSheet, overrides: PriceOverrides, *, name: str
) -> HardwareInputSheet:
    """Return the inputs with the organisation's own in place of the packaged, at high confidence.

    Tax applies to everything that is bought, as it does to prices: not to wages, and resale does
    not bring it back. Figures in another currency are converted by its [[exchange]] rate. Raises
    OverrideError for an input given twice, a new one without a unit, another unit than the packaged
    one's, a currency without a rate, and a share above 1.
    """
    own_inputs: dict[str, HardwareInput] = {}
    published = {each.name: each for each in sheet.parameters}
    for each in overrides.parameter:
        if each.name in own_inputs:
            msg = f"the overrides give the input {each.name!r} twice: remove one"
            raise OverrideError(msg)
        unit = each.unit or (published[each.name].unit if each.name in published else "")
        if not unit:
            msg = f"{each.name!r} is not a packaged input: correct its name, or give its unit"
            raise OverrideError(msg)
        own_input = _own_input(each, unit)
        expected = published[each.name].unit if each.name in published else ""
        if unit != expected:
            own_input = _in_usd(own_input, overrides.exchange)
        if expected and own_input.unit != expected:
            msg = f"{each.name} is in {unit!r}, not in {expected!r}: convert it"
            raise OverrideError(msg)
        if own_input.share_problem:
            raise OverrideError(own_input.share_problem)
        own_inputs[each.name] = own_input
    parameters = tuple((published | own_inputs).values())
    if overrides.tax is not None:
        parameters = tuple(_with_tax(each, overrides.tax) for each in parameters)
    return HardwareInputSheet(name=name, parameters=parameters)


def own_servers(overrides: PriceOverrides) -> tuple[ServerSpec, ...]:
    """Return the servers that an organisation adds."""
    return tuple(
        ServerSpec(
            option=each.option,
            label=f"On-premises {each.option.removeprefix('onprem-')}",
            accelerator=each.accelerator,
            accelerators=each.accelerators,
            price=each.price,
            max_power=each.max_power,
            card=each.card,
        )
        for each in overrides.server
    )


def own_rates(
    servers: Sequence[ServerSpec], parameters: HardwareInputSheet, overrides: PriceOverrides
) -> tuple[HourlyRate, ...]:
    """Return the rates of servers with any input overridden by the organisation, else none.

    A server with a missing input has no rate.
    """
    if not (overrides.parameter or overrides.server or overrides.tax):
        return ()
    rates: list[HourlyRate] = []
    for server in servers:
        with suppress(PriceMissingError):
            rates.append(owned_rate(server, parameters=parameters))
    return tuple(rates)


def _own_input(override: OwnHardwareInput, unit: str) -> HardwareInput:
    return HardwareInput(
        name=override.name,
        unit=unit,
        low=override.low,
        mode=override.mode,
        high=override.high,
        period=override.as_of.isoformat(),
        as_of=override.as_of,
        is_read_date=False,
        confidence=SourceConfidence.HIGH,
        source=override.source,
        source_url=named_address(override.source),
    )


def _in_usd(figure: HardwareInput, exchange: Sequence[ExchangeRate]) -> HardwareInput:
    """Return a figure in USD; raise OverrideError for a currency without a rate."""
    match = _CURRENCY.match(figure.unit)
    if match is None or match[0] == USD:
        return figure
    rate = next((each for each in exchange if each.currency == match[0]), None)
    if rate is None:
        msg = f"{figure.name} is in {match[0]}: add its [[exchange]] rate"
        raise OverrideError(msg)
    return replace(
        _times(figure, rate.usd),
        unit=USD + figure.unit.removeprefix(match[0]),
        source=f"{figure.source}; {rate.source}",
        note=f"{figure.mode} {figure.unit} at {rate.usd} USD of {rate.as_of}",
    )


def _times(figure: HardwareInput, factor: Decimal) -> HardwareInput:
    return replace(
        figure, low=figure.low * factor, mode=figure.mode * factor, high=figure.high * factor
    )


def _with_tax(parameter: HardwareInput, tax: PurchaseTax) -> HardwareInput:
    is_bought = parameter.unit.startswith(USD) and parameter.unit != WAGES
    if not is_bought and parameter.unit != RESALE:
        return parameter
    factor = 1 + tax.share if is_bought else 1 / (1 + tax.share)
    tax_note = (
        f"with {decimals(100 * tax.share, 2)} % tax: {tax.source}"
        if is_bought
        else "of the price without tax"
    )
    note = "; ".join(filter(None, (parameter.note, tax_note)))
    return replace(_times(parameter, factor), note=note)
