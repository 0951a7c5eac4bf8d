"""Turns forecasts into a fan chart: what was, and the bands of what may come, in one SVG.

A forecast is a panel: the line is what is known, then the median; the darker band holds half of
what may come and the lighter one 80 %. It follows the reader's light or dark colours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_cost_models.forecast import QUANTILES, Forecast, Forecasts, Quantity
from perfledger_service.pages import figures
from perfledger_service.pages.environment import render
from perfledger_service.pages.forecasted import forecast_sentences, period_name, title
from perfledger_service.pages.scale import Scale, Tick, nice_ticks

# As the template draws it.
_LEFT, _RIGHT = 72.0, 928.0  # half of the last label stands right of it
_FIRST, _HEIGHT, _GAP = 76.0, 200.0, 56.0
_MAX_LABELS = 10
# Of a long past the last so many seasons are drawn: the fan would be a sliver else.
_MAX_SEASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One forecast as shapes."""

    name: str
    top: float
    foot: float
    past: str  # points of a line
    middle: str
    bands: tuple[str, ...]  # points of areas, the widest first
    budget: Tick | None  # the day on which it is spent
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def forecast_svg(view: Forecasts, *, summary: str = "") -> str:
    """Return the fan chart of every forecast, one below the other.

    Below the title stand the sentences to take away, or `summary` where they are said elsewhere.
    """
    panels = tuple(
        _panel(each, _FIRST + place * (_HEIGHT + _GAP)) for place, each in enumerate(view.forecasts)
    )
    summary = summary or " ".join(forecast_sentences(view)).replace(figures.NBSP, " ")
    height = panels[-1].foot + 44
    return (
        render("fan.svg.j2", title=title(view), summary=summary, panels=panels, height=height)
        + "\n"
    )


def _panel(forecast: Forecast, top: float) -> Panel:
    past = forecast.past[-_MAX_SEASONS * forecast.calendar.step.season :]
    before, count = len(forecast.past) - len(past), len(past) + len(forecast.periods)
    columns = tuple(zip(*forecast.periods, strict=True))
    most = max(*past, *columns[-1]) or 1.0
    x = Scale(0.0, max(count - 1.0, 1.0), _LEFT, _RIGHT)
    y = Scale(0.0, most, top + _HEIGHT, top)
    # The fan begins at the last that is known.
    fan = [(past[-1], *column) for column in columns]
    places = range(len(past) - 1, count)
    every = math.ceil(count / _MAX_LABELS)
    pairs = zip(fan[: len(QUANTILES) // 2], reversed(fan), strict=False)
    return Panel(
        name="device-hours" if forecast.quantity is Quantity.HOURS else "USD",
        top=top,
        foot=top + _HEIGHT,
        past=_points([(x.at(place), y.at(amount)) for place, amount in enumerate(past)]),
        middle=_line(x, y, places, fan[len(QUANTILES) // 2]),
        bands=tuple(
            f"{_line(x, y, places, low)} {_line(x, y, places[::-1], high[::-1])}"
            for low, high in pairs
        ),
        budget=_budget_tick(forecast, x, before),
        x_ticks=tuple(
            Tick(x.at(place), period_name(forecast, before + place))
            for place in range(0, count, every)
        ),
        y_ticks=tuple(Tick(y.at(at), figures.count(at)) for at in nice_ticks(0.0, most)),
    )


def _budget_tick(forecast: Forecast, x: Scale, before: int) -> Tick | None:
    if forecast.budget is None or (day := forecast.budget.days[1]) is None:
        return None
    calendar = forecast.calendar
    for number in range(before, len(forecast.past) + len(forecast.periods)):
        start = calendar.start(number)
        if start <= day < calendar.start(number + 1):
            place = number - before + (day - start).days / calendar.days(number) - 0.5
            at = x.at(min(max(place, x.low), x.high))
            return Tick(at, f"spent on {day.isoformat()}")
    return None


def _line(x: Scale, y: Scale, places: Sequence[int], amounts: Sequence[float]) -> str:
    return _points(
        [(x.at(place), y.at(amount)) for place, amount in zip(places, amounts, strict=True)]
    )


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)
