"""Turns how well devices are used into an SVG that stands alone: bars by holder, hours of the week.

The thin bar is SM-active, where that is known beside the signal that is asked for; the line is the
target. The stronger an hour's colour, the more was in use; an empty one is not known. Times are
UTC. It follows the reader's light or dark colours and loads nothing.
"""

from dataclasses import dataclass

from perfledger_cost_models.activity import Signal
from perfledger_cost_models.utilization import Use
from perfledger_cost_models.utilization_report import Utilization
from perfledger_service.pages import figures
from perfledger_service.pages.caption import caption
from perfledger_service.pages.environment import render
from perfledger_service.pages.escape import ELLIPSIS, clean
from perfledger_service.pages.utilized import SIGNALS, amount, gain_sentences, use_sentences

# As the template draws it.
_TOP, _ROW, _BAR_LEFT, _BAR_WIDTH = 92.0, 26.0, 170.0, 300.0
_CELL_LEFT, _CELL_WIDTH, _CELL_HEIGHT = 600.0, 14.0, 20.0
_LEAST_HEIGHT = 290.0
_MAX_BARS = 16
_NAME = 22
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_HOURS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A holder's use as a width; `thin` is its SM-active, None where that is not known."""

    name: str
    y: float
    width: float
    thin: float | None
    figure: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An hour of the week; `level` is how strong its colour is, 0 to 1."""

    x: float
    y: float
    level: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationPlot:
    """A picture as shapes."""

    title: str
    summary: tuple[str, ...]  # lines
    heading: str
    more: str
    target_x: float
    target: str
    bars: tuple[Bar, ...]
    cells: tuple[Cell, ...]
    days: tuple[tuple[str, float], ...]


def utilization_svg(view: Utilization) -> str:
    """Return use by holder as bars, and by hour of the week."""
    kept = view.uses[:_MAX_BARS]
    bars = tuple(_bar(use, place, view.signal) for place, use in enumerate(kept))
    has_thin = any(bar.thin is not None for bar in bars)
    beside = f"; thin: {SIGNALS[Signal.SM_ACTIVE]}" if has_thin else ""
    plot = UtilizationPlot(
        title=use_sentences(view)[0],
        summary=caption(gain_sentences(view)[0]),
        heading=f"{SIGNALS[view.signal]} by {view.level}{beside}",
        more=f"and {len(view.uses) - _MAX_BARS:,} more" if len(view.uses) > _MAX_BARS else "",
        target_x=round(_BAR_LEFT + view.gain.target * _BAR_WIDTH, 2),
        target=f"target {figures.whole_share(view.gain.target)}",
        bars=bars,
        cells=tuple(
            _cell(hour, level) for hour, level in enumerate(view.week) if level is not None
        ),
        days=tuple((day, _day_y(place) + 14) for place, day in enumerate(_DAYS)),
    )
    height = max(_LEAST_HEIGHT, _TOP + _ROW * len(bars) + 40)
    return render("utilization.svg.j2", plot=plot, height=height) + "\n"


def _bar(use: Use, place: int, signal: Signal) -> Bar:
    thin = use.signals.get(Signal.SM_ACTIVE) if signal is not Signal.SM_ACTIVE else None
    least = "at most " if use.is_upper_bound else ""
    shown = figures.NOT_KNOWN if use.mean is None else least + figures.share(use.mean)
    beside = "" if thin is None else f", SM-active {figures.share(thin)}"
    return Bar(
        name=_short(clean(use.holder, limit=200)),
        y=_TOP + _ROW * place,
        width=round((use.mean or 0) * _BAR_WIDTH, 2),
        thin=None if thin is None else round(thin * _BAR_WIDTH, 2),
        figure=shown,
        title=f"{clean(use.holder)}: {shown} of {amount(use.device_hours)} device-hours{beside}",
    )


def _short(name: str) -> str:
    """Return both ends of a long name: those of one team's jobs differ at theirs."""
    half = _NAME // 2
    return name if len(name) <= _NAME else f"{name[: half - 1]}{ELLIPSIS}{name[-half:]}"


def _cell(hour: int, level: float) -> Cell:
    day, of_day = divmod(hour, _DAY_HOURS)
    return Cell(
        x=_CELL_LEFT + _CELL_WIDTH * of_day,
        y=_day_y(day),
        level=round(level, 3),
        title=f"{_DAYS[day]} {of_day:02}:00 UTC: {figures.share(level)}",
    )


def _day_y(day: int) -> float:
    return _TOP + _CELL_HEIGHT * day
