"""Applies an organisation's own hardware inputs and servers to the packaged ones."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from perfledger.rounding import decimals
from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.contract import (
    OverrideError,
    OwnHardwareInput,
    PriceOverrides,
    PurchaseTax,
)
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.hardware_inputs import HardwareInput, HardwareInputSheet
from perfledger_cost_models.tco.onprem import ServerSpec, owned_rate
from perfledger_cost_models.units import USD

# Units of hardware inputs without purchase tax: wages, and resale, which does not refund the tax.
WAGES, RESALE = "USD/FTE-year", "of price"


def apply_own_inputs(
    sheet: HardwareInputSheet, overrides: PriceOverrides, *, name: str
) -> HardwareInputSheet:
    """Return the inputs with the organisation's own in place of the packaged, at high confidence.

    Tax applies to everything that is bought, as it does to prices: not to wages, and resale does
    not bring it back. Raises OverrideError for an input given twice and for a new one without a
    unit.
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
        own_inputs[each.name] = _own_input(each, unit)
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
    return replace(
        parameter,
        low=parameter.low * factor,
        mode=parameter.mode * factor,
        high=parameter.high * factor,
        note="; ".join(filter(None, (parameter.note, tax_note))),
    )
