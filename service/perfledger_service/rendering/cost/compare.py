"""Presents the cost of hours and pieces of work on each purchase option.

Untrusted text is shown only as clean text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from perfledger.rounding import decimals, digits, integer
from perfledger_cost_models.energy.carbon_footprint import CarbonFootprint
from perfledger_cost_models.prices.price_sheet import Price, PricingModel
from perfledger_cost_models.prices.staleness import MAX_STALE_DAYS
from perfledger_cost_models.quote import price_origin
from perfledger_cost_models.tco.buy_vs_rent import BreakEven, OptionComparison
from perfledger_cost_models.tco.npv import Investment
from perfledger_service.rendering.cost.answer import (
    answer_blocks,
    answer_record,
    switches_blocks,
    usd_text,
    years_phrase,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    CellKind,
    Column,
    Document,
    Table,
    attributes,
    bar,
    display,
    fact,
    facts,
    field_names,
    heading,
    name,
    notes,
    table,
    title,
)
from perfledger_service.values.cost_views import CostRow, CostView, RentalOption

MAX_OPTION = 120  # characters of an option's name
_SHORT_BAR = 6  # blocks; option names leave little room
DOUBT = "?"
FOOTPRINT_PARTS = (
    *("where", "energy_kwh_p5", "energy_kwh", "energy_kwh_p95"),
    *("location_kg", "market_kg"),
)


def costs_document(view: CostView) -> Document:
    """Return the answer, what would change it, and the cost of hours or work on each option."""
    rows = shown_rows(view)
    longest = max(shown_cost(row).p50_usd for row in rows)
    is_grouped = not view.piece and len(view.accelerators) > 1
    names = (view.sheet, *(row.cost.name for row in view.rows))
    return Document(
        name="perfledger-costs",
        version=3,
        facts={
            "accelerator": ", ".join(view.accelerators),
            "sheet": view.sheet,
            "use": view.use,
            "piece": view.piece or None,
            "answer": answer_record(
                view.answer, use=view.use, piece=view.piece, kept_years=view.kept_years
            ),
            **attributes(view, "works", "assumed", "unknown"),
        },
        blocks=(
            title(title_of(view)),
            *answer_blocks(view.answer, use=view.use, piece=view.piece, kept_years=view.kept_years),
            table(
                _shown_columns(longest),
                rows,
                group=(lambda row: row.cost.accelerator) if is_grouped else None,
            ),
            table(_columns(), view.rows, key="options"),
            *switches_blocks(view.answer),
            *owning_blocks(rows),
            *notes(notes_of(view), names=names),
        ),
    )


def shown_rows(view: CostView) -> tuple[CostRow, ...]:
    """Return the rows for people: the cheapest of each accelerator and purchase mode, or all.

    Prices of low confidence, and those that younger ones supersede, are left out.
    """
    if view.shows_all:
        return view.rows
    first: dict[tuple[object, ...], CostRow] = {}
    for row in view.rows:
        if not (row.is_doubtful or row.is_superseded):
            model = row.price.pricing_model if row.price else None
            years = (
                row.price.option_term.partition("_")[0] if row.is_committed and row.price else ""
            )
            first.setdefault((row.cost.accelerator, model, years), row)
    return tuple(first.values()) or view.rows


def _shown_columns(longest: float) -> tuple[Column[CostRow], ...]:
    """Return an option's columns for people; `longest` is the amount of the longest bar."""
    return (
        display(
            "option",
            lambda row: option_with_mark(row.cost.name, row),
            kind=CellKind.NAME,
            limit=MAX_OPTION,
        ),
        display("USD", lambda row: _with_interval(shown_cost(row))),
        bar(lambda row: shown_cost(row).p50_usd / longest, longest=_SHORT_BAR),
        display("cheapest", chance_cheapest),
        display("break-even", lambda row: break_even_phrase(row.break_even)),
        display("region and date", _price_origin, kind=CellKind.REMARK),
    )


def _columns() -> tuple[Column[CostRow], ...]:
    """Return an option's columns for programs."""
    return (
        name("name", None, lambda row: row.cost.name),
        name("accelerator", None, lambda row: row.cost.accelerator),
        *facts("region", of="price"),
        *facts("mode_usd", "p5_usd", "p50_usd", "p95_usd", of="cost"),
        fact("chance_cheapest", lambda row: _chance(row, row.cost)),
        fact("work", _work, parts=field_names(OptionComparison)),
        fact("break_even", lambda row: row.break_even, parts=field_names(BreakEven)),
        *facts("equal_size_chance", "is_committed"),
        fact("investment", lambda row: row.investment, parts=field_names(Investment)),
        fact("footprint", lambda row: footprint_record(row.footprint), parts=FOOTPRINT_PARTS),
        fact(
            "piece_footprint",
            lambda row: footprint_record(row.piece_footprint),
            parts=FOOTPRINT_PARTS,
        ),
        *facts("as_of", "is_read_date", "source", "source_url", of="price"),
        fact("provenance", lambda row: row.layer),
        fact("owner", lambda row: row.owner or None),
        fact("assumed", lambda row: row.cost.assumed),
        fact("warnings", lambda row: row.warnings),
    )


