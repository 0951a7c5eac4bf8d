"""Turns a what-if into a terminal's text, Markdown and JSON."""

import json
from collections.abc import Iterator
from math import isfinite

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_profiles.whatif import Faster, WhatIf
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean, clean_sentence, code, sentence
from perfledger_service.pages.profile_json import number

# 1: first version. Keys are only ever added.
WHAT_IF_FORMAT = "perfledger-what-if"
WHAT_IF_VERSION = 1

_MAX_NAME = 200
_ARROW = "\N{RIGHTWARDS ARROW}"


def what_if_text(name: str, found: WhatIf) -> Group:
    """Return what would come of it, for a terminal."""
    parts: list[RenderableType] = [Text(f"{clean(name, limit=_MAX_NAME)}: {_answer(found)}")]
    grid = Table.grid(padding=(0, 2))
    for one in found.changes:
        grid.add_row(
            Text(figures.seconds(one.seconds)),
            Text(figures.share(one.share)),
            Text(clean(one.name, limit=_MAX_NAME), style="bold"),
            Text(_factor(one)),
        )
    parts.append(Padding(grid, (0, 0, 0, 2)))
    parts.append(Text(f"{_bound(found)}."))
    parts.extend(Text(clean_sentence(note), style="dim") for note in found.notes)
    return Group(*parts)


def what_if_markdown(name: str, found: WhatIf) -> str:
    """Return what would come of it as Markdown."""
    return "\n".join(_markdown(name, found)) + "\n"


def what_if_json(name: str, found: WhatIf) -> str:
    """Return what would come of it as JSON; null for a factor or ceiling that is infinite."""
    document = {
        "format": WHAT_IF_FORMAT,
        "version": WHAT_IF_VERSION,
        "name": name,
        "step_seconds": number(found.step_seconds),
        "new_step_seconds": number(found.new_step_seconds),
        "ceiling": number(found.ceiling),
        "changes": [
            {
                "name": one.name,
                "factor": number(one.factor),
                "seconds": number(one.seconds),
                "share": number(one.share),
            }
            for one in found.changes
        ],
        "notes": list(found.notes),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _markdown(name: str, found: WhatIf) -> Iterator[str]:
    yield f"{code(name, limit=_MAX_NAME, in_table=False)}: **{_answer(found)}**\n"
    yield "| what | per step | share | supposed |"
    yield "|:--|--:|--:|:--|"
    for one in found.changes:
        seconds, share = figures.seconds(one.seconds), figures.share(one.share)
        yield f"| {code(one.name)} | {seconds} | {share} | {_factor(one)} |"
    yield f"\n{_bound(found)}."
    for note in found.notes:
        yield f"\n{sentence(note, in_table=False)}"


def _answer(found: WhatIf) -> str:
    before, after = map(figures.seconds, (found.step_seconds, found.new_step_seconds))
    if found.step_seconds <= 0:
        return f"{before} {_ARROW} {after} a step"
    change = figures.percent(found.new_step_seconds / found.step_seconds - 1)
    return f"{before} {_ARROW} {after} a step ({change})"


def _factor(one: Faster) -> str:
    return f"{figures.factor(one.factor)} as fast" if isfinite(one.factor) else "gone"


def _bound(found: WhatIf) -> str:
    if not isfinite(found.ceiling):
        return "With all of it gone nothing would be left of the step"
    return f"With all of it gone the step would be {figures.factor(found.ceiling)} as fast (Amdahl)"
