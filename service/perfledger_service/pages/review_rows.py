"""Turns a review's options, inputs and switches into rows of figures that all documents share."""

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal

from perfledger_cost_models.comparison import BreakEven
from perfledger_cost_models.decision import Outcome, Switch
from perfledger_cost_models.procurement import Input, Kind
from perfledger_cost_models.review import OptionFacts, Review, Unknown
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean

NOT_SAID = "not known"
MAX_ROWS = 500  # of a kind; JSON has all
NOTHING = "\N{EN DASH}"
CENT = Decimal("0.01")
HALF_PERCENT = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """One line of the options table; `number` is the option's, `price` its input's number."""

    number: int
    name: str
    where: str
    tone: str  # "taken", "kept" or "other"
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
    line: str  # the name of the model's line that the present value is


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


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """What one input has to become for another option to be cheapest."""

    words: str
    number: int  # of the input
    now: str
    value: str
    to: str


def option_rows(review: Review) -> tuple[OptionRow, ...]:
    """Return the options, the lowest mean cost first."""
    numbers = {row.name: row.number for row in input_rows(review)}
    order = sorted(review.options, key=lambda one: one.outcome.npv_mean)
    return tuple(
        _option(review, facts, place, numbers) for place, facts in enumerate(order, start=1)
    )


def input_rows(review: Review) -> tuple[InputRow, ...]:
    """Return the model's inputs, numbered as footnotes refer to them."""
    return tuple(
        InputRow(
            number=number,
            name=each.name,
            words=each.words,
            unit=each.unit,
            low=sized(each.low, each.unit),
            mode=sized(each.mode, each.unit),
            high=sized(each.high, each.unit),
            basis=each.basis,
            as_of=_as_of(each),
            source=each.source,
        )
        for number, each in enumerate(review.model.inputs, start=1)
    )


def switch_rows(review: Review) -> tuple[SwitchRow, ...]:
    """Return what would change the answer, the smallest step first."""
    numbers = {row.name: row.number for row in input_rows(review)}
    nearest = sorted(review.decision.switches, key=_distance)
    return tuple(
        SwitchRow(
            words=one.input.words,
            number=numbers[one.input.name],
            now=with_unit(one.input.mode, one.input.unit),
            value=f"{'below' if one.value < one.input.mode else 'above'} "
            f"{with_unit(one.value, one.input.unit)}",
            to=one.to,
        )
        for one in nearest
    )


def plain(value: Decimal) -> str:
    """Return a number with at most four digits after the point, and separators."""
    digits = 0 if abs(value) >= 1000 else 2 if abs(value) >= 100 else 4  # noqa: PLR2004 - as it reads
    shown = f"{value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN) + 0:,f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def sized(value: Decimal, unit: str) -> str:
    """Return a number as `plain` does, but of money never less than its cents."""
    is_cents = unit.startswith("USD") and abs(value) >= 1000 and value % 1  # noqa: PLR2004 - as it reads
    return cents(value) if is_cents else plain(value)


def with_unit(value: Decimal, unit: str) -> str:
    """Return a number with its unit; a share as a percentage."""
    if unit in {"share", "fraction", "per year"}:
        return figures.share(float(value)) + (" a year" if unit == "per year" else "")
    return f"{plain(value)}{figures.NBSP}{unit}"


def cents(value: Decimal) -> str:
    """Return an amount to the cent, with separators and without its unit."""
    shown = value.quantize(CENT, rounding=ROUND_HALF_EVEN)
    return f"{shown + 0:,f}"


def paid_cents(outcome: Outcome) -> tuple[Decimal, ...]:
    """Return what a way pays at the start and at the end of each year, in whole cents."""
    return tuple(each.quantize(CENT, rounding=ROUND_HALF_EVEN) for each in outcome.paid)


def chance(share: float) -> str:
    """Return a chance in whole percent; what draws find is never certain nor impossible."""
    if share > 1 - HALF_PERCENT:
        return f">{figures.NBSP}99{figures.NBSP}%"
    if share < HALF_PERCENT:
        return f"<{figures.NBSP}1{figures.NBSP}%"
    return figures.whole_share(share)


