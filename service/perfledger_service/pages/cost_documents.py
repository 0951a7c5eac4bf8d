"""Turns what hours and pieces of work cost into JSON, CSV and one SVG that stands alone."""

import csv
import json
from collections.abc import Mapping
from dataclasses import asdict
from io import StringIO

from perfledger_service.cost_views import CostRow, CostView, OwningView
from perfledger_service.pages.cost_plots import (
    CURVES_HEIGHT,
    curve_plot,
    tornado_plot,
)
from perfledger_service.pages.costs import (
    amount,
    chance,
    interval,
    notes_of,
    own_from,
    owning_notes,
    shown_cost,
    title_of,
    title_of_owning,
    useful,
)
from perfledger_service.pages.escape import cell
from perfledger_service.pages.kernel_rows import BarRow
from perfledger_service.pages.picture import Part, PartKind, bars_part, notes_part, svg_sheet

# 1: first version. Keys are only ever added.
COSTS_FORMAT = "perfledger-costs"
OWNING_FORMAT = "perfledger-owning"
VERSION = 1
_CSV_COLUMNS = (
    "option",
    "accelerator",
    "region",
    "piece",
    "usd_p5",
    "usd_p50",
    "usd_p95",
    "usd_mode",
    "usd_per_useful_hour",
    "chance_cheapest",
    "break_even_use",
    "npv_usd",
    "payback_years",
    "payback_hours",
    "irr",
    "kwh_per_useful_hour",
    "kg_co2_location",
    "kg_co2_market",
    "kwh_per_piece",
    "kg_co2_location_per_piece",
    "kg_co2_market_per_piece",
    "as_of",
    "source",
    "assumed",
    "warnings",
    "provenance",
)
_SHORT = 54


