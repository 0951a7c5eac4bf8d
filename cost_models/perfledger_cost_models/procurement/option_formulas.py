"""Builds the formulas of each purchase option's payments, year by year."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import assert_never

import numpy as np

from perfledger.time_units import HOURS_PER_YEAR, MONTHS_PER_YEAR
from perfledger_cost_models.formula import FormulaLine, value_of
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.cost_model import (
    ALLOCATED_SHARE,
    BUSY_SHARE,
    COMMITMENT_UTILIZATION,
    GROWTH,
    HOURS,
    PLAN_YEARS,
    RESIDUAL,
    YEARS,
    CostModel,
    ModelInput,
    PurchaseMode,
    PurchaseOption,
    UnpricedOption,
)
from perfledger_cost_models.tco.hardware_inputs import WACC
from perfledger_cost_models.tco.onprem import LICENCES
from perfledger_cost_models.units import USD

NEED_WORTH = "need_worth"


def end_worth(year: int) -> str:
    """Return the name of the present value of a dollar at the end of a year."""
    return f"end_worth_{year}"


def cost_model(
    accelerator: str,
    options: Sequence[PurchaseOption],
    *,
    keep: str,
    inputs: Sequence[ModelInput],
    unpriced: Sequence[UnpricedOption],
) -> CostModel:
    """Return the model of all options; `keep` is where hours beyond all supply are bought.

    An input that several options share may be passed several times.
    """
    status_quo = next(option for option in options if option.where == keep)
    lines = list(_common_lines(inputs))
    for option in options:
        lines += _lines(option, status_quo)
    return CostModel(
        accelerator=accelerator,
        inputs=tuple({each.name: each for each in inputs}.values()),
        lines=tuple(lines),
        options=tuple(options),
        keep=status_quo,
        unpriced=tuple(unpriced),
    )


def first_need(inputs: Sequence[ModelInput]) -> Decimal:
    """Return the hours beyond the supply in the first year, at the most likely inputs."""
    values = {each.name: np.array([float(each.mode)]) for each in inputs}
    for line in _common_lines(inputs):
        values[line.name] = value_of(line.formula, values)
    return to_decimal(values["need_1"][0])


def _common_lines(inputs: Sequence[ModelInput]) -> Iterator[FormulaLine]:
    """Yield the lines of all options; hours are divided by their share once, to give paid hours."""
    names = {each.name for each in inputs}
    shares = "".join(f" / {name}" for name in (ALLOCATED_SHARE, BUSY_SHARE) if name in names)
    for year in PLAN_YEARS:
        hours = f"{HOURS}{shares}" if year == 1 else f"hours_{year - 1} * (1 + {GROWTH})"
        yield _line(f"hours_{year}", f"paid hours in year {year}", "h", hours)
    for year in PLAN_YEARS:
        need = f"MAX(0, hours_{year} - supply_{year} * {HOURS_PER_YEAR} * {COMMITMENT_UTILIZATION})"
        yield _line(f"need_{year}", f"hours beyond the supply in year {year}", "h", need)
    yield from _discount_lines()
    worth = _sum(f"need_{year} * discount_{year}" for year in PLAN_YEARS)
    yield _line(NEED_WORTH, "hours beyond the supply, discounted like money", "h", worth)


def _discount_lines() -> Iterator[FormulaLine]:
    """Yield today's worth of a dollar at each year's end and of one paid month by month.

    The second is `discounting.monthly_worth` as a text; the sum of powers has a value at any rate.
    """
    month, monthly = "a_month_away", "paid_by_the_month"
    per_year = str(MONTHS_PER_YEAR)
    formula = f"1 / POWER(1 + {WACC}, 1 / {per_year})"
    yield _line(month, "present value of a dollar at the end of a month", "USD/USD", formula)
    months = _sum(f"POWER({month}, {number})" for number in range(1, MONTHS_PER_YEAR + 1))
    label = "value at a year's start of a dollar paid in it, at the ends of its months"
    yield _line(monthly, label, "USD/USD", f"({months}) / {per_year}")
    for year in PLAN_YEARS:
        before = "1" if year == 1 else end_worth(year - 1)
        label = f"present value of a dollar at the end of year {year}"
        yield _line(end_worth(year), label, "USD/USD", f"{before} / (1 + {WACC})")
        label = f"present value of a dollar paid in year {year}, at the ends of its months"
        yield _line(f"discount_{year}", label, "USD/USD", f"{before} * {monthly}")


def _lines(option: PurchaseOption, keep: PurchaseOption) -> Iterator[FormulaLine]:
    ratio = f" * {option.hours_ratio}" if option.hours_ratio else ""
    match option.mode:
        case PurchaseMode.PAY_AS_YOU_GO:
            yield from _by_use(option, f"need_{{}}{ratio} * {option.rate}")
        case PurchaseMode.BLOCK:
            yield from _by_use(
                option, f"need_{{}}{ratio} * {option.rate} / {COMMITMENT_UTILIZATION}"
            )
        case PurchaseMode.SPOT:
            on_spot = f"(1 - {option.key}_fallback) * {option.key}_overhead{ratio} * {option.rate}"
            fallback = f"{option.key}_fallback * {keep.rate}"
            yield from _by_use(option, f"need_{{}} * ({on_spot} + {fallback})")
        case PurchaseMode.COMMITMENT:
            yield from _commitment_lines(option, keep)
        case PurchaseMode.OWNED:
            yield from _owned_lines(option, keep)
        case _ as unreachable:
            assert_never(unreachable)
    worth = _sum(_worth_of_year(option, year) for year in PLAN_YEARS)
    label = f"{option.name}: present value of all payments"
    yield _line(option.npv, label, USD, f"{option.paid[0]} + {worth}")


def _worth_of_year(option: PurchaseOption, year: int) -> str:
    """Return the present value of a year's payments: monthly ones, and one at its end."""
    at_end = option.paid_at_end.get(year)
    if at_end is None:
        return f"{option.paid[year]} * discount_{year}"
    return f"{_by_month(option, year)} * discount_{year} + {at_end} * {end_worth(year)}"


