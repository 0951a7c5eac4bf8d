"""Turns what hours and pieces of work cost into terminal text and Markdown.

Nothing that others wrote reaches a page but as clean text.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.comparison import BreakEven, Compared
from perfledger_cost_models.footprint import Footprint
from perfledger_cost_models.investment import Investment
from perfledger_cost_models.onprem import Site
from perfledger_cost_models.sheet import PricingModel
from perfledger_service.cost_views import CostRow, CostView, OwningView, Rent
from perfledger_service.pages.escape import clean, code, prose

_MAX_NAME = 120
_MAX_NOTE = 4000
_BAR = 16  # characters of the longest bar
_SHORT_BAR = 6  # beside the names of options, which are long
_DOUBT = "?"


def costs_text(view: CostView) -> Group:
    """Return what hours or work cost for a terminal of 80 columns, with a bar for each option."""
    parts: list[RenderableType] = [Text(title_of(view), style="bold")]
    for name, rows in _grouped(view):
        if name:
            parts += [Text(), Text(name, style="bold")]
        parts.append(_options(rows))
    owners = dict.fromkeys(row.owner for row in view.rows if row.investment is not None)
    for owner in owners:
        found = [
            (_doubted(row.cost.name, row), row.investment)
            for row in view.rows
            if row.owner == owner and row.investment is not None
        ]
        title = f"Owning {owner} in place of, over {found[0][1].years} years"
        parts += [Text(), Text(title, style="bold"), _investments(found)]
    notes = [Text(clean(words, limit=_MAX_NOTE), style="dim") for words in notes_of(view)]
    return Group(*parts, Text(), *notes)


def costs_markdown(view: CostView) -> str:
    """Return what hours or work cost as Markdown."""
    titles = ("option", "USD", "chance of being cheapest", "owning pays from", "as of", "NPV, USD")
    lines = [title_of(view)]
    for name, rows in _grouped(view):
        lines += ["", *([f"**{prose(name, in_table=False)}**", ""] if name else [])]
        lines += [f"| {' | '.join(titles)} |", "|---|---:|---:|---:|---|---:|"]
        for row in rows:
            shown = shown_cost(row)
            as_of = row.price.as_of.isoformat() if row.price else ""
            worth = f"{row.investment.npv_p50_usd:z,.0f}" if row.investment else ""
            lines.append(
                f"| {_doubted(code(row.cost.name, limit=_MAX_NAME), row)} "
                f"| {_with_interval(shown)} "
                f"| {chance(row)} "
                f"| {own_from(row.break_even)} | {as_of} | {worth} |"
            )
    names = (view.sheet, *(row.cost.name for row in view.rows))
    lines += ["", *(f"{_note(words, names)}  " for words in notes_of(view))]
    return "\n".join(lines) + "\n"


def owning_text(view: OwningView) -> Group:
    """Return what owning costs for a terminal of 80 columns: parts, the hour, a tornado."""
    parts = _figures_grid()
    parts.add_row("USD a year", "most likely", "5-95 %", "", style="dim")
    whole = sum(likely for _, _, likely, _ in view.parts)
    for name, p5, likely, p95 in view.parts:
        length = round(_BAR * likely / whole)
        parts.add_row(name, f"{likely:,.0f}", f"{p5:,.0f}-{p95:,.0f}", "█" * length)
    parts.add_row("together", f"{whole:,.0f}", "", "", style="bold")
    tornado = _figures_grid()
    tornado.add_row("USD an hour, when this is", "low", "high", "", style="dim")
    widest = view.bars[0].width_usd
    for bar in (each for each in view.bars if each.width_usd > 0):
        tornado.add_row(
            bar.parameter.replace("_", " "),
            amount(bar.low_usd),
            amount(bar.high_usd),
            "█" * max(1, round(_BAR * bar.width_usd / widest)),
        )
    rents: list[RenderableType] = []
    if view.rents:
        years = view.rents[0].investment.years
        title = Text(f"In place of renting, over {years} years", style="bold")
        found = [(_doubted(rent.name, rent), rent.investment) for rent in view.rents]
        rents = [Text(), title, _investments(found)]
    return Group(
        Text(title_of_owning(view), style="bold"),
        parts,
        Text(),
        Text(useful(view)),
        Text(),
        tornado,
        *rents,
        Text(),
        *(Text(clean(note, limit=_MAX_NOTE), style="dim") for note in owning_notes(view)),
    )


def owning_markdown(view: OwningView) -> str:
    """Return what owning costs as Markdown."""
    lines = [title_of_owning(view), ""]
    lines += ["| USD a year | most likely | 5 % | 95 % |", "|---|---:|---:|---:|"]
    lines += [
        f"| {name} | {likely:,.0f} | {p5:,.0f} | {p95:,.0f} |"
        for name, p5, likely, p95 in view.parts
    ]
    whole = sum(likely for _, _, likely, _ in view.parts)
    lines += [f"| **together** | **{whole:,.0f}** | | |"]
    lines += ["", "| USD a useful hour, when this is | low | high |", "|---|---:|---:|"]
    lines += [
        f"| {bar.parameter.replace('_', ' ')} | {amount(bar.low_usd)} | {amount(bar.high_usd)} |"
        for bar in view.bars
        if bar.width_usd > 0
    ]
    lines += ["", "| in place of | as of | NPV, USD | payback | after use of | IRR |"]
    lines += ["|---|---|---:|---:|---:|---:|"]
    lines += [
        f"| {_doubted(code(rent.name, limit=_MAX_NAME), rent)} | {rent.price.as_of} "
        f"| {rent.investment.npv_p50_usd:z,.0f} | {_payback(rent.investment)} "
        f"| {_payback_use(rent.investment)} | {_irr(rent.investment)} |"
        for rent in view.rents
    ]
    names = (view.sheet, *(rent.name for rent in view.rents))
    lines += [
        "",
        useful(view),
        *(f"  \n{_note(note, names)}" for note in owning_notes(view)),
    ]
    return "\n".join(lines) + "\n"


def title_of(view: CostView) -> str:
    """Return what is compared, in a sentence."""
    share = f"with {_percent(view.use)} of the hours paid for useful"
    if view.piece:
        return f"{view.piece.capitalize()}, {share}"
    if len(view.accelerators) == 1:
        return f"A useful hour of one {view.accelerators[0]}, {share}"
    return f"A useful hour of one accelerator, {share}"


def title_of_owning(view: OwningView) -> str:
    """Return what is owned and how, in a sentence."""
    terms = view.terms
    words = [f"{view.label} at {_percent(view.use)} use"]
    if terms.availability < 1:
        words.append(f"of {terms.availability:.1%} of the hours")
    if terms.site is Site.FACILITY:
        words.append("in an own facility")
    if not terms.has_support:
        words.append("without support")
    return ", ".join(words)


def useful(view: OwningView) -> str:
    """Return what a useful hour of an owned server costs, in a sentence."""
    ends = interval(view.hour)
    between = f" ({ends})" if ends else ""
    return (
        f"A useful hour of one of its {view.accelerators} accelerators: "
        f"{amount(view.hour.p50_usd)} USD{between}"
    )


def shown_cost(row: CostRow) -> Compared:
    """Return the cost that a row is about: of the piece of work, else of the hour."""
    return row.cost if row.work is None else row.work


def amount(usd: float) -> str:
    """Return an amount to the cent, and smaller ones to three digits."""
    return f"{usd:,.2f}" if usd >= 1 else f"{usd:.3g}"


def interval(cost: Compared) -> str:
    """Return the 5 % and 95 % quantiles, "" where the amount is certain."""
    ends = amount(cost.p5_usd), amount(cost.p95_usd)
    return "" if ends[0] == ends[1] else "-".join(ends)


def chance(row: CostRow) -> str:
    """Return the chance of being cheapest; "" for a price of low confidence, which is in none."""
    return "" if row.is_doubtful else f"{shown_cost(row).chance_cheapest:.0%}"


def own_from(found: BreakEven | None) -> str:
    """Return from which use owning is cheaper, in words; "" where nothing is owned."""
    if found is None:
        return ""
    return "never" if found.p50 is None else f"{found.p50:.0%}"


def notes_of(view: CostView) -> Iterator[str]:
    """Yield what a reader has to know about the figures, a sentence or two each."""
    yield "Medians and, in brackets, the 5 % and 95 % quantiles of 20,000 draws."
    if not view.piece and len(view.accelerators) > 1:
        yield (
            "Hours of different accelerators are not alike: the chances are among options of one. "
            "Give their speeds (--speed, --step, --queries, --train, --bundle) to compare them."
        )
    for work in view.works:
        hours = f"{work.hours:.4g} accelerator-hours"
        yield f"{work.piece.capitalize()} on {work.accelerator}: {hours}, {work.source}."
    yield from _footprint_notes(view)
    yield from _row_notes(view)
    if view.assumed:
        yield f"Assumed, not measured: {', '.join(view.assumed)}."
    for words in view.unknown:
        yield f"Unknown: {words}."
    yield from _age_notes((each, row.cost.name) for row in view.rows for each in row.warnings)
    yield f"Prices: {view.sheet}; --format csv names the source of each."


def owning_notes(view: OwningView) -> Iterator[str]:
    """Yield what a reader has to know about an owned server's figures."""
    yield f"Energy of a useful hour: {_energy(view.footprint)}."
    if view.terms.drawn_kw is not None:
        yield f"The draw of {view.terms.drawn_kw:g} kW was given as measured."
    if view.hour.assumed:
        yield f"Assumed, not measured: {', '.join(view.hour.assumed)}."
    if any(rent.is_doubtful for rent in view.rents):
        yield f"{_DOUBT} marks a price of low confidence."
    yield from _age_notes((each, rent.name) for rent in view.rents for each in rent.warnings)
    yield f"Prices: {view.sheet}; --format csv names the source of each."


