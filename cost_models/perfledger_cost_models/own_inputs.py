"""An organisation's overrides over the inputs of owning into the inputs and servers that count."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from perfledger_cost_models.onprem import Server, rate
from perfledger_cost_models.overrides import (
    DOLLAR,
    OverrideError,
    Overrides,
    OwnParameter,
    Tax,
)
from perfledger_cost_models.parameter import Parameter, ParameterSheet
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.sheet import PriceMissingError
from perfledger_cost_models.table import Confidence

# Units of inputs of owning that tax is not on, and is not got back with.
WAGES, RESALE = "USD/FTE-year", "of price"


def apply_parameters(sheet: ParameterSheet, overrides: Overrides, *, name: str) -> ParameterSheet:
    """Return the inputs as the organisation sees them: its own count, with high confidence.

    Tax is on all that is bought, as it is on prices: not on wages, and what is sold again brings in
    its price without it. Raises OverrideError for one that stands there twice and for a new one
    without a unit.
    """
    own: dict[str, Parameter] = {}
    published = {each.name: each for each in sheet.parameters}
    for each in overrides.parameter:
        if each.name in own:
            msg = f"the input {each.name!r} stands in the overrides twice: leave one out"
            raise OverrideError(msg)
        unit = each.unit or (published[each.name].unit if each.name in published else "")
        if not unit:
            msg = f"{each.name!r} is no packaged input: correct its name, or give its unit"
            raise OverrideError(msg)
        own[each.name] = _own_parameter(each, unit)
    parameters = tuple((published | own).values())
    if overrides.tax is not None:
        parameters = tuple(_taxed_parameter(each, overrides.tax) for each in parameters)
    return ParameterSheet(name=name, parameters=parameters)


def own_servers(overrides: Overrides) -> tuple[Server, ...]:
    """Return the servers that an organisation adds."""
    return tuple(
        Server(
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
    servers: Sequence[Server], parameters: ParameterSheet, overrides: Overrides
) -> tuple[Rate, ...]:
    """Return the rates of servers where an organisation has something to say of them, else none.

    A server whose inputs are not all there has no rate.
    """
    if not (overrides.parameter or overrides.server or overrides.tax):
        return ()
    rates: list[Rate] = []
    for server in servers:
        with suppress(PriceMissingError):
            rates.append(rate(server, parameters=parameters))
    return tuple(rates)


def _own_parameter(each: OwnParameter, unit: str) -> Parameter:
    return Parameter(
        name=each.name,
        unit=unit,
        low=each.low,
        mode=each.mode,
        high=each.high,
        period=each.as_of.isoformat(),
        as_of=each.as_of,
        is_read_date=False,
        confidence=Confidence.HIGH,
        source=each.source,
    )


def _taxed_parameter(parameter: Parameter, tax: Tax) -> Parameter:
    is_bought = parameter.unit.startswith(DOLLAR) and parameter.unit != WAGES
    if not is_bought and parameter.unit != RESALE:
        return parameter
    factor = 1 + tax.share if is_bought else 1 / (1 + tax.share)
    with_tax = (
        f"with {tax.share:.2%} tax: {tax.source}" if is_bought else "of the price without tax"
    )
    return replace(
        parameter,
        low=parameter.low * factor,
        mode=parameter.mode * factor,
        high=parameter.high * factor,
        note="; ".join(filter(None, (parameter.note, with_tax))),
    )
