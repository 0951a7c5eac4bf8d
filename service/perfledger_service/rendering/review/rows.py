"""Lists the options, inputs and switches of a review, with figures that all documents share."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from perfledger.rounding import decimals, digits, exact, integer
from perfledger_cost_models.procurement.cost_model import ModelInput, PurchaseMode
from perfledger_cost_models.procurement.decision import OptionOutcome, SwitchingValue
from perfledger_cost_models.quote import price_day, price_origin
from perfledger_cost_models.review.document import OptionFacts, Review, UnknownFigure
from perfledger_cost_models.tco.buy_vs_rent import BreakEven
from perfledger_cost_models.units import USD
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.review.whole_dollars import nearest_dollar

_MAX_LEAD_TIME = 120
UNKNOWN_VALUE = "not known"
NO_ADDRESS = "no address"  # of a price whose source is not on the web, or not known to be
MAX_ROWS = 500  # of each kind; the JSON has all
HALF_PERCENT = 0.005
_INPUT_DIGITS = 9  # so that payments of 10^7 USD can be reproduced


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """One line of the options table; `number` is the option's number, `price` its input's."""

    number: int
    name: str
    where: str
    origin: str  # region and day of the price
    link: str  # the https address of its source, "" if none is known
    tone: str  # "chosen", "today" or "other"
    price: int
    npv: str
    npv_interval: str
    hour: str
    hour_interval: str
    best: str
    cheaper: str
    break_even: str
    lead_time: str
    lock_in: str
    exit: str
    energy: str
    carbon: str
    expires: str
    returns: str
    devices: str
    note: str
    paid: tuple[str, ...]
    paid_sum: str
    npv_exact: str
    line: str  # the model line with the present value


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRow:
    """One line of the table of inputs."""

    number: int
    name: str
    words: str
    unit: str
    low: str
    mode: str
    high: str
    basis: str
    as_of: str
    source: str
    link: str  # its https address, "" if none is known
    is_price: bool  # a price must have an address, or say that it has none


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """The value of one input at which another option is cheapest."""

    words: str
    number: int  # of the input
    now: str
    value: str
    to: str


def option_rows(review: Review) -> tuple[OptionRow, ...]:
    """Return the options, the lowest mean cost first."""
    numbers = {row.name: row.number for row in input_rows(review)}
    inputs = {each.name: each for each in review.model.inputs}
    order = sorted(review.options, key=lambda one: one.outcome.npv_mean)
    return tuple(
        _option(review, facts, number, numbers[rate], inputs[rate])
        for number, facts in enumerate(order, start=1)
        if (rate := facts.outcome.option.rate)
    )


def input_rows(review: Review) -> tuple[InputRow, ...]:
    """Return the model's inputs, with the numbers that footnotes use."""
    return tuple(
        InputRow(
            number=number,
            name=each.name,
            words=each.label,
            unit=each.unit,
            low=calculable(each.low, each.unit),
            mode=calculable(each.mode, each.unit),
            high=calculable(each.high, each.unit),
            basis=each.basis,
            as_of=_as_of(each),
            source=each.source,
            link=each.source_url,
            is_price=each.unit.startswith(USD),
        )
        for number, each in enumerate(review.model.inputs, start=1)
    )


def energy_sentences(review: Review) -> tuple[str, ...]:
    """Return the formulas and inputs of the energy and emissions of the options."""
    energy, figure = review.energy, plain_number
    servers = ", ".join(
        f"{figure(kilowatts)} kW / {devices} for {clean(accelerator)}"
        for accelerator, kilowatts, devices in energy.server_kw
    )
    market = (
        "unknown by market"
        if energy.market_kg_per_kwh is None
        else f"{figure(energy.market_kg_per_kwh)} by market ({clean(energy.market_source)})"
    )
    rented = (
        f"Energy of a rented hour: the maximum power of a server / its devices ({servers}) * "
        f"{figure(energy.load)} under load * a PUE of {figure(energy.pue)} "
        f"({clean(energy.pue_source)}). Hours are those of the line need_1, on another accelerator "
        "times its hours that replace one, and on spot times the hours paid per hour of work."
    )
    owned = (
        "Energy of owned devices: their line of year 1 among the formulas, and rented hours for "
        "what they do not carry."
    )
    emitted = (
        f"CO2: {figure(energy.location_kg_per_kwh)} kg per kWh by location "
        f"({clean(energy.location_source)}), {market}."
    )
    return rented, owned, emitted


