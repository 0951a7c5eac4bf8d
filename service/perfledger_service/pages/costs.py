"""Turns faults of a price list, and what hours cost, into terminal text, Markdown and JSON.

Nothing that others wrote reaches a page but as clean text.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.comparison import BreakEven
from perfledger_cost_models.price_check import Level, SheetCheck
from perfledger_cost_models.sheet import PricingModel
from perfledger_service.pages.escape import clean, code, prose
from perfledger_service.views import CostRow, CostView, OwningView

# 1: first version. Keys are only ever added.
CHECK_FORMAT = "perfledger-price-check"
COSTS_FORMAT = "perfledger-costs"
OWNING_FORMAT = "perfledger-owning"
VERSION = 1

_STYLES = {Level.REJECT: "red", Level.WARN: "yellow", Level.UNKNOWN: "dim"}
_MAX_NAME = 120
_MAX_REASON = 300
_MAX_NOTE = 2000
_BAR = 20  # characters of the longest bar


def price_check_text(check: SheetCheck) -> Group:
    """Return the findings for a terminal of 80 columns."""
    parts: list[RenderableType] = []
    for finding in check.findings:
        head = Text(f"row {finding.row} ", style="bold")
        head.append(clean(finding.option, limit=_MAX_NAME), style="not bold")
        line = Text(f"  {finding.level}", style=_STYLES[finding.level])
        line.append(f" {finding.rule}: {clean(finding.reason, limit=_MAX_REASON)}", style="none")
        parts += [head, line]
    parts.append(Text(_summary(check), style="red" if check.rejected else "green"))
    return Group(*parts)


def price_check_markdown(check: SheetCheck) -> str:
    """Return the findings as Markdown."""
    lines = [_summary(check), "", "| row | option | | rule | why |", "|---|---|---|---|---|"]
    lines += [
        f"| {each.row} | {code(each.option, limit=_MAX_NAME)} | {each.level} | {each.rule} "
        f"| {prose(each.reason)} |"
        for each in check.findings
    ]
    return "\n".join(lines) + "\n"


def price_check_json(check: SheetCheck) -> str:
    """Return the findings as JSON."""
    document = {
        "format": CHECK_FORMAT,
        "version": VERSION,
        "sheet": check.name,
        "rows": check.rows,
        "usable": len(check.sheet.prices),
        "findings": [asdict(finding) for finding in check.findings],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def costs_text(view: CostView) -> Group:
    """Return what hours cost for a terminal of 80 columns, with a bar for each option."""
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "right", "left", "right", "right"):
        grid.add_column(justify=justify, overflow="fold")
    grid.add_row("option", "USD", "", "cheapest", "own from", style="dim")
    longest = max(row.cost.p50_usd for row in view.rows)
    for row in view.rows:
        cost = row.cost
        grid.add_row(
            Text(clean(cost.name, limit=_MAX_NAME)),
            f"{cost.p50_usd:.2f}{_interval(row)}",
            "█" * max(1, round(_BAR * cost.p50_usd / longest)),
            f"{cost.chance_cheapest:.0%}",
            _own_from(row.break_even),
        )
    notes = [Text(clean(words, limit=_MAX_NOTE), style="dim") for words in _notes(view)]
    return Group(Text(_title(view), style="bold"), grid, *notes)


def costs_markdown(view: CostView) -> str:
    """Return what hours cost as Markdown."""
    titles = ("option", "USD", "chance of being cheapest", "owning pays from", "as of")
    lines = [_title(view), "", f"| {' | '.join(titles)} |", "|---|---:|---:|---:|---|"]
    for row in view.rows:
        as_of = row.price.as_of.isoformat() if row.price else ""
        lines.append(
            f"| {code(row.cost.name, limit=_MAX_NAME)} | {row.cost.p50_usd:.2f}{_interval(row)} "
            f"| {row.cost.chance_cheapest:.0%} | {_own_from(row.break_even)} | {as_of} |"
        )
    lines += ["", *(f"{prose(words)}  " for words in _notes(view))]
    return "\n".join(lines) + "\n"


def costs_json(view: CostView) -> str:
    """Return what hours cost as JSON; null where there is no figure."""
    document = {
        "format": COSTS_FORMAT,
        "version": VERSION,
        "accelerator": view.accelerator,
        "use": view.use,
        "assumed": list(view.assumed),
        "options": [
            asdict(row.cost)
            | {
                "break_even": None if row.break_even is None else asdict(row.break_even),
                "as_of": None if row.price is None else row.price.as_of.isoformat(),
                "region": None if row.price is None else row.price.region,
                "source": None if row.price is None else row.price.source,
                "warnings": list(row.warnings),
            }
            for row in view.rows
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


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
            f"{bar.low_usd:.2f}",
            f"{bar.high_usd:.2f}",
            "█" * max(1, round(_BAR * bar.width_usd / widest)),
        )
    hour = view.hour
    useful = (
        f"A useful hour of one of its {view.accelerators} accelerators: {hour.p50_usd:.2f} USD "
        f"({hour.p5_usd:.2f}-{hour.p95_usd:.2f})"
    )
    notes = [f"Assumed, not measured: {', '.join(hour.assumed)}."] if hour.assumed else []
    return Group(
        Text(f"{view.label} at {view.use:.0%} use", style="bold"),
        parts,
        Text(),
        Text(useful),
        Text(),
        tornado,
        *(Text(clean(note, limit=_MAX_NOTE), style="dim") for note in notes),
    )


def owning_markdown(view: OwningView) -> str:
    """Return what owning costs as Markdown."""
    lines = [f"{view.label} at {view.use:.0%} use", ""]
    lines += ["| USD a year | most likely | 5 % | 95 % |", "|---|---:|---:|---:|"]
    lines += [
        f"| {name} | {likely:,.0f} | {p5:,.0f} | {p95:,.0f} |"
        for name, p5, likely, p95 in view.parts
    ]
    lines += ["", "| USD a useful hour, when this is | low | high |", "|---|---:|---:|"]
    lines += [
        f"| {bar.parameter.replace('_', ' ')} | {bar.low_usd:.2f} | {bar.high_usd:.2f} |"
        for bar in view.bars
    ]
    hour = view.hour
    lines += ["", f"{hour.p50_usd:.2f} USD an hour ({hour.p5_usd:.2f}-{hour.p95_usd:.2f})"]
    return "\n".join(lines) + "\n"


def owning_json(view: OwningView) -> str:
    """Return what owning costs as JSON."""
    document = {
        "format": OWNING_FORMAT,
        "version": VERSION,
        "server": view.label,
        "accelerators": view.accelerators,
        "use": view.use,
        "usd_per_year": [
            {"part": name, "p5": p5, "mode": likely, "p95": p95}
            for name, p5, likely, p95 in view.parts
        ],
        "useful_hour": asdict(view.hour),
        "tornado": [asdict(bar) for bar in view.bars],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _figures_grid() -> Table:
    """Return a table of a name, two figures and a bar."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    grid.add_column()
    return grid


