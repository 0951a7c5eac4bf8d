"""Turns load curves and the sizes that follow from them into an SVG that stands alone.

P99 against requests a second of one replica, both axes logarithmic: what was measured as dots with
their intervals, what is made of it as lines with bands, the promised P99 as a line across, and on
the best options' lines the rate that their replicas are planned for. It follows the reader's light
or dark colours and loads nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_cost_models.load_curve import LoadPoint
from perfledger_cost_models.replica import Setting
from perfledger_cost_models.rightsizing import SizedOption, Sizing
from perfledger_service.pages import figures
from perfledger_service.pages.caption import caption
from perfledger_service.pages.environment import render
from perfledger_service.pages.scale import Dot, Scale, Tick
from perfledger_service.pages.sized import answer, setting_name, title_of

# As the template draws it.
_LEFT, _RIGHT, _TOP, _BOTTOM = 72.0, 640.0, 84.0, 400.0
_LEGEND_ROW = 34.0
_MAX_LINES = 6
_STEPS = 60  # of a line
# Latencies beyond so many times the promise are of no interest, and would press all others flat.
_ROOM = 6.0
_BEFORE = 0.7  # of the lowest rate measured: where a line begins


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLine:
    """One kind of replica; `planned` is where the best options have it work."""

    name: str
    note: str
    tone: int
    points: str
    band: str
    dots: tuple[Dot, ...]
    whiskers: tuple[tuple[float, float, float], ...]  # x, from, to
    planned: tuple[Dot, ...]
    y: float  # of its row of the legend


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlot:
    """A picture as shapes."""

    title: str
    summary: tuple[str, ...]  # lines
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    limit: Tick
    lines: tuple[LoadLine, ...]


def sizing_svg(found: Sizing) -> str:
    """Return the curves of the best options, then of the others, with the promise across."""
    taken = [option.plan.setting for option in found.best]
    taken += [rival.option.plan.setting for rival in found.rivals]
    settings = list(dict.fromkeys([*taken, *found.settings]))[:_MAX_LINES]
    across, up = _scales(settings, found)
    plot = LoadPlot(
        title=title_of(found),
        summary=caption(answer(found)),
        x_ticks=tuple(Tick(across.at(math.log(at)), f"{at:g}") for at in _marks(across)),
        y_ticks=tuple(Tick(up.at(math.log(at)), figures.seconds(at)) for at in _marks(up)),
        limit=Tick(up.at(math.log(found.demand.p99_s)), figures.seconds(found.demand.p99_s)),
        lines=tuple(
            _line(setting, place, found, across, up) for place, setting in enumerate(settings)
        ),
    )
    height = max(_BOTTOM + 56, _TOP + _LEGEND_ROW * (len(settings) + 1))
    return render("sizing.svg.j2", plot=plot, height=height) + "\n"


def _scales(settings: Sequence[Setting], found: Sizing) -> tuple[Scale, Scale]:
    points = [point for setting in settings for point in setting.points]
    rates = [_rate(point) for point in points]
    planned = [option.replica_rate for option in _options(found)]
    limit = found.demand.p99_s
    seconds = [point.latency_p99_s for point in points if point.latency_p99_s < _ROOM * limit]
    lowest, highest = min([*rates, *planned]) * _BEFORE, max([*rates, *planned]) * 1.1
    return (
        Scale(math.log(lowest), math.log(highest), _LEFT, _RIGHT),
        Scale(math.log(min([*seconds, limit]) / 1.5), math.log(_ROOM * limit), _BOTTOM, _TOP),
    )


def _options(found: Sizing) -> tuple[SizedOption, ...]:
    return (*found.best, *(rival.option for rival in found.rivals))


def _line(setting: Setting, place: int, found: Sizing, across: Scale, up: Scale) -> LoadLine:
    rates = [_rate(point) for point in setting.points]
    low = math.log(min(rates) * _BEFORE)
    step = (math.log(setting.fit.capacity * setting.batch) - low) / _STEPS
    middle: list[tuple[float, float]] = []
    upper: list[tuple[float, float]] = []
    lower: list[tuple[float, float]] = []
    for number in range(_STEPS):
        rate = math.exp(low + step * number)
        at, fill_s = setting.at(rate), setting.fill_s(rate)
        ends = [at.quantile_s(share) for share in (0.025, 0.5, 0.975)]
        if ends[0] is None or ends[1] is None or ends[1] + fill_s > _ROOM * found.demand.p99_s:
            break
        x = across.at(math.log(rate))
        lower.append((x, _y(up, ends[0] + fill_s)))
        middle.append((x, _y(up, ends[1] + fill_s)))
        upper.append((x, _y(up, math.inf if ends[2] is None else ends[2] + fill_s)))
    name = setting_name(setting, found)
    return LoadLine(
        name=name,
        note="closed loop: M/G/k, a screening" if setting.is_screening else "open loop",
        tone=place,
        points=_path(middle),
        band=_path([*upper, *reversed(lower)]),
        dots=tuple(_dots(setting, across, up)),
        whiskers=tuple(_whiskers(setting, across, up)),
        planned=tuple(_planned(setting, found, across, up)),
        y=_TOP + _LEGEND_ROW * place,
    )


def _dots(setting: Setting, across: Scale, up: Scale) -> Iterator[Dot]:
    for point in setting.points:
        if point.keeps_up and math.log(point.latency_p99_s) <= up.high:
            words = f"{figures.count(_rate(point))}/s: P99 {figures.seconds(point.latency_p99_s)}"
            yield Dot(across.at(math.log(_rate(point))), _y(up, point.latency_p99_s), words)


def _whiskers(setting: Setting, across: Scale, up: Scale) -> Iterator[tuple[float, float, float]]:
    for point in setting.points:
        low, high = point.latency_p99_low_s, point.latency_p99_high_s
        if point.keeps_up and low is not None and high is not None:
            yield across.at(math.log(_rate(point))), _y(up, low), _y(up, high)


def _planned(setting: Setting, found: Sizing, across: Scale, up: Scale) -> Iterator[Dot]:
    for option in _options(found):
        if option.plan.setting is setting:
            words = f"planned for {figures.count(option.replica_rate)}/s of each replica"
            yield Dot(across.at(math.log(option.replica_rate)), _y(up, option.p99_s[1]), words)


def _rate(point: LoadPoint) -> float:
    """Return the single requests a second that a point stands for: offered, or got through."""
    is_kept = point.offered_per_second is not None and point.keeps_up
    served = point.offered_per_second if is_kept else point.throughput_per_second
    return (served or point.throughput_per_second) * point.batch


def _y(up: Scale, seconds: float) -> float:
    """Return a latency's place, that of the picture's edge for one beyond it."""
    return up.at(min(max(math.log(max(seconds, 1e-12)), up.low), up.high))


def _marks(scale: Scale) -> tuple[float, ...]:
    """Return 1, 2 and 5 times powers of ten between the ends of a logarithmic axis."""
    first, last = (math.floor(end / math.log(10)) for end in (scale.low, scale.high))
    every = (factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5))
    return tuple(at for at in every if scale.low <= math.log(at) <= scale.high)


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)