def switch_rows(review: Review) -> tuple[SwitchRow, ...]:
    """Return the values that would change the recommendation, the smallest change first."""
    numbers = {row.name: row.number for row in input_rows(review)}
    nearest = sorted(review.decision.switches, key=_distance)
    return tuple(
        SwitchRow(
            words=one.input.label,
            number=numbers[one.input.name],
            now=with_unit(one.input.mode, one.input.unit),
            value=f"{'below' if one.value < one.input.mode else 'above'} "
            f"{with_unit(one.value, one.input.unit)}",
            to=one.alternative,
        )
        for one in nearest
    )


def plain_number(value: Decimal) -> str:
    """Return a number with separators and at most four decimals."""
    digits = 0 if abs(value) >= 1000 else 2 if abs(value) >= 100 else 4  # noqa: PLR2004 - as it reads
    figure = decimals(value, digits)
    return figure.rstrip("0").rstrip(".") if "." in figure else figure


def number_or_money(value: Decimal, unit: str) -> str:
    """Return a number as `plain_number` does, but money always with cents."""
    is_cents = unit.startswith("USD") and abs(value) >= 1000 and value % 1  # noqa: PLR2004 - as it reads
    return number_format.cents(value) if is_cents else plain_number(value)


def calculable(value: Decimal, unit: str) -> str:
    """Return an input with the digits that its lines need to be reproduced in whole USD.

    Prices and ratios are multiplied by 10^6 hours: four decimals leave the payments off by tens.
    """
    short, long = number_or_money(value, unit), digits(value, _INPUT_DIGITS)
    return long if _decimals(long) > _decimals(short) else short


def _decimals(figure: str) -> int:
    return len(figure.partition(".")[2])


def with_unit(value: Decimal, unit: str) -> str:
    """Return a number with its unit; a share as a percentage."""
    if unit in {"share", "fraction", "per year"}:
        return number_format.share(float(value)) + (" a year" if unit == "per year" else "")
    return f"{plain_number(value)}{number_format.NBSP}{unit}"


def paid_whole_usd(outcome: OptionOutcome) -> tuple[Decimal, ...]:
    """Return the payments of an option at the start and in each year, in whole USD.

    Their shown sum is that of these.
    """
    return tuple(map(nearest_dollar, outcome.paid))


def whole_usd(value: Decimal) -> str:
    """Return a forecast amount in whole USD, with separators."""
    return integer(nearest_dollar(value))


def chance(share: float) -> str:
    """Return a chance in whole percent, never 0 or 100, because it comes from random draws."""
    if share > 1 - HALF_PERCENT:
        return f">{number_format.NBSP}99{number_format.NBSP}%"
    if share < HALF_PERCENT:
        return f"<{number_format.NBSP}1{number_format.NBSP}%"
    return number_format.whole_share(share)


def day(value: date | None) -> str:
    """Return a day, or "not known"."""
    return UNKNOWN_VALUE if value is None else number_format.day(value)


def _origin(price: ModelInput) -> str:
    """Return the region and day of a price; "" without a day."""
    if price.as_of is None:
        return ""
    return price_origin(price.region, price.as_of, is_read_date=price.is_read_date)