def owning_table(investments: Sequence[tuple[str, Price, Investment]]) -> Table:
    """Return the columns of the value of owning instead of each option, for people."""
    return table(
        (
            name("", "instead of", lambda row: row[0], limit=MAX_OPTION),
            display("NPV, 1000 USD", lambda row: _present_value(row[2])),
            display("payback", lambda row: _payback(row[2])),
            display("after", lambda row: _payback_use(row[2])),
            display("IRR", lambda row: _irr(row[2])),
            display("region and date", lambda row: origin_of(row[1]), kind=CellKind.REMARK),
        ),
        investments,
    )


def footprint_record(footprint: CarbonFootprint | None) -> Mapping[str, object] | None:
    """Return energy and carbon for programs, None if the power is unknown."""
    if footprint is None:
        return None
    carbon = footprint.carbon
    figures = (footprint.kwh_p5, carbon.energy_kwh, footprint.kwh_p95)
    values = (footprint.where, *figures, carbon.location_kg, carbon.market_kg)
    return dict(zip(FOOTPRINT_PARTS, values, strict=True))


def title_of(view: CostView) -> str:
    """Return the subject of the comparison as a title."""
    share = f"with {number_format.margin(view.use)} of the paid hours allocated"
    if view.piece:
        return f"{view.piece.capitalize()}, {share}"
    if len(view.accelerators) == 1:
        return f"A useful hour of one {view.accelerators[0]}, {share}"
    return f"A useful hour of one accelerator, {share}"


def shown_cost(row: CostRow) -> OptionComparison:
    """Return the cost of a row: that of the piece of work, else that of the hour."""
    return row.cost if row.work is None else row.work


def amount_interval(cost: OptionComparison) -> str:
    """Return the 5 % and 95 % quantiles, "" if the amount is certain."""
    ends = usd_text(cost.p5_usd), usd_text(cost.p95_usd)
    return "" if ends[0] == ends[1] else "-".join(ends)


def chance_cheapest(row: CostRow) -> str:
    """Return the chance of being cheapest; "" for an option that may not rank."""
    return "" if not row.may_rank else number_format.whole_share(shown_cost(row).chance_cheapest)


def break_even_phrase(break_even: BreakEven | None) -> str:
    """Return the break-even utilization as text; "" if no server is owned."""
    if break_even is None:
        return ""
    return "never" if break_even.p50 is None else number_format.whole_share(break_even.p50)


def owning_blocks(rows: Sequence[CostRow]) -> Iterator[Block]:
    """Yield a table per server: the value of owning it instead of each option."""
    owners = dict.fromkeys(row.owner for row in rows if row.investment is not None)
    for owner in owners:
        investments = [
            (option_with_mark(row.cost.name, row), row.price, row.investment)
            for row in rows
            if row.owner == owner and row.price is not None and row.investment is not None
        ]
        years = investments[0][2].years
        yield heading(f"Owning {owner} instead of renting, over {years} years", names=[owner])
        yield owning_table(investments)


def notes_of(view: CostView) -> Iterator[str]:
    """Yield notes about the figures, a sentence or two each."""
    yield "Medians and, in brackets, the 5 % and 95 % quantiles of 20,000 draws."
    if hidden := len(view.rows) - len(shown_rows(view)):
        yield (
            f"The cheapest option of each accelerator and purchase mode; --all shows {hidden} more."
        )
    if not view.piece and len(view.accelerators) > 1:
        yield (
            "Hours of different accelerators are not comparable: each chance is among the "
            "options of one accelerator. To compare them, give their speeds (--throughput, "
            "--step-seconds, --queries-per-second, --time-to-train or --bundle)."
        )
    for work in view.works:
        hours = f"{digits(work.hours)} accelerator-hours"
        yield f"{work.piece.capitalize()} on {work.accelerator}: {hours}, {work.source}."
    yield from _footprint_notes(view)
    yield from _row_notes(view)
    if view.assumed:
        yield f"Assumed, not measured: {'; '.join(view.assumed)}."
    for words in view.unknown:
        yield f"Unknown: {words}."
    yield from age_notes((each, row.cost.name) for row in shown_rows(view) for each in row.warnings)
    yield f"Prices: {view.sheet}; --format csv names the source of each, and its address."


def energy_phrase(footprint: CarbonFootprint) -> str:
    """Return energy and carbon in words; unknown values are stated as such."""
    carbon = footprint.carbon
    ends = f"{usd_text(footprint.kwh_p5)}-{usd_text(footprint.kwh_p95)}"
    by_location, by_market = (
        "unknown" if kg is None else f"{usd_text(kg)} kg"
        for kg in (carbon.location_kg, carbon.market_kg)
    )
    energy = f"{usd_text(carbon.energy_kwh)} kWh ({ends})"
    return f"{energy}, CO2 {by_location} location-based, {by_market} market-based"


