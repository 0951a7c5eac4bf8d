"""Presents the predicted time of a step with faster parts."""

from math import isfinite

from perfledger_profiles.bottleneck.whatif import Speedup, WhatIf
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    attributes,
    display,
    fact,
    figure,
    name,
    notes,
    sentences,
    table,
    title,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean_sentence

_ARROW = "\N{RIGHTWARDS ARROW}"


def what_if_document(trace: str, what_if: WhatIf) -> Document:
    """Return the step's new time; an infinite factor or ceiling is null for programs."""
    return Document(
        name="perfledger-what-if",
        facts={
            "name": trace,
            **attributes(what_if, "step_seconds", "new_step_seconds", "ceiling", "notes"),
        },
        blocks=(
            title(f"{trace}: {_answer(what_if)}", names=[trace]),
            table(_columns(), what_if.changes, key="changes"),
            *sentences([f"{_bound(what_if)}."]),
            *notes(clean_sentence(note) for note in what_if.notes),
        ),
    )


def _columns() -> tuple[Column[Speedup], ...]:
    return (
        figure("seconds", "per step", lambda change: change.seconds, number_format.seconds),
        figure("share", "share", lambda change: change.share, number_format.share),
        name("name", "what", lambda change: change.name, limit=MAX_LONG_NAME),
        display("speedup", _factor),
        fact("factor", lambda change: change.factor),
    )


def _answer(what_if: WhatIf) -> str:
    before, after = map(number_format.seconds, (what_if.step_seconds, what_if.new_step_seconds))
    if what_if.step_seconds <= 0:
        return f"{before} {_ARROW} {after} a step"
    change = number_format.percent(what_if.new_step_seconds / what_if.step_seconds - 1)
    return f"{before} {_ARROW} {after} a step ({change})"


def _factor(speedup: Speedup) -> str:
    return f"{number_format.factor(speedup.factor)} as fast" if isfinite(speedup.factor) else "gone"


def _bound(what_if: WhatIf) -> str:
    if not isfinite(what_if.ceiling):
        return "Without it nothing would be left of the step"
    ceiling = number_format.factor(what_if.ceiling)
    return f"Without it the step would be {ceiling} as fast (Amdahl's law)"