def _option(
    review: Review, facts: OptionFacts, place: int, price_number: int, rate: ModelInput
) -> OptionRow:
    outcome, option = facts.outcome, facts.outcome.option
    low, middle, high = outcome.npv_band
    npv, npv_interval = number_format.yearly_usd(middle, low, high)
    band = outcome.hour_band
    energy, emitted = _energy(facts)
    paid = paid_whole_usd(outcome)
    tone = {review.decision.recommendation: "chosen", review.model.keep.key: "today"}.get(
        option.key, "other"
    )
    return OptionRow(
        number=place,
        name=clean(option.name),
        where=option.where,
        origin=clean(_origin(rate)),
        link=rate.source_url,
        tone=tone,
        price=price_number,
        npv=npv,
        npv_interval=npv_interval,
        hour=number_format.NOTHING if band is None else number_format.cents(band[1]),
        hour_interval=""
        if band is None or band[0] == band[2]
        else number_format.interval(band[0], band[2], number_format.cents),
        best=chance(outcome.chance_best),
        cheaper=number_format.NOTHING
        if option == review.model.keep
        else chance(outcome.chance_cheaper),
        break_even=_use(facts.break_even),
        lead_time=clean(option.lead_time, limit=_MAX_LEAD_TIME)
        if option.lead_time
        else UNKNOWN_VALUE,
        lock_in=f"{facts.lock_in_months} months" if facts.lock_in_months else _lock_in(option.mode),
        exit=_exit(facts),
        energy=energy,
        carbon=emitted,
        expires=day(facts.expires),
        returns=_returns(facts),
        devices="as needed" if option.devices is None else f"{option.devices:,}",
        note=option.note,
        paid=tuple(exact(each + 0) for each in paid),
        paid_sum=exact(sum(paid, Decimal(0))),
        npv_exact=whole_usd(outcome.npv),
        line=option.npv,
    )


def _use(break_even: BreakEven | None) -> str:
    if break_even is None:
        return number_format.NOTHING
    if break_even.p50 is None:
        return "never"
    ends = (
        ""
        if break_even.p5 == break_even.p95
        else f" ({number_format.interval(break_even.p5, break_even.p95, _end)})"
    )
    return f"{number_format.whole_share(break_even.p50)}{ends}"


def _end(use: float | None) -> str:
    return "never" if use is None else number_format.whole_share(use)


def _lock_in(kind: PurchaseMode) -> str:
    return (
        "until sold"
        if kind is PurchaseMode.OWNED
        else "a block"
        if kind is PurchaseMode.BLOCK
        else "none"
    )


def _exit(facts: OptionFacts) -> str:
    if facts.resale is not None:
        low, most_likely, high = facts.resale
        mode, ends = number_format.yearly_usd(most_likely, low, high)
        return (
            f"{mode} resale after 36 months, most likely; {ends} at the low and the high inputs of "
            "both price and resale value (appendix)"
        )
    if facts.owed_usd:
        amount, _ = number_format.yearly_usd(facts.owed_usd, facts.owed_usd, facts.owed_usd)
        return f"{amount} still owed after a year"
    return "0; paid up front" if facts.outcome.option.upfront_share else "0"


def _energy(facts: OptionFacts) -> tuple[str, str]:
    if isinstance(facts.carbon, UnknownFigure):
        return UNKNOWN_VALUE, UNKNOWN_VALUE
    carbon = facts.carbon
    market = UNKNOWN_VALUE if carbon.market_kg is None else _tonnes(carbon.market_kg)
    by_location = UNKNOWN_VALUE if carbon.location_kg is None else _tonnes(carbon.location_kg)
    return (
        f"{integer(carbon.energy_kwh / 1000)}{number_format.NBSP}MWh",
        f"{by_location} / {market}",
    )


def _returns(facts: OptionFacts) -> str:
    parts: list[str] = []
    if facts.return_per_year is not None:
        parts.append(f"{number_format.whole_share(facts.return_per_year)} a year")
    if facts.payback_years is not None:
        parts.append(f"paid back in {decimals(facts.payback_years, 1)} years")
    return ", ".join(parts) or number_format.NOTHING


def _as_of(model_input: ModelInput) -> str:
    if model_input.as_of is None:
        return number_format.NOTHING
    if model_input.is_read_date and model_input.max_age is not None:
        return price_day(model_input.as_of, is_read_date=True)
    return f"{'read on ' if model_input.is_read_date else ''}{model_input.as_of}"


def _distance(switching_value: SwitchingValue) -> tuple[float, str]:
    mode = float(switching_value.input.mode)
    return (
        abs(float(switching_value.value) / mode - 1) if mode else abs(float(switching_value.value)),
        switching_value.input.name,
    )


def _tonnes(kilograms: float) -> str:
    return decimals(kilograms / 1000, 1)
