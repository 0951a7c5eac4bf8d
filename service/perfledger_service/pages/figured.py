"""Turns a step's figures into a terminal's text, Markdown and JSON."""

import json
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_profiles.step_figures import StepFigure
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean, clean_sentence, code, sentence
from perfledger_service.views import FiguresView

# 1: first version. Keys are only ever added.
FIGURES_FORMAT = "perfledger-step-figures"
FIGURES_VERSION = 1

_MAX_TITLE = 300  # a file, a device and its peak
_LABELS = {
    "throughput": "throughput",
    "achieved_flops": "achieved",
    "mfu": "MFU",
    "hfu": "HFU",
    "perf_per_watt": "work per joule",
    "scaling_eff_weak": "weak scaling efficiency",
    "scaling_eff_strong": "strong scaling efficiency",
}


def figures_text(view: FiguresView) -> Group:
    """Return the figures for a terminal."""
    parts: list[RenderableType] = [Text(clean(_title(view), limit=_MAX_TITLE))]
    grid = Table.grid(padding=(0, 2))
    for each in view.figures:
        grid.add_row(
            Text(_LABELS[each.name]),
            Text(_value(each), style="bold"),
            Text(each.formula, style="dim"),
        )
    parts.append(Padding(grid, (0, 0, 0, 2)) if view.figures else Text(_NOTHING))
    parts.extend(Text(clean_sentence(note), style="dim") for note in view.notes)
    return Group(*parts)


def figures_markdown(view: FiguresView) -> str:
    """Return the figures as Markdown."""
    return "\n".join(_markdown(view)) + "\n"


def figures_json(view: FiguresView) -> str:
    """Return the figures as JSON, in SI units."""
    document = {
        "format": FIGURES_FORMAT,
        "version": FIGURES_VERSION,
        "step_seconds": view.step_seconds,
        "source": view.source,
        "devices": view.devices,
        "device": view.device or None,
        "dtype": view.dtype,
        "peak_flops_per_second": view.peak_flops_per_second,
        "figures": [
            {"name": each.name, "value": each.value, "unit": each.unit, "formula": each.formula}
            for each in view.figures
        ],
        "notes": list(view.notes),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


_NOTHING = "Nothing more was given: --items, --flops or a transformer's shape say what a step does."


def _markdown(view: FiguresView) -> Iterator[str]:
    yield f"{code(_title(view), limit=_MAX_TITLE, in_table=False)}\n"
    if view.figures:
        yield "| figure | value | formula |"
        yield "|:--|--:|:--|"
    for each in view.figures:
        yield f"| {_LABELS[each.name]} | {_value(each)} | {each.formula} |"
    if not view.figures:
        yield _NOTHING
    for note in view.notes:
        yield f"\n{sentence(note, in_table=False)}"


def _title(view: FiguresView) -> str:
    step = f"a step of {figures.seconds(view.step_seconds)} ({view.source})"
    if view.peak_flops_per_second is None:
        return step
    peak = figures.flops_per_second(view.peak_flops_per_second)
    return f"{step} on {view.devices} x {view.device}, {peak} each in {view.dtype} (dense)"


def _value(figure: StepFigure) -> str:
    match figure.unit:
        case "FLOP/s":
            return figures.flops_per_second(figure.value)
        case "1":
            return figures.share(figure.value)
        case unit:
            return f"{figures.count(figure.value)}{figures.NBSP}{unit}"
