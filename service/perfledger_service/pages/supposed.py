"""Turns a what-if into a terminal's text, Markdown and JSON."""

import json
from collections.abc import Iterator
from math import isfinite

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean, clean_sentence, code, sentence
from perfledger_service.pages.profile_json import number
from perfledger_service.views import Supposition, WhatIfView

# 1: first version. Keys are only ever added.
WHAT_IF_FORMAT = "perfledger-what-if"
WHAT_IF_VERSION = 1

_MAX_NAME = 200
_ARROW = "\N{RIGHTWARDS ARROW}"


def what_if_text(view: WhatIfView) -> Group:
    """Return what would come of it, for a terminal."""
    parts: list[RenderableType] = [Text(f"{clean(view.name, limit=_MAX_NAME)}: {_answer(view)}")]
    grid = Table.grid(padding=(0, 2))
    for one in view.suppositions:
        name = Text(clean(one.name, limit=_MAX_NAME), style="bold")
        grid.add_row(
            Text(figures.seconds(one.seconds)),
            Text(figures.share(one.share)),
            name,
            Text(_factor(one)),
        )
    parts.append(Padding(grid, (0, 0, 0, 2)))
    parts.append(Text(f"{_bound(view)}."))
    parts.extend(Text(clean_sentence(note), style="dim") for note in view.notes)
    return Group(*parts)


def what_if_markdown(view: WhatIfView) -> str:
    """Return what would come of it as Markdown."""
    return "\n".join(_markdown(view)) + "\n"


def what_if_json(view: WhatIfView) -> str:
    """Return what would come of it as JSON; null for a factor or ceiling that is infinite."""
    document = {
        "format": WHAT_IF_FORMAT,
        "version": WHAT_IF_VERSION,
        "name": view.name,
        "step_seconds": number(view.step_seconds),
        "new_step_seconds": number(view.new_step_seconds),
        "ceiling": number(view.ceiling),
        "changes": [
            {
                "name": one.name,
                "factor": number(one.factor),
                "seconds": number(one.seconds),
                "share": number(one.share),
            }
            for one in view.suppositions
        ],
        "notes": list(view.notes),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _markdown(view: WhatIfView) -> Iterator[str]:
    yield f"{code(view.name, limit=_MAX_NAME)}: **{_answer(view)}**\n"
    yield "| what | per step | share | supposed |"
    yield "|:--|--:|--:|:--|"
    for one in view.suppositions:
        seconds, share = figures.seconds(one.seconds), figures.share(one.share)
        yield f"| {code(one.name)} | {seconds} | {share} | {_factor(one)} |"
    yield f"\n{_bound(view)}."
    for note in view.notes:
        yield f"\n{sentence(note)}"


def _answer(view: WhatIfView) -> str:
    before, after = map(figures.seconds, (view.step_seconds, view.new_step_seconds))
    if view.step_seconds <= 0:
        return f"{before} {_ARROW} {after} a step"
    change = figures.percent(view.new_step_seconds / view.step_seconds - 1)
    return f"{before} {_ARROW} {after} a step ({change})"


def _factor(one: Supposition) -> str:
    return f"{figures.factor(one.factor)} as fast" if isfinite(one.factor) else "gone"


def _bound(view: WhatIfView) -> str:
    if not isfinite(view.ceiling):
        return "With all of it gone nothing would be left of the step"
    return f"With all of it gone the step would be {figures.factor(view.ceiling)} as fast (Amdahl)"
