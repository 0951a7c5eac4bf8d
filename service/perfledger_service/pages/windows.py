"""Turns the best time to run a job into terminal text, CSV, JSON and a picture of the hours."""

import csv
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO

from rich.console import Group
from rich.text import Text

from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.start_window import Aim, Plan, StartWindow
from perfledger_service.pages import figures
from perfledger_service.pages.environment import render
from perfledger_service.pages.scale import Scale, Tick, nice_ticks

# 1: first version. Keys are only ever added.
WINDOW_FORMAT = "perfledger-window"
VERSION = 1
_UNITS = {Aim.KG: "kg of CO2 a kWh", Aim.USD: "USD an hour"}
# As the template draws it.
_LEFT, _RIGHT, _TOP, _FOOT = 72.0, 944.0, 70.0, 250.0
_MAX_LABELS = 8
# Runs of a table; of more the rest is counted.
_MAX_RUNS = 20


def window_text(view: StartWindow) -> Group:
    """Return when to run, and what that saves, for a terminal of 80 columns."""
    lines = [Text(_headline(view), style="bold")]
    runs = view.best.runs
    if len(runs) > 1:
        lines += [Text(f"  {_moment(start)} to {_moment(end)}") for start, end in runs[:_MAX_RUNS]]
        if len(runs) > _MAX_RUNS:
            lines.append(Text(f"  and {len(runs) - _MAX_RUNS} more"))
    lines += [Text(line) for line in _savings(view)]
    lines.append(Text("As the file has the hours: where it is a forecast, so is this.", "dim"))
    return Group(*lines)


def window_csv(view: StartWindow) -> str:
    """Return a row a run, of starting at once and of the best plan, with each plan's sums."""
    written = StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(("plan", "start", "end", "plan_kg_per_kwh", "plan_kg", "plan_usd"))
    for name, plan in (("at_once", view.at_once), ("best", view.best)):
        for start, end in plan.runs:
            sums = (plan.kg_per_kwh, plan.kg, plan.usd)
            table.writerow((name, _moment(start), _moment(end), *sums))
    return written.getvalue()


def window_json(view: StartWindow) -> str:
    """Return both plans and what the best one saves as JSON; null where nothing says."""
    document = {
        "format": WINDOW_FORMAT,
        "version": VERSION,
        "least": view.aim,
        "at_once": _document(view.at_once),
        "best": _document(view.best),
        "saved_kg": view.saved_kg,
        "saved_usd": view.saved_usd,
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def window_svg(view: StartWindow) -> str:
    """Return the hours' values from the earliest start on, and when the job runs in them."""
    values = view.values
    start, end = values[0][0], values[-1][1]
    most = max(value for _, _, value in values) or 1.0
    x, y = Scale(start, end, _LEFT, _RIGHT), Scale(0.0, most, _FOOT, _TOP)
    corners = [(x.at(at), y.at(value)) for first, last, value in values for at in (first, last)]
    every = math.ceil(len(values) / _MAX_LABELS)
    return (
        render(
            "window.svg.j2",
            title=_headline(view),
            summary=" ".join(_savings(view)).replace(figures.NBSP, " "),
            unit=_UNITS[view.aim],
            line=" ".join(f"{at:g},{value:g}" for at, value in corners),
            at_once=[(x.at(first), x.at(last)) for first, last in view.at_once.runs],
            best=[(x.at(first), x.at(last)) for first, last in view.best.runs],
            x_ticks=tuple(Tick(x.at(at), _short_moment(at)) for at, _, _ in values[::every]),
            y_ticks=tuple(Tick(y.at(at), f"{at:.5g}") for at in nice_ticks(0.0, most)),
        )
        + "\n"
    )


def _headline(view: StartWindow) -> str:
    runs = view.best.runs
    if view.best.runs == view.at_once.runs:
        return f"Start at once, {_moment(runs[0][0])}: no later time is better"
    pauses = len(runs) - 1
    paused = {0: "", 1: ", paused once"}.get(pauses, f", paused {pauses} times")
    return f"Start {_moment(runs[0][0])}, done by {_moment(runs[-1][1])}{paused}"


def _savings(view: StartWindow) -> Iterator[str]:
    before, after = view.at_once, view.best
    if before.usd is not None and after.usd is not None:
        usd, once = (figures.usd(to_decimal(each)) for each in (after.usd, before.usd))
        yield f"It costs {usd}, started at once {once}{_change(before.usd, after.usd)}."
    if before.kg is not None and after.kg is not None:
        yield (
            f"It emits {after.kg:,.3g} kg of CO2, started at once {before.kg:,.3g} kg"
            f"{_change(before.kg, after.kg)}."
        )
    elif before.kg_per_kwh is not None and after.kg_per_kwh is not None:
        yield (
            f"A kWh emits {after.kg_per_kwh:.3g} kg of CO2 then, at once {before.kg_per_kwh:.3g} kg"
            f"{_change(before.kg_per_kwh, after.kg_per_kwh)}; give --kw for kilograms."
        )


def _change(before: float, after: float) -> str:
    if before == after:
        return ""
    words = "less" if after < before else "more"
    return f", {figures.share(abs(after / before - 1))} {words}" if before else ""


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%MZ}"


def _short_moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%d %b %H:%M}"


def _document(plan: Plan) -> dict[str, object]:
    return {
        "runs": [[_moment(start), _moment(end)] for start, end in plan.runs],
        "hours": plan.hours,
        "kg_per_kwh": plan.kg_per_kwh,
        "kg": plan.kg,
        "usd": plan.usd,
    }