def _by_use(option: PurchaseOption, yearly: str) -> Iterator[FormulaLine]:
    yield _payment_line(option, 0, "0")
    for year in PLAN_YEARS:
        yield _payment_line(option, year, yearly.format(year))


def _commitment_lines(option: PurchaseOption, keep: PurchaseOption) -> Iterator[FormulaLine]:
    """Yield a commitment's payments: all hours of its term, and the rest on demand.

    Terms of one year are renewed at the same price and size.
    """
    key, upfront = option.key, option.upfront_share
    label = f"{option.name}: commitment per year"
    yield _line(f"{key}_term", label, USD, f"{key}_devices * {HOURS_PER_YEAR} * {option.rate}")
    per_ratio = f" / {option.hours_ratio}" if option.hours_ratio else ""
    committed_hours = f"{key}_devices * {HOURS_PER_YEAR} * {COMMITMENT_UTILIZATION}{per_ratio}"
    yield _line(f"{key}_carried", f"{option.name}: hours carried per year", "h", committed_hours)
    at_start = f"{key}_term * {upfront * option.years}" if upfront else "0"
    yield _payment_line(option, 0, at_start)
    for year in PLAN_YEARS:
        parts = [_beyond(key, year, keep)]
        if upfront != 1:
            parts.append(f"{key}_term * {1 - upfront}")
        if at_end := option.paid_at_end.get(year):
            label = f"{option.name}: renewal at the end of year {year}"
            yield _line(at_end, label, USD, f"{key}_term * {upfront}")
        yield from _paid_in_year(option, year, " + ".join(parts))