def day(value: date | None) -> str:
    """Return a day, "not known" without one."""
    return NOT_SAID if value is None else figures.day(value)


def _option(review: Review, facts: OptionFacts, place: int, numbers: dict[str, int]) -> OptionRow:
    outcome, way = facts.outcome, facts.outcome.way
    low, middle, high = outcome.npv_band
    npv, npv_interval = figures.yearly_usd(middle, low, high)
    band = outcome.hour_band
    energy, emitted = _energy(facts)
    paid = paid_cents(outcome)
    tone = {review.decision.take: "taken", review.model.keep.key: "kept"}.get(way.key, "other")
    return OptionRow(
        number=place,
        name=clean(way.name),
        where=way.where,
        tone=tone,
        price=numbers[way.rate],
        npv=npv,
        npv_interval=npv_interval,
        hour=NOTHING if band is None else f"{band[1]:.2f}",
        hour_interval="" if band is None else figures.TO.join(f"{end:.2f}" for end in band[::2]),
        best=chance(outcome.chance_best),
        cheaper=NOTHING if way == review.model.keep else chance(outcome.chance_cheaper),
        break_even=_use(facts.break_even),
        lead_time=clean(way.lead_time, limit=120) if way.lead_time else NOT_SAID,
        lock_in=f"{facts.lock_in_months} months" if facts.lock_in_months else _lock_in(way.kind),
        exit=_exit(facts),
        energy=energy,
        carbon=emitted,
        expires=day(facts.expires),
        returns=_returns(facts),
        devices="as needed" if way.devices is None else f"{way.devices:,}",
        note=way.note,
        paid=tuple(f"{each + 0:,f}" for each in paid),
        paid_sum=f"{sum(paid, Decimal(0)):,f}",
        npv_exact=cents(outcome.npv),
        line=way.npv,
    )


def _use(found: BreakEven | None) -> str:
    if found is None:
        return NOTHING
    if found.p50 is None:
        return "never"
    ends = "" if found.p5 == found.p95 else f" ({_end(found.p5)}{figures.TO}{_end(found.p95)})"
    return f"{figures.whole_share(found.p50)}{ends}"


def _end(use: float | None) -> str:
    return "never" if use is None else figures.whole_share(use)


def _lock_in(kind: Kind) -> str:
    return "until sold" if kind is Kind.OWNED else "a block" if kind is Kind.BLOCK else "none"


def _exit(facts: OptionFacts) -> str:
    if facts.resale is not None:
        low, _, high = facts.resale
        mode, interval = figures.yearly_usd(facts.resale[1], low, high)
        return f"{mode} ({interval}) resale after 36 months"
    if facts.owed_usd:
        shown, _ = figures.yearly_usd(facts.owed_usd, facts.owed_usd, facts.owed_usd)
        return f"{shown} still owed after a year"
    return "0; paid up front" if facts.outcome.way.upfront_share else "0"


def _energy(facts: OptionFacts) -> tuple[str, str]:
    if isinstance(facts.carbon, Unknown):
        return NOT_SAID, NOT_SAID
    found = facts.carbon
    market = NOT_SAID if found.market_kg is None else f"{found.market_kg / 1000:,.1f}"
    place = NOT_SAID if found.location_kg is None else f"{found.location_kg / 1000:,.1f}"
    return f"{found.energy_kwh / 1000:,.0f}{figures.NBSP}MWh", f"{place} / {market}"


def _returns(facts: OptionFacts) -> str:
    parts: list[str] = []
    if facts.return_per_year is not None:
        parts.append(f"{figures.whole_share(facts.return_per_year)} a year")
    if facts.payback_years is not None:
        parts.append(f"back in {facts.payback_years:.1f} years")
    return ", ".join(parts) or NOTHING


def _as_of(each: Input) -> str:
    if each.as_of is None:
        return NOTHING
    return f"{each.as_of}{' (read)' if each.is_read_date else ''}"


def _distance(one: Switch) -> tuple[float, str]:
    mode = float(one.input.mode)
    return (abs(float(one.value) / mode - 1) if mode else abs(float(one.value)), one.input.name)
