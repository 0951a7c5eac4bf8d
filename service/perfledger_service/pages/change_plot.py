"""Turns what changes cost a year into an SVG: dots with their intervals about zero, and limits.

It follows the reader's light or dark colours and loads nothing. Where no change was detected there
is no dot: the interval is all that may be said. What has no price is named and never drawn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from textwrap import wrap

from perfledger_cost_models.policy import PolicyRuling
from perfledger_cost_models.quote import ChangePrice, SummedPrice
from perfledger_service.cost_views import PricedView
from perfledger_service.pages import figures, yearly
from perfledger_service.pages.caption import LINE, caption
from perfledger_service.pages.environment import render
from perfledger_service.pages.escape import clean
from perfledger_service.pages.scale import Scale, Tick, nice_ticks

MAX_ROWS = 30  # workloads, and as many policies: more are no picture
# No fleet costs a trillion USD a year: what does is told in words, and the axis stays one for all.
LARGEST_USD = 1e12
# A limit so many times as far out as the intervals would squeeze these to dots: told in words only.
LIMIT_REACH = 3.0

# As the template draws it.
_LEFT, _RIGHT = 310.0, 740.0
_TOP = 88.0
_LINE_HEIGHT, _GAP = 15.0, 12.0
_ROOM = 0.05  # of the span, left and right of it
_MILLIONS_FROM = 1e7
_MAX_NAME = 44  # what the column of names holds
_MAX_NOTE = 400
_MAX_NOTES = 30

Priced = ChangePrice | SummedPrice


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One row; `start` and `end` are None where there is no bar, `dot` where there is no dot."""

    name: str
    details: tuple[str, ...]  # lines below the name
    amount: str
    interval: str
    tone: str  # a class of the picture's colours
    start: float | None
    end: float | None
    dot: float | None
    limits: tuple[tuple[str, float], ...]  # a class, and where
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePlot:
    """A picture as shapes."""

    title: str
    summary: tuple[str, ...]  # lines
    unit: str
    ticks: tuple[Tick, ...]
    zero: float
    rows: tuple[ChangeRow, ...]
    notes: tuple[str, ...]  # lines
    foot: float  # y of the axis


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """What becomes one row; `price` is None where there is nothing to draw."""

    name: str
    details: tuple[str, ...]
    price: Priced | None
    limits: tuple[tuple[str, Decimal], ...] = ()


def change_svg(view: PricedView) -> str:
    """Return each workload's price a year, all together, and each policy's with its limits."""
    entries = (*_workloads(view), *_together(view), *map(_policy, view.rulings[:MAX_ROWS]))
    scale = _scale(entries)
    rows: list[ChangeRow] = []
    y = _TOP
    for entry in entries:
        rows.append(_row(entry, scale, y))
        y += rows[-1].height
    factor, unit = _unit(scale)
    plot = ChangePlot(
        title="What the change costs a year",
        summary=caption(_summary(view)),
        unit=unit,
        ticks=tuple(
            # Six digits, and never a power of ten, which nobody reads as money.
            Tick(scale.at(at / factor), f"{float(f'{at:.6g}'):,.15g}")
            for at in nice_ticks(scale.low * factor, scale.high * factor)
        ),
        zero=scale.at(0.0),
        rows=tuple(rows),
        notes=tuple(line for note in _notes(view) for line in wrap(note, LINE)),
        foot=y,
    )
    height = y + 48 + _LINE_HEIGHT * len(plot.notes)
    return render("change.svg.j2", plot=plot, height=height) + "\n"


def _workloads(view: PricedView) -> tuple[_Entry, ...]:
    return tuple(
        _Entry(
            name=clean(price.workload, limit=_MAX_NAME),
            details=("" if price.rate is None else clean(price.rate.label, limit=_MAX_NAME),),
            price=price,
        )
        for price in _largest(view)[:MAX_ROWS]
    )


def _largest(view: PricedView) -> list[ChangePrice]:
    """Return what has a price, with the largest ends first."""
    found = [(price, ends) for price in view.priced.prices if (ends := _ends(price)) is not None]
    found.sort(key=lambda pair: -max(map(abs, pair[1])))
    return [price for price, _ in found]


def _together(view: PricedView) -> Iterator[_Entry]:
    total = view.priced.total
    if total is not None and _ends(total) is not None and len(view.priced.prices) > 1:
        count = len(total.workloads)
        yield _Entry(
            name="Together", details=(f"{count} workload{'s' * (count != 1)}",), price=total
        )


def _policy(ruling: PolicyRuling) -> _Entry:
    """Return a policy's row: its limits are for all of its workloads together."""
    limits = {"asks": ruling.ask_above_usd, "fails": ruling.fail_above_usd}
    known = tuple((word, usd) for word, usd in limits.items() if usd is not None)
    is_untouched = ruling.price is None and not ruling.unpriced
    said = f"{ruling.ruling}{': nothing changed' if is_untouched else ''}"
    return _Entry(
        name=clean(f"Policy of {ruling.team}", limit=_MAX_NAME),
        details=(said,),
        price=ruling.price,
        limits=known,
    )


