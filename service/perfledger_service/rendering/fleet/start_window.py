"""Presents the best time to run a job, and its saving over an immediate start."""

from collections.abc import Iterator
from datetime import UTC, datetime

from perfledger.rounding import digits
from perfledger_cost_models.energy.carbon_aware_start import StartPlan, StartWindow
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    attributes,
    fact,
    figure,
    notes,
    sentences,
    table,
    title,
)

_MAX_RUNS = 20  # shown to people
_PLAN = ("hours", "kg_per_kwh", "kg", "usd")
_Run = tuple[str, StartPlan, tuple[float, float]]  # the plan's name, the plan, start and end


def window_document(view: StartWindow) -> Document:
    """Return when to run, the savings, and both plans: the best and an immediate start."""
    plans = (("best", view.best), ("at_once", view.at_once))
    runs = [(label, plan, run) for label, plan in plans for run in plan.runs]
    return Document(
        name="perfledger-window",
        version=3,
        facts={
            "objective": view.aim,
            "at_once": attributes(view.at_once, *_PLAN),
            "best": attributes(view.best, *_PLAN),
            "saved_kg": view.saved_kg,
            "saved_usd": view.saved_usd,
        },
        blocks=(
            title(window_headline(view)),
            table(_columns(has_pauses=len(view.best.runs) > 1), runs, key="runs", most=_MAX_RUNS),
            *sentences(window_savings(view)),
            *notes(["The values are the file's; if they are a forecast, so is this result."]),
        ),
    )


def _columns(*, has_pauses: bool) -> tuple[Column[_Run], ...]:
    """Return the columns of a run; people see them only if there are pauses."""
    return (
        figure("plan", "plan" if has_pauses else None, lambda run: run[0]),
        figure("start", "start" if has_pauses else None, lambda run: _moment(run[2][0])),
        figure("end", "end" if has_pauses else None, lambda run: _moment(run[2][1])),
        fact("plan_kg_per_kwh", lambda run: run[1].kg_per_kwh),
        fact("plan_kg", lambda run: run[1].kg),
        fact("plan_usd", lambda run: run[1].usd),
    )


def window_headline(view: StartWindow) -> str:
    """Return when to start and when the job is done."""
    runs = view.best.runs
    if view.best.runs == view.at_once.runs:
        return f"Start immediately, {_moment(runs[0][0])}: no later time is better"
    pauses = len(runs) - 1
    paused = {0: "", 1: ", paused once"}.get(pauses, f", paused {pauses} times")
    return f"Start {_moment(runs[0][0])}, done by {_moment(runs[-1][1])}{paused}"


def window_savings(view: StartWindow) -> Iterator[str]:
    """Yield the best plan's cost and emissions, compared with an immediate start."""
    before, after = view.at_once, view.best
    if before.usd is not None and after.usd is not None:
        yield _cost_sentence(before.usd, after.usd)
    if before.kg is not None and after.kg is not None:
        yield (
            f"It emits {digits(after.kg, 3)} kg of CO2, an immediate start {digits(before.kg, 3)} "
            f"kg{_change(before.kg, after.kg)}."
        )
    elif before.kg_per_kwh is not None and after.kg_per_kwh is not None:
        yield (
            f"A kWh emits {digits(after.kg_per_kwh, 3)} kg of CO2 then, after an immediate start "
            f"{digits(before.kg_per_kwh, 3)} kg{_change(before.kg_per_kwh, after.kg_per_kwh)}; "
            "give --mean-kw for kilograms."
        )


def _cost_sentence(before: float, after: float) -> str:
    """Return both costs and their difference; at negative prices a job earns money."""
    if before > 0 and after > 0:
        costs = f"It costs {number_format.usd(after)}, an immediate start"
        return f"{costs} {number_format.usd(before)}{_change(before, after)}."
    words = [
        f"{'earns' if usd < 0 else 'costs'} {number_format.usd(abs(usd))}"
        for usd in (after, before)
    ]
    saved = f"{number_format.usd(abs(before - after))} {'less' if after < before else 'more'}"
    difference = "" if before == after else f": {saved} to pay"
    return f"It {words[0]}, an immediate start {words[1]}{difference}."


def _change(before: float, after: float) -> str:
    if before == after:
        return ""
    words = "less" if after < before else "more"
    return f", {number_format.share(abs(after / before - 1))} {words}" if before else ""


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%MZ}"