def _grouped(view: CostView) -> Iterator[tuple[str, tuple[CostRow, ...]]]:
    """Yield the rows by accelerator, "" where they are all held against each other."""
    if view.piece or len(view.accelerators) == 1:
        yield "", view.rows
        return
    for name, rows in groupby(view.rows, key=lambda row: row.cost.accelerator):
        yield name, tuple(rows)


def _note(words: str, names: Sequence[str]) -> str:
    """Return a note in Markdown, whole: what it names as assumed must not be cut away."""
    return prose(words, names=names, limit=_MAX_NOTE, in_table=False)


def _options(rows: Sequence[CostRow]) -> Table:
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "right", "left", "right", "right"):
        grid.add_column(justify=justify, overflow="fold")
    grid.add_row("option", "USD", "", "cheapest", "own from", style="dim")
    longest = max(shown_cost(row).p50_usd for row in rows)
    for row in rows:
        cost = shown_cost(row)
        grid.add_row(
            Text(_doubted(clean(cost.name, limit=_MAX_NAME), row)),
            _with_interval(cost),
            "█" * max(1, round(_SHORT_BAR * cost.p50_usd / longest)),
            chance(row),
            own_from(row.break_even),
        )
    return grid


def _investments(found: Sequence[tuple[str, Investment]]) -> Table:
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "right", "right", "right"):
        grid.add_column(justify=justify, overflow="fold")
    grid.add_row("", "NPV, 1000 USD", "payback", "IRR", style="dim")
    for name, each in found:
        p5, p50, p95 = (
            f"{usd / 1000:z,.0f}" for usd in (each.npv_p5_usd, each.npv_p50_usd, each.npv_p95_usd)
        )
        grid.add_row(
            Text(clean(name, limit=_MAX_NAME)),
            f"{p50} ({p5} to {p95})",
            _payback(each),
            _irr(each),
        )
    return grid