def _owned_lines(option: PurchaseOption, keep: PurchaseOption) -> Iterator[FormulaLine]:
    """Yield an owned server's payments: `onprem.yearly_cost`, with purchase price and resale."""
    key, server = option.key, option.server
    if server is None:  # pragma: no cover - an owned option has a server
        return
    nodes, price = f"({key}_devices / {server.accelerators})", server.price
    ratio = option.hours_ratio or "1"
    hours = f"{key}_devices * {HOURS_PER_YEAR}"
    extras = "(1 + network_share_of_capex + storage_share_of_capex) * (1 + spares_pool)"
    yield _line(
        f"{key}_capex",
        f"{option.name}: servers, network, storage, spares",
        USD,
        f"{nodes} * {price} * {extras}",
    )
    colo = f"{server.max_power} * {MONTHS_PER_YEAR} * colo_price"
    staff = "staff_fte_per_8gpu_node_small * staff_cost_loaded"
    running = f"support_contract * {price} + {colo} + {staff} + {LICENCES} * {server.accelerators}"
    label = f"{option.name}: support, space, staff, licences per year"
    yield _line(f"{key}_running", label, USD, f"{nodes} * ({running})")
    label = f"{option.name}: hours carried per year"
    yield _line(f"{key}_carried", label, "h", f"{hours} * {COMMITMENT_UTILIZATION} / {ratio}")
    for year in PLAN_YEARS:
        yield from _energy(
            option, server.max_power, year, nodes, f"need_{year} * {ratio} / ({hours})"
        )
    label = f"{option.name}: resale value of the servers after {YEARS} years"
    yield _line(f"{key}_resale", label, USD, f"{nodes} * {price} * {RESIDUAL}")
    label = f"{option.name}: resale at the end of year {YEARS}"
    yield _line(option.paid_at_end[YEARS], label, USD, f"0 - {key}_resale")
    yield _payment_line(option, 0, f"{key}_capex")
    for year in PLAN_YEARS:
        yearly = f"{key}_running + {key}_energy_{year} + {_beyond(key, year, keep)}"
        yield from _paid_in_year(option, year, yearly)


def _energy(
    option: PurchaseOption, max_power: str, year: int, nodes: str, load: str
) -> Iterator[FormulaLine]:
    key = option.key
    label = f"{option.name}: used share of its hours in year {year}"
    yield _line(f"{key}_load_{year}", label, "share", f"MIN({COMMITMENT_UTILIZATION}, {load})")
    draw = (
        f"average_load_power_fraction * {key}_load_{year} + "
        f"idle_power_server_fraction * (1 - {key}_load_{year})"
    )
    kwh = f"{nodes} * {max_power} * ({draw}) * {HOURS_PER_YEAR} * pue_enterprise"
    yield _line(f"{key}_kwh_{year}", f"{option.name}: energy in year {year}", "kWh", kwh)
    usd = f"{key}_kwh_{year} * electricity_us_industrial"
    yield _line(f"{key}_energy_{year}", f"{option.name}: electricity in year {year}", USD, usd)


def _beyond(key: str, year: int, keep: PurchaseOption) -> str:
    return f"MAX(0, need_{year} - {key}_carried) * {keep.rate}"


def _by_month(option: PurchaseOption, year: int) -> str:
    return f"{option.key}_by_the_month_{year}"


def _paid_in_year(option: PurchaseOption, year: int, monthly: str) -> Iterator[FormulaLine]:
    """Yield a year's monthly payments, and those together with the payments due at its end."""
    at_end = option.paid_at_end.get(year)
    if at_end is None:
        yield _payment_line(option, year, monthly)
        return
    name = _by_month(option, year)
    yield _line(name, f"{option.name}: paid by the month in year {year}", USD, monthly)
    yield _payment_line(option, year, f"{name} + {at_end}")


def _payment_line(option: PurchaseOption, year: int, formula: str) -> FormulaLine:
    when = "at the start" if year == 0 else f"in year {year}"
    return _line(option.paid[year], f"{option.name}: paid {when}", USD, formula)


def _sum(terms: Iterator[str]) -> str:
    return " + ".join(terms)


def _line(name: str, label: str, unit: str, formula: str) -> FormulaLine:
    return FormulaLine(name=name, label=label, unit=unit, formula=formula)