def age_notes(warnings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each warning about the age of prices once, after the names of their options."""
    for warning, pairs in groupby(sorted(warnings), key=lambda pair: pair[0]):
        yield f"{', '.join(name for _, name in pairs)}: {warning}."


def superseded_notes(rows: Iterable[CostRow]) -> Iterator[str]:
    """Yield which options are not ranked because their prices are old, unlike others'."""
    if old := [row.cost.name for row in rows if row.is_superseded]:
        yield (
            f"Over {MAX_STALE_DAYS} days old, and so not ranked beside younger prices: "
            f"{', '.join(old)}."
        )


def option_with_mark(option: str, row: CostRow | RentalOption) -> str:
    """Return a name, with a mark if its price is of low confidence."""
    return f"{option} {DOUBT}" if row.is_doubtful else option


def origin_of(price: Price) -> str:
    """Return the region and the day of a price in words."""
    return price_origin(price.region, price.as_of, is_read_date=price.is_read_date)


def _price_origin(row: CostRow) -> str:
    if row.server_price is not None:
        return f"server price {row.server_price.dated}"
    return origin_of(row.price) if row.price else ""


def _work(row: CostRow) -> Mapping[str, object] | None:
    """Return the cost of a piece of work, without a chance to be cheapest if it may not rank."""
    if row.work is None:
        return None
    return asdict(row.work) | {"chance_cheapest": _chance(row, row.work)}


def _chance(row: CostRow, cost: OptionComparison) -> float | None:
    return cost.chance_cheapest if row.may_rank else None


def _present_value(investment: Investment) -> str:
    low, middle, high = (
        integer(usd / 1000)
        for usd in (investment.npv_p5_usd, investment.npv_p50_usd, investment.npv_p95_usd)
    )
    return f"{middle} ({low} to {high})"


def _row_notes(view: CostView) -> Iterator[str]:
    """Yield notes about spot prices, doubtful prices and the break-even."""
    is_spot = any(row.price and row.price.pricing_model is PricingModel.SPOT for row in view.rows)
    if is_spot and view.checkpoint_intervals is None:
        yield (
            "Spot prices exclude interruptions, and are left out of the answer and the chances: "
            "give --interruptions-per-hour and --checkpoint-seconds."
        )
    elif is_spot and (saves := view.checkpoint_intervals) is not None:
        yield (
            f"Spot prices include interruptions, with a checkpoint every {digits(saves.best_h, 3)} "
            "h, the interval that finishes work soonest (Young's formula: "
            f"{digits(saves.young_h, 3)} h, Daly's: {digits(saves.daly_h, 3)} h)."
        )
    if view.answer is not None and any(each.is_input for each in view.answer.switches):
        yield (
            "The table of what would change the answer takes each input as exactly known; the "
            "costs above include its range."
        )
    if any(row.is_doubtful for row in view.rows):
        yield f"{DOUBT} marks a price of low confidence, which is left out of the chances."
    yield from superseded_notes(view.rows)
    if any(row.break_even for row in view.rows):
        years = f" for {years_phrase(view.kept_years)}" if view.kept_years else ""
        yield (
            f"Break-even: the allocated share from which owning{years} is cheaper; against a "
            "commitment, if it is sized to the hours used. The cost above is for a commitment "
            "of as many devices as are owned, paid for every hour; NPV is relative to it. NPV "
            "is the median of the draws, payback and IRR are for the most likely inputs."
        )
    owners = {row.cost.accelerator: row.owner for row in view.rows if row.is_same_work}
    for accelerator, owner in owners.items():
        yield f"{accelerator} is compared with {owner} for the same work."


def _footprint_notes(view: CostView) -> Iterator[str]:
    """Yield the energy and carbon of a piece of work, or an hour, on each accelerator."""
    footprints: dict[tuple[str, str], CarbonFootprint] = {}
    unknown: list[str] = []
    what = view.piece or "a useful hour"
    for row in view.rows:
        footprint = row.piece_footprint if view.piece else row.footprint
        if footprint is not None:
            footprints.setdefault((row.cost.accelerator, footprint.where), footprint)
        elif row.footprint is None and row.cost.accelerator not in unknown:
            unknown.append(row.cost.accelerator)
    for (accelerator, where), each in footprints.items():
        yield f"Energy of {what} on {accelerator}, {where}: {energy_phrase(each)}."
    if unknown:
        yield (
            f"Energy and carbon are unknown for {', '.join(unknown)}: the power of the servers is "
            "unknown."
        )


def _with_interval(cost: OptionComparison) -> str:
    ends = amount_interval(cost)
    return f"{usd_text(cost.p50_usd)} ({ends})" if ends else usd_text(cost.p50_usd)


def _payback(investment: Investment) -> str:
    years = investment.payback_years
    return "never" if years is None else f"{decimals(years, 1)} y"


def _payback_use(investment: Investment) -> str:
    """Return the hours of use after which the server pays for itself."""
    hours = investment.payback_hours
    return "never" if hours is None else f"{integer(hours)} h"


def _irr(investment: Investment) -> str:
    return "none" if investment.irr is None else number_format.whole_share(investment.irr)
