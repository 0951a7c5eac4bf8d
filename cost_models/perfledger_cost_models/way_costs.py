"""Ways to get hours into formulas of what each costs, year by year."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import assert_never

import numpy as np

from perfledger_cost_models.formula import Line, value_of
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.onprem import HOURS_PER_YEAR, LICENCES, MONTHS_PER_YEAR
from perfledger_cost_models.procurement import (
    GROWTH,
    HOURS,
    RESIDUAL,
    USE,
    WACC,
    YEARS,
    Input,
    Kind,
    Model,
    Unpriced,
    Way,
    hours_of,
)

NEED_WORTH = "need_worth"
USD = "USD"


def model_of(
    accelerator: str,
    ways: Sequence[Way],
    *,
    keep: str,
    inputs: Sequence[Input],
    unpriced: Sequence[Unpriced],
) -> Model:
    """Return the model of all ways; `keep` is where hours beyond all that is held are bought.

    An input that several ways share may be given several times; it is the same one.
    """
    kept = next(way for way in ways if way.where == keep)
    lines = list(_shared())
    for way in ways:
        lines += _lines(way, kept, is_elsewhere=way.accelerator != accelerator)
    return Model(
        accelerator=accelerator,
        inputs=tuple({each.name: each for each in inputs}.values()),
        lines=tuple(lines),
        ways=tuple(ways),
        keep=kept,
        unpriced=tuple(unpriced),
    )


def first_need(inputs: Sequence[Input]) -> Decimal:
    """Return the hours beyond the supply in the first year, at the most likely inputs."""
    values = {each.name: np.array([float(each.mode)]) for each in inputs}
    for line in _shared():
        values[line.name] = value_of(line.formula, values)
    return to_decimal(values["need_1"][0])


def _shared() -> Iterator[Line]:
    for year in range(1, YEARS + 1):
        hours = HOURS if year == 1 else f"hours_{year - 1} * (1 + {GROWTH})"
        yield _line(f"hours_{year}", f"useful hours in year {year}", "h", hours)
    for year in range(1, YEARS + 1):
        need = f"MAX(0, hours_{year} - supply_{year} * {HOURS_PER_YEAR} * {USE})"
        yield _line(f"need_{year}", f"hours beyond the supply in year {year}", "h", need)
    for year in range(1, YEARS + 1):
        before = "1" if year == 1 else f"discount_{year - 1}"
        words = f"what a dollar at the end of year {year} is worth today"
        yield _line(f"discount_{year}", words, "USD/USD", f"{before} / (1 + {WACC})")
    worth = _sum(f"need_{year} * discount_{year}" for year in range(1, YEARS + 1))
    yield _line(NEED_WORTH, "hours beyond the supply, discounted like money", "h", worth)


def _lines(way: Way, keep: Way, *, is_elsewhere: bool) -> Iterator[Line]:
    ratio = f" * {hours_of(way.key)}" if is_elsewhere else ""
    match way.kind:
        case Kind.PAY_AS_YOU_GO:
            yield from _by_use(way, f"need_{{}}{ratio} * {way.rate}")
        case Kind.BLOCK:
            yield from _by_use(way, f"need_{{}}{ratio} * {way.rate} / {USE}")
        case Kind.SPOT:
            on_spot = f"(1 - {way.key}_fallback) * {way.key}_overhead{ratio} * {way.rate}"
            fallback = f"{way.key}_fallback * {keep.rate}"
            yield from _by_use(way, f"need_{{}} * ({on_spot} + {fallback})")
        case Kind.COMMITMENT:
            yield from _committed(way, keep, f" / {hours_of(way.key)}" if is_elsewhere else "")
        case Kind.OWNED:
            yield from _owned(way, keep, hours_of(way.key) if is_elsewhere else "1")
        case _ as unreachable:
            assert_never(unreachable)
    worth = _sum(f"{way.paid[year]} * discount_{year}" for year in range(1, YEARS + 1))
    words = f"{way.name}: all payments, worth today"
    yield _line(way.npv, words, USD, f"{way.paid[0]} + {worth}")


def _by_use(way: Way, yearly: str) -> Iterator[Line]:
    yield _paid(way, 0, "0")
    for year in range(1, YEARS + 1):
        yield _paid(way, year, yearly.format(year))


def _committed(way: Way, keep: Way, per_ratio: str) -> Iterator[Line]:
    """Yield a commitment's payments: all hours of its term, what it does not carry on demand.

    Terms of a year are renewed at the same price and size.
    """
    key, upfront = way.key, way.upfront_share
    words = f"{way.name}: a year of what is committed to"
    yield _line(f"{key}_term", words, USD, f"{key}_devices * {HOURS_PER_YEAR} * {way.rate}")
    covered = f"{key}_devices * {HOURS_PER_YEAR} * {USE}{per_ratio}"
    yield _line(f"{key}_carried", f"{way.name}: hours that it carries a year", "h", covered)
    at_start = f"{key}_term * {upfront * way.years}" if upfront else "0"
    yield _paid(way, 0, at_start)
    for year in range(1, YEARS + 1):
        parts = [_beyond(key, year, keep)]
        if upfront != 1:
            parts.append(f"{key}_term * {1 - upfront}")
        if upfront and way.years == 1 and year < YEARS:
            parts.append(f"{key}_term * {upfront}")
        yield _paid(way, year, " + ".join(parts))


def _owned(way: Way, keep: Way, ratio: str) -> Iterator[Line]:
    """Yield an owned server's payments: `onprem.yearly_cost`, with its price paid and got back."""
    key, server = way.key, way.server
    if server is None:  # pragma: no cover - the kind says that there is one
        return
    nodes, price = f"({key}_devices / {server.accelerators})", server.price
    hours = f"{key}_devices * {HOURS_PER_YEAR}"
    extras = "(1 + network_share_of_capex + storage_share_of_capex) * (1 + spares_pool)"
    yield _line(
        f"{key}_capex",
        f"{way.name}: servers, network, storage, spares",
        USD,
        f"{nodes} * {price} * {extras}",
    )
    colo = f"{server.max_power} * {MONTHS_PER_YEAR} * colo_price"
    staff = "staff_fte_per_8gpu_node_small * staff_cost_loaded"
    running = f"support_contract * {price} + {colo} + {staff} + {LICENCES} * {server.accelerators}"
    words = f"{way.name}: support, room, staff, licences a year"
    yield _line(f"{key}_running", words, USD, f"{nodes} * ({running})")
    words = f"{way.name}: hours that it carries a year"
    yield _line(f"{key}_carried", words, "h", f"{hours} * {USE} / {ratio}")
    for year in range(1, YEARS + 1):
        yield from _energy(way, server.max_power, year, nodes, f"need_{year} * {ratio} / ({hours})")
    words = f"{way.name}: what the servers sell for after {YEARS} years"
    yield _line(f"{key}_resale", words, USD, f"{nodes} * {price} * {RESIDUAL}")
    yield _paid(way, 0, f"{key}_capex")
    for year in range(1, YEARS + 1):
        yearly = f"{key}_running + {key}_energy_{year} + {_beyond(key, year, keep)}"
        yield _paid(way, year, f"{yearly} - {key}_resale" if year == YEARS else yearly)