def _ends(price: Priced | None) -> tuple[Decimal, Decimal, Decimal] | None:
    """Return low, middle and high; None where there is no price."""
    if price is None or price.usd is None or price.low is None or price.high is None:
        return None
    found = price.low, price.usd, price.high
    return found if all(usd.is_finite() for usd in found) else None


def _drawn(price: Priced | None) -> tuple[float, float, float] | None:
    """Return low, middle and high as they are drawn; None where there is nothing to draw."""
    ends = _ends(price)
    if ends is None or max(map(abs, ends)) > LARGEST_USD:
        return None
    low, middle, high = map(float, ends)
    return low, middle, high


def _scale(entries: Sequence[_Entry]) -> Scale:
    """Return an axis with zero, all intervals, and the limits that are not far from them."""
    ends = [end for entry in entries for end in _drawn(entry.price) or ()]
    reach = LIMIT_REACH * max(map(abs, ends), default=0.0) or LARGEST_USD
    limits = [float(usd) for entry in entries for _, usd in entry.limits if usd <= reach]
    low, high = min([0.0, *ends, *limits]), max([0.0, *ends, *limits])
    room = (high - low) * _ROOM or 1.0
    return Scale(low - room, high + room, _LEFT, _RIGHT)


def _unit(scale: Scale) -> tuple[float, str]:
    if max(-scale.low, scale.high) < _MILLIONS_FROM:
        return 1.0, "USD a year"
    return 1e-6, "million USD a year"


def _row(entry: _Entry, scale: Scale, y: float) -> ChangeRow:
    amount, interval = _figure(entry.price)
    details = (*entry.details, *(_limit(word, usd, scale) for word, usd in entry.limits))
    drawn = _drawn(entry.price)
    is_detectable = entry.price is not None and entry.price.is_detectable
    low, middle, high = (None, None, None) if drawn is None else map(scale.at, drawn)
    return ChangeRow(
        name=entry.name,
        details=details,
        amount=amount,
        interval=interval,
        tone=_tone(drawn) if is_detectable else "noise",
        start=low,
        end=high,
        dot=middle if is_detectable else None,
        limits=tuple(
            (word, scale.at(float(usd))) for word, usd in entry.limits if usd <= scale.high
        ),
        y=y,
        height=_LINE_HEIGHT * (1 + len(details)) + _GAP,
    )


def _limit(word: str, usd: Decimal, scale: Scale) -> str:
    return f"{word} above {figures.usd(usd)}{', off the picture' if usd > scale.high else ''}"


def _figure(price: Priced | None) -> tuple[str, str]:
    """Return the amount and its interval in words."""
    ends = _ends(price)
    if price is None or ends is None:
        return ("", "") if price is None else ("no sum: a price is missing", "")
    low, middle, high = ends
    amount, interval = figures.yearly_usd(middle, low, high)
    if price.is_detectable:
        is_free = low == high == 0
        return ("no cash", "") if is_free else (f"{'-' if middle < 0 else '+'}{amount}", interval)
    said = "no detectable change" if low <= 0 <= high else "somewhere in"
    return said, interval


def _tone(ends: tuple[float, float, float] | None) -> str:
    if ends is None or ends[0] <= 0 <= ends[2]:
        return "noise"
    return "slower" if ends[0] > 0 else "faster"


def _summary(view: PricedView) -> str:
    total = yearly.yearly_total(view.priced.total, len(view.priced.prices))
    together = "" if total is None else f"Together {total.text}. "
    return (
        f"{together}Bar: 95 % interval; dot: the change in cost, none where no change was detected"
    )


def _notes(view: PricedView) -> Iterator[str]:
    """Yield what has no price, then what the picture has no room for."""
    unpriced = [price for price in view.priced.prices if _ends(price) is None]
    for price in unpriced[:_MAX_NOTES]:
        yield f"No price: {clean(price.workload)}: {clean(price.note, limit=_MAX_NOTE)}"
    silent = [name for ruling in view.rulings for name in ruling.unpriced]
    told = {price.workload for price in unpriced}
    if others := [clean(name) for name in dict.fromkeys(silent) if name not in told]:
        yield clean(f"Without a price: {', '.join(others)}", limit=_MAX_NOTE)
    priced = len(view.priced.prices) - len(unpriced)
    for what, hidden in (
        ("prices", priced - MAX_ROWS),
        ("policies", len(view.rulings) - MAX_ROWS),
        ("workloads without a price", len(unpriced) - _MAX_NOTES),
    ):
        if hidden > 0:
            yield f"{hidden:,} more {what} are not drawn: --format json has them"
