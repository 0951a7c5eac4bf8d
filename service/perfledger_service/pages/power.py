"""Turns what pairs can tell into a terminal's text, Markdown and JSON.

Nothing that others wrote reaches a page but as clean text.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean, code, sentence
from perfledger_service.views import PowerView, SpreadView

# 1: first version. Keys are only ever added.
POWER_FORMAT = "perfledger-power"
POWER_VERSION = 1

_MAX_NAME = 200
_BEYOND = ">10k"  # pairs: nobody will draw them
_Cells = tuple[tuple[str, ...], tuple[str, ...]]


def power_text(view: PowerView) -> Group:
    """Return the tables for a terminal of 80 columns."""
    parts: list[RenderableType] = []
    for spread in view.spreads:
        name = Text(clean(spread.name, limit=_MAX_NAME), style="bold")
        name.append(f": {_spread(spread)}", style="not bold")
        parts.append(name)
        for titles, cells in _tables(spread):
            parts.append(Padding(_grid(titles, cells), (0, 0, 0, 2)))
        if _steps(spread):
            parts.append(Padding(Text(_steps(spread)), (0, 0, 0, 2)))
        parts.append(Text())
    parts.append(Text(_rule(view), style="dim"))
    return Group(*parts)


def power_markdown(view: PowerView) -> str:
    """Return the tables as Markdown."""
    return "\n".join(_markdown(view)) + "\n"


def power_json(view: PowerView) -> str:
    """Return the tables as JSON; null for what is not known or would need too many pairs."""
    document = {
        "format": POWER_FORMAT,
        "version": POWER_VERSION,
        "alpha": view.alpha,
        "tests": view.tests,
        "floor": view.floor,
        "power": view.power,
        "spreads": [
            asdict(spread)
            | {
                "detectable": [
                    {"pairs": pairs, "change": change} for pairs, change in spread.detectable
                ],
                "needed": [{"change": change, "pairs": pairs} for change, pairs in spread.needed],
            }
            for spread in view.spreads
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _grid(titles: Sequence[str], cells: Sequence[str]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=16)
    for _ in cells[1:]:
        grid.add_column(width=6, justify="right")
    grid.add_row(*titles, style="dim")
    grid.add_row(*cells)
    return grid


def _markdown(view: PowerView) -> Iterator[str]:
    for spread in view.spreads:
        yield f"### {code(spread.name, limit=_MAX_NAME, in_table=False)}\n"
        yield f"{sentence(_spread(spread), in_table=False)}\n"
        for titles, cells in _tables(spread):
            yield f"| {' | '.join(titles)} |"
            yield f"|{'---|' * len(titles)}"
            yield f"| {' | '.join(cells)} |\n"
        if _steps(spread):
            yield f"{sentence(_steps(spread), in_table=False)}\n"
    yield _rule(view)


def _tables(spread: SpreadView) -> Iterator[_Cells]:
    if spread.detectable:
        yield (
            ("pairs", *(f"{pairs:,}" for pairs, _ in spread.detectable)),
            ("smallest change", *(figures.share(change) for _, change in spread.detectable)),
        )
    if spread.needed:
        yield (
            ("change", *(figures.margin(change) for change, _ in spread.needed)),
            (
                "pairs needed",
                *(_BEYOND if pairs is None else f"{pairs:,}" for _, pairs in spread.needed),
            ),
        )


def _spread(spread: SpreadView) -> str:
    if spread.sd is None:
        return spread.source
    source = f" ({spread.source})" if spread.source else ""
    return f"a pair differs by {figures.share(spread.sd)} without cause{source}"


def _steps(spread: SpreadView) -> str:
    if spread.steps is not None:
        return f"A process is best used for {spread.steps} steps (Kalibera and Jones, 2013)."
    return f"Best steps per process: not known: {spread.steps_note}." if spread.steps_note else ""


def _rule(view: PowerView) -> str:
    shared = f" shared by {view.tests:,} tests" if view.tests > 1 else ""
    return (
        f"Found {figures.whole_share(view.power)} of the time or more, with a chance of "
        f"{figures.margin(view.alpha)}{shared} of any false change, over all looks of a check. "
        f"Below {figures.margin(view.floor)} nothing is called a change."
    )