def _summary(check: SheetCheck) -> str:
    rejected = len({finding.row for finding in check.rejected})
    usable = f"{len(check.sheet.prices)} of {check.rows} rows can be used"
    return f"{clean(check.name, limit=_MAX_NAME)}: {usable}, {rejected} rejected"


def _title(view: CostView) -> str:
    return (
        f"A useful hour of one {view.accelerator}, with {view.use:.0%} of the hours paid for useful"
    )


def _interval(row: CostRow) -> str:
    cost = row.cost
    is_certain = f"{cost.p5_usd:.2f}" == f"{cost.p95_usd:.2f}"
    return "" if is_certain else f" ({cost.p5_usd:.2f}-{cost.p95_usd:.2f})"


def _own_from(found: BreakEven | None) -> str:
    if found is None:
        return ""
    return "never" if found.p50 is None else f"{found.p50:.0%} use"


def _notes(view: CostView) -> Iterator[str]:
    yield "Medians and, in brackets, the 5 % and 95 % quantiles of 20,000 draws."
    if any(row.price and row.price.pricing_model is PricingModel.SPOT for row in view.rows):
        yield "Spot prices are without what interruptions cost."
    if view.assumed:
        yield f"Assumed, not measured: {', '.join(view.assumed)}."
    for row in view.rows:
        for warning in row.warnings:
            yield f"{row.cost.name}: {warning}."