def _row_notes(view: CostView) -> Iterator[str]:
    """Yield how to read spot, doubtful prices and the use from which owning pays."""
    is_spot = any(row.price and row.price.pricing_model is PricingModel.SPOT for row in view.rows)
    if is_spot and view.spot_saves_h is None:
        yield "Spot prices are without what interruptions cost: give --interruptions and --save."
    elif is_spot and (saves := view.spot_saves_h) is not None:
        yield (
            f"Spot has what interruptions cost, with a save every {saves.best_h:.3g} h: the "
            f"interval at which work is done soonest (Young's formula {saves.young_h:.3g} h, "
            f"Daly's {saves.daly_h:.3g} h)."
        )
    if any(row.is_doubtful for row in view.rows):
        yield f"{_DOUBT} marks a price of low confidence: it is in no chance of being cheapest."
    if any(row.break_even for row in view.rows):
        yield (
            "Owning pays from that use on; against a commitment, from there on if no more is "
            "committed to than is used. NPV is against the cost above, at this use."
        )
    others = {row.cost.accelerator: row.owner for row in view.rows if row.is_held_by_work}
    for accelerator, owner in others.items():
        yield f"{accelerator} is held against {owner} by the same work."


def _footprint_notes(view: CostView) -> Iterator[str]:
    """Yield the energy and carbon of a piece, or an hour, of each accelerator, owned and not."""
    found: dict[tuple[str, str], Footprint] = {}
    unknown: list[str] = []
    what = view.piece or "a useful hour"
    for row in view.rows:
        footprint = row.piece_footprint if view.piece else row.footprint
        if footprint is not None:
            found.setdefault((row.cost.accelerator, footprint.where), footprint)
        elif row.footprint is None and row.cost.accelerator not in unknown:
            unknown.append(row.cost.accelerator)
    for (accelerator, where), each in found.items():
        yield f"Energy of {what} on {accelerator}, {where}: {_energy(each)}."
    if unknown:
        yield f"Energy and carbon are unknown for {', '.join(unknown)}: no draw of its servers."