def _energy(way: Way, max_power: str, year: int, nodes: str, load: str) -> Iterator[Line]:
    key = way.key
    words = f"{way.name}: share of all hours in which it works in year {year}"
    yield _line(f"{key}_load_{year}", words, "share", f"MIN({USE}, {load})")
    draw = (
        f"average_load_power_fraction * {key}_load_{year} + "
        f"idle_power_server_fraction * (1 - {key}_load_{year})"
    )
    kwh = f"{nodes} * {max_power} * ({draw}) * {HOURS_PER_YEAR} * pue_enterprise"
    yield _line(f"{key}_kwh_{year}", f"{way.name}: energy in year {year}", "kWh", kwh)
    usd = f"{key}_kwh_{year} * electricity_us_industrial"
    yield _line(f"{key}_energy_{year}", f"{way.name}: electricity in year {year}", USD, usd)


def _beyond(key: str, year: int, keep: Way) -> str:
    return f"MAX(0, need_{year} - {key}_carried) * {keep.rate}"


def _paid(way: Way, year: int, formula: str) -> Line:
    when = "at the start" if year == 0 else f"at the end of year {year}"
    return _line(way.paid[year], f"{way.name}: paid {when}", USD, formula)


def _sum(terms: Iterator[str]) -> str:
    return " + ".join(terms)


def _line(name: str, words: str, unit: str, formula: str) -> Line:
    return Line(name=name, words=words, unit=unit, formula=formula)