def costs_json(view: CostView) -> str:
    """Return what hours or work cost as JSON; null where there is no figure."""
    document = {
        "format": COSTS_FORMAT,
        "version": VERSION,
        "accelerator": ", ".join(view.accelerators),
        "sheet": view.sheet,
        "use": view.use,
        "piece": view.piece or None,
        "works": [asdict(work) for work in view.works],
        "assumed": list(view.assumed),
        "unknown": list(view.unknown),
        "options": [_option(row) for row in view.rows],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def costs_csv(view: CostView) -> str:
    """Return what hours or work cost as CSV, a row for each option; empty where unknown."""
    text = StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(text, _CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in view.rows:
        writer.writerow(_cells(row, view.piece or "an hour"))
    return text.getvalue()


def costs_svg(view: CostView) -> str:
    """Return the break-even chart of the first accelerator that could be owned, and all options."""
    parts: list[Part] = []
    if view.curves:
        parts.append(
            Part(
                kind=PartKind.CURVES,
                title=f"{view.owner} against every way to rent: dots are where owning pays",
                plot=curve_plot(view.curves),
                height=CURVES_HEIGHT,
            )
        )
    longest = max(shown_cost(row).p50_usd for row in view.rows)
    rows = tuple(_bar(row, longest) for row in view.rows)
    title = "USD, chance of being the cheapest, use from which owning pays, 5 and 95 % quantiles"
    parts.append(bars_part(title, rows))
    parts.append(notes_part(tuple(notes_of(view))))
    return svg_sheet(title_of(view), f"Prices: {view.sheet}", parts)


def owning_json(view: OwningView) -> str:
    """Return what owning costs as JSON."""
    document = {
        "format": OWNING_FORMAT,
        "version": VERSION,
        "server": view.label,
        "sheet": view.sheet,
        "accelerators": view.accelerators,
        "use": view.use,
        "terms": asdict(view.terms),
        "usd_per_year": [
            {"part": name, "p5": p5, "mode": likely, "p95": p95}
            for name, p5, likely, p95 in view.parts
        ],
        "useful_hour": asdict(view.hour),
        "footprint": asdict(view.footprint),
        "tornado": [asdict(bar) for bar in view.bars],
        "in_place_of": [
            {
                "option": rent.name,
                "region": rent.price.region,
                "as_of": rent.price.as_of.isoformat(),
                "source": rent.price.source,
                "is_doubtful": rent.is_doubtful,
                "warnings": list(rent.warnings),
            }
            | asdict(rent.investment)
            for rent in view.rents
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def owning_csv(view: OwningView) -> str:
    """Return the parts of owning and what moves its hour as CSV."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("kind", "name", "unit", "low", "mode", "high", "as_of", "source"))
    for name, p5, likely, p95 in view.parts:
        writer.writerow(("part", name, "USD/year", p5, likely, p95, "", ""))
    hour = view.hour
    ends = (hour.p5_usd, hour.mode_usd, hour.p95_usd)
    writer.writerow(("hour", cell(view.label), "USD/useful hour", *ends, "", ""))
    for bar in view.bars:
        figures = (bar.low_usd, hour.mode_usd, bar.high_usd)
        writer.writerow(("tornado", cell(bar.parameter), "USD/useful hour", *figures, "", ""))
    for rent in view.rents:
        worth, price = rent.investment, rent.price
        figures = (worth.npv_p5_usd, worth.npv_usd, worth.npv_p95_usd)
        dated = (price.as_of.isoformat(), cell(price.source))
        writer.writerow(("npv", cell(rent.name), "USD", *figures, *dated))
        writer.writerow(("payback", cell(rent.name), "h", "", worth.payback_hours, "", *dated))
    for words in hour.assumed:
        writer.writerow(("assumed", cell(words), *[""] * 6))
    return text.getvalue()


def owning_svg(view: OwningView) -> str:
    """Return the tornado of an owned server and what a year of it is made of."""
    plot = tornado_plot(view.bars, mode_usd=view.hour.mode_usd)
    most = max(likely for _, _, likely, _ in view.parts) or 1.0
    rows = tuple(
        BarRow(
            name=name,
            short=name,
            part=likely / most,
            figure=f"{likely:,.0f}",
            share="",
            detail=f"{p5:,.0f} to {p95:,.0f}",
            tone="compute",
        )
        for name, p5, likely, p95 in view.parts
    )
    title = "What each input does to a useful hour (green: at its low, red: at its high)"
    parts = [
        bars_part("USD a year, most likely, with 5 and 95 % quantiles", rows),
        Part(kind=PartKind.TORNADO, title=title, plot=plot, height=plot.height),
        notes_part(tuple(owning_notes(view))),
    ]
    return svg_sheet(title_of_owning(view), useful(view), parts)


def _option(row: CostRow) -> Mapping[str, object]:
    price = row.price
    doubt = {"chance_cheapest": None} if row.is_doubtful else {}
    return (
        asdict(row.cost)
        | doubt
        | {
            "work": None if row.work is None else asdict(row.work) | doubt,
            "break_even": None if row.break_even is None else asdict(row.break_even),
            "investment": None if row.investment is None else asdict(row.investment),
            "footprint": None if row.footprint is None else asdict(row.footprint),
            "piece_footprint": None if row.piece_footprint is None else asdict(row.piece_footprint),
            "as_of": None if price is None else price.as_of.isoformat(),
            "region": None if price is None else price.region,
            "source": None if price is None else price.source,
            "provenance": row.layer,
            "owner": row.owner or None,
            "warnings": list(row.warnings),
        }
    )


def _cells(row: CostRow, piece: str) -> Mapping[str, object]:
    cost, price, worth = shown_cost(row), row.price, row.investment
    carbon = row.footprint.carbon if row.footprint else None
    piece_carbon = row.piece_footprint.carbon if row.piece_footprint else None
    return {
        "option": cell(cost.name),
        "accelerator": cell(cost.accelerator),
        "region": cell(price.region) if price else "",
        "piece": cell(piece),
        "usd_p5": cost.p5_usd,
        "usd_p50": cost.p50_usd,
        "usd_p95": cost.p95_usd,
        "usd_mode": cost.mode_usd,
        "usd_per_useful_hour": row.cost.p50_usd,
        "chance_cheapest": None if row.is_doubtful else cost.chance_cheapest,
        "break_even_use": row.break_even.p50 if row.break_even else None,
        "npv_usd": worth.npv_p50_usd if worth else None,
        "payback_years": worth.payback_years if worth else None,
        "payback_hours": worth.payback_hours if worth else None,
        "irr": worth.irr if worth else None,
        "kwh_per_useful_hour": carbon.energy_kwh if carbon else None,
        "kg_co2_location": carbon.location_kg if carbon else None,
        "kg_co2_market": carbon.market_kg if carbon else None,
        "kwh_per_piece": piece_carbon.energy_kwh if piece_carbon else None,
        "kg_co2_location_per_piece": piece_carbon.location_kg if piece_carbon else None,
        "kg_co2_market_per_piece": piece_carbon.market_kg if piece_carbon else None,
        "as_of": price.as_of.isoformat() if price else "",
        "source": cell(price.source) if price else "",
        "assumed": cell("; ".join(row.cost.assumed)),
        "warnings": "; ".join(row.warnings),
        "provenance": row.layer,
    }


def _bar(row: CostRow, longest: float) -> BarRow:
    cost = shown_cost(row)
    doubt = " ?" if row.is_doubtful else ""
    name = f"{cost.name}{doubt}"
    return BarRow(
        name=name,
        short=name if len(name) <= _SHORT else f"{name[: _SHORT - 1]}\N{HORIZONTAL ELLIPSIS}",
        part=cost.p50_usd / longest,
        figure=amount(cost.p50_usd),
        share=chance(row),
        detail=", ".join(filter(None, (own_from(row.break_even), interval(cost)))),
        tone="compute" if row.price is None else "other",
    )
