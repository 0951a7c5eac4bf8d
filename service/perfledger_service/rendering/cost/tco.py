"""Presents the cost of owning a server, and the inputs that matter most."""

from collections.abc import Iterator

from perfledger.rounding import integer, typed
from perfledger.time_units import HOURS_PER_YEAR, MONTHS_PER_YEAR
from perfledger_cost_models.draws import DRAWS
from perfledger_cost_models.tco.buy_vs_rent import OptionComparison
from perfledger_cost_models.tco.input_phrases import input_phrase
from perfledger_cost_models.tco.npv import Investment
from perfledger_cost_models.tco.server_site import ServerSite
from perfledger_service.rendering.cost.answer import usd_text, years_phrase
from perfledger_service.rendering.cost.compare import (
    DOUBT,
    age_notes,
    amount_interval,
    energy_phrase,
    footprint_record,
    option_with_mark,
    owning_table,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    Column,
    Document,
    Table,
    attributes,
    bar,
    fact,
    facts,
    field_names,
    figure,
    heading,
    notes,
    record_facts,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.values.cost_views import OwningView, RentalOption

# Medians closer than this to the most likely figure count as equal to it.
_SAME_SHARE = 0.005


def owning_document(view: OwningView) -> Document:
    """Return an owned server's yearly cost, cost of a useful hour, and value over renting."""
    names = (view.sheet, *(rent.name for rent in view.rents))
    return Document(
        name="perfledger-owning",
        version=3,
        facts={
            "server": view.label,
            **attributes(view, "sheet", "accelerators", "use", "terms"),
            "footprint": footprint_record(view.footprint),
        },
        blocks=(
            title(title_of_owning(view)),
            _parts(view),
            *sentences([useful_hour_sentence(view), reconciliation_sentence(view)]),
            _tornado(view),
            table(
                record_facts(OptionComparison, lambda hour: hour), [view.hour], key="useful_hour"
            ),
            *_rents(view),
            *notes(owning_notes(view), names=names),
        ),
    )


def _parts(view: OwningView) -> Table:
    total = sum(likely for _, _, likely, _ in view.parts)
    return table(
        (
            words("part", "USD a year", lambda row: row[0]),
            figure("p5_usd", "5 %", lambda row: row[1], integer),
            figure("mode_usd", "most likely", lambda row: row[2], integer),
            figure("p95_usd", "95 %", lambda row: row[3], integer),
            bar(lambda row: row[2] / total),
        ),
        view.parts,
        key="usd_per_year",
        footer=("total", "", integer(total), "", ""),
    )


def _tornado(view: OwningView) -> Table:
    widest = max((bar.width_usd for bar in view.bars), default=0.0)

    return table(
        (
            words(
                "",
                "USD per useful hour, if this input is",
                lambda row: input_phrase(row.parameter),
            ),
            fact("parameter", lambda row: row.parameter),
            figure("low_usd", "low", lambda row: row.low_usd, usd_text),
            figure("high_usd", "high", lambda row: row.high_usd, usd_text),
            fact("rank_correlation", lambda row: row.rank_correlation),
            bar(lambda row: row.width_usd / widest if widest else 0.0),
        ),
        view.bars,
        key="tornado",
        most=sum(bar.width_usd > 0 for bar in view.bars),
    )


def _rents(view: OwningView) -> Iterator[Block]:
    """Yield the value of owning instead of each rental option."""
    columns: tuple[Column[RentalOption], ...] = (
        fact("option", lambda rent: rent.name),
        *facts("region", "as_of", "is_read_date", "source", of="price"),
        *facts("is_doubtful", "warnings"),
        *facts(*field_names(Investment), of="investment"),
    )
    if view.rents:
        years = view.rents[0].investment.years
        yield heading(f"Instead of renting, over {years} years")
        yield owning_table(
            [
                (option_with_mark(rent.name, rent), rent.price, rent.investment)
                for rent in view.rents
            ]
        )
    yield table(columns, view.rents, key="in_place_of")


def title_of_owning(view: OwningView) -> str:
    """Return the owned server and its terms as a title."""
    terms = view.terms
    words = [f"{view.label}, with {number_format.margin(view.use)} of the paid hours allocated"]
    if terms.availability < 1:
        words.append(f"of the {number_format.margin(terms.availability)} that it is up")
    if terms.site is ServerSite.FACILITY:
        words.append("in your own facility")
    if not terms.has_support:
        words.append("without support")
    return ", ".join(words)


def useful_hour_sentence(view: OwningView) -> str:
    """Return the cost of a useful hour of an owned server as a sentence."""
    ends = amount_interval(view.hour)
    between = f" (5 to 95 %: {ends})" if ends else ""
    return (
        f"Cost per useful hour of one of its {view.accelerators} accelerators, median of "
        f"{DRAWS:,} draws: {usd_text(view.hour.p50_usd)} USD{between}"
    )


def reconciliation_sentence(view: OwningView) -> str:
    """Return how the most likely yearly total, the cost of a useful hour and the median relate."""
    total = sum(likely for _, _, likely, _ in view.parts)
    availability = view.terms.availability
    hours = view.accelerators * HOURS_PER_YEAR * availability * view.use
    up = f" · {number_format.margin(availability)} up" if availability < 1 else ""
    text = (
        f"The most likely {integer(total)} USD a year / {integer(hours)} useful hours "
        f"({view.accelerators} · {HOURS_PER_YEAR:,} h{up} · {number_format.margin(view.use)}) = "
        f"{usd_text(view.hour.mode_usd)} USD an hour"
    )
    difference = view.hour.p50_usd / view.hour.mode_usd - 1
    if abs(difference) < _SAME_SHARE:
        return f"{text}, as the median."
    word, reach = ("higher", "up than down") if difference > 0 else ("lower", "down than up")
    return f"{text}. The median is {word}: the ranges of the inputs reach further {reach}."


def owning_notes(view: OwningView) -> Iterator[str]:
    """Yield notes about the figures of an owned server."""
    years = view.kept_years
    yield (
        f"Capital is spread over {years_phrase(years)} and the resale value after "
        f"{MONTHS_PER_YEAR * int(view.terms.years)} months"
        + ("" if years[0] == years[-1] else ", the years of depreciation; --years 3 sells after 36")
        + "."
    )
    yield f"Energy of a useful hour: {energy_phrase(view.footprint)}."
    if view.terms.drawn_kw is not None:
        yield f"The measured power of {typed(view.terms.drawn_kw)} kW is used as given."
    if view.hour.assumed:
        yield f"Assumed, not measured: {'; '.join(view.hour.assumed)}."
    if any(rent.is_doubtful for rent in view.rents):
        yield f"{DOUBT} marks a price of low confidence."
    yield from age_notes((each, rent.name) for rent in view.rents for each in rent.warnings)
    yield f"Prices: {view.sheet}; --format csv names the source of each."