def _energy(found: Footprint) -> str:
    """Return energy and carbon in words, what is unknown as unknown."""
    carbon = found.carbon
    kwh = f"{amount(carbon.energy_kwh)} kWh ({amount(found.kwh_p5)}-{amount(found.kwh_p95)})"
    located, marketed = (
        "unknown" if kg is None else f"{amount(kg)} kg"
        for kg in (carbon.location_kg, carbon.market_kg)
    )
    return f"{kwh}, CO2 {located} by location, {marketed} by market"


def _age_notes(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each warning about a price's age once, after the names of those that it is about."""
    for warning, pairs in groupby(sorted(found), key=lambda pair: pair[0]):
        yield f"{', '.join(name for _, name in pairs)}: {warning}."


def _doubted(name: str, row: CostRow | Rent) -> str:
    """Return a name that is marked where its price is of low confidence."""
    return f"{name} {_DOUBT}" if row.is_doubtful else name


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"


def _figures_grid() -> Table:
    """Return a table of a name, two figures and a bar."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    grid.add_column()
    return grid


def _with_interval(cost: Compared) -> str:
    ends = interval(cost)
    return f"{amount(cost.p50_usd)} ({ends})" if ends else amount(cost.p50_usd)


def _payback(found: Investment) -> str:
    return "never" if found.payback_years is None else f"{found.payback_years:.1f} y"


def _payback_use(found: Investment) -> str:
    """Return the hours of the server's use in which it repays itself."""
    return "never" if found.payback_hours is None else f"{found.payback_hours:,.0f} h"


def _irr(found: Investment) -> str:
    return "none" if found.irr is None else f"{found.irr:.0%}"
