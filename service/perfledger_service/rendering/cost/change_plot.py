"""Draws the yearly cost of changes: dots with intervals around zero, and the limits of policies.

Undetected changes have an interval and no dot. Changes without a price are named, not drawn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.change_price.cost_policy import PolicyEvaluation
from perfledger_cost_models.quote import ChangePrice, SummedPrice
from perfledger_service.rendering.chart.axis import Axis, Tick, linear_axis, rows_axis, widen_range
from perfledger_service.rendering.chart.marks import DotMark, LineMark, Mark, RuleMark, Tone
from perfledger_service.rendering.chart.picture import Chart, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.cost import yearly_rows
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.values.change_price import ChangePriceView

MAX_ROWS = 30  # workloads, and as many policies: with more the chart is unreadable
# No fleet costs a trillion USD a year. Larger amounts are shown as text, not drawn, so that all
# rows share one axis.
MAX_USD = 1e12
# Limits beyond this many times the largest interval end are shown as text only: drawing them would
# shrink the intervals to dots.
LIMIT_REACH = 3.0

_LEFT, _RIGHT = 240.0, 140.0  # for names, and for amounts
_MARGIN = 0.05  # of the span, on either side
_MILLIONS_FROM = 1e7
_MAX_NOTE = 400
_MAX_NOTES = 30
_LIMIT_TONES = {"asks": Tone.AMBER, "fails": Tone.RED}

AnyPrice = ChangePrice | SummedPrice


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One row of the chart; `price` is None if there is nothing to draw."""

    name: str
    details: tuple[str, ...]
    price: AnyPrice | None
    limits: tuple[tuple[str, Decimal], ...] = ()


def change_svg(view: ChangePriceView) -> str:
    """Return the yearly prices of workloads, their sum, and the prices of policies with limits."""
    return picture_svg(change_picture(view))


def change_picture(view: ChangePriceView) -> Picture:
    """Return a chart of workloads, and one of policies if there are any, on one axis."""
    workloads = (*_workloads(view), *_sum(view))
    policies = tuple(map(_policy, view.policy_evaluations[:MAX_ROWS]))
    axis = _axis((*workloads, *policies))
    charts = [_chart(workloads, axis)]
    if policies:
        charts.append(_chart(policies, axis))
    return Picture(
        title="Yearly cost of the change",
        summary=_summary(view),
        charts=tuple(charts),
        notes=(*_far_limits(policies, axis), *_notes(view)),
    )


def _chart(entries: Sequence[_Entry], axis: Axis) -> Chart:
    marks = [mark for row, entry in enumerate(entries) for mark in _marks(entry, row + 0.5, axis)]
    rows = rows_axis([_tick(entry) for entry in entries])
    return Chart(x=axis, y=rows, marks=(RuleMark(x=0.0), *marks), left=_LEFT, right=_RIGHT)


def _workloads(view: ChangePriceView) -> tuple[_Entry, ...]:
    return tuple(
        _Entry(
            name=price.workload,
            details=() if price.rate is None else (price.rate.label,),
            price=price,
        )
        for price in _largest(view)[:MAX_ROWS]
    )


def _largest(view: ChangePriceView) -> list[ChangePrice]:
    """Return the priced changes, those with the largest interval ends first."""
    priced = [(price, ends) for price in view.prices.prices if (ends := _ends(price)) is not None]
    priced.sort(key=lambda pair: -max(map(abs, pair[1])))
    return [price for price, _ in priced]


def _sum(view: ChangePriceView) -> Iterator[_Entry]:
    total = view.prices.total
    if total is not None and _ends(total) is not None and len(view.prices.prices) > 1:
        count = len(total.workloads)
        yield _Entry(
            name="Together", details=(number_format.quantity(count, "workload"),), price=total
        )


def _policy(evaluation: PolicyEvaluation) -> _Entry:
    """Return the row of a policy, whose limits are for all of its workloads together."""
    limits = {"asks": evaluation.ask_above_usd, "fails": evaluation.fail_above_usd}
    amounts = tuple((word, usd) for word, usd in limits.items() if usd is not None)
    is_untouched = evaluation.price is None and not evaluation.unpriced
    outcome_text = f"{evaluation.outcome}{': nothing changed' if is_untouched else ''}"
    return _Entry(
        name=f"Policy of {evaluation.team}",
        details=(outcome_text,),
        price=evaluation.price,
        limits=amounts,
    )


def _ends(price: AnyPrice | None) -> tuple[Decimal, Decimal, Decimal] | None:
    """Return low, middle and high; None without a price."""
    if price is None or price.usd is None or price.low is None or price.high is None:
        return None
    bounds = price.low, price.usd, price.high
    return bounds if all(usd.is_finite() for usd in bounds) else None


def _interval(price: AnyPrice | None) -> tuple[float, float, float] | None:
    """Return low, middle and high as drawn; None if there is nothing to draw."""
    ends = _ends(price)
    if ends is None or max(map(abs, ends)) > MAX_USD:
        return None
    low, middle, high = map(float, ends)
    return low, middle, high


def _axis(entries: Sequence[_Entry]) -> Axis:
    """Return an axis that spans zero, all intervals, and the limits near them."""
    ends = [end for entry in entries for end in _interval(entry.price) or ()]
    reach = LIMIT_REACH * max(map(abs, ends), default=0.0) or MAX_USD
    limits = [float(usd) for entry in entries for _, usd in entry.limits if usd <= reach]
    low, high = widen_range(min([0.0, *ends, *limits]), max([0.0, *ends, *limits]), share=_MARGIN)
    is_small = max(-low, high) < _MILLIONS_FROM
    factor, unit = (1.0, "USD a year") if is_small else (1e-6, "million USD a year")
    return linear_axis(low, high, factor=factor, title=unit)


def _tick(entry: _Entry) -> Tick:
    amount, interval = _figure(entry.price)
    details = (*entry.details, *(_limit_text(word, usd) for word, usd in entry.limits))
    return Tick(label=entry.name, details=details, figure=amount, figure_detail=interval)


def _limit_text(word: str, usd: Decimal) -> str:
    return f"{word} above {number_format.usd(usd)}"


def _marks(entry: _Entry, row: float, axis: Axis) -> Iterator[Mark]:
    for word, usd in entry.limits:
        if usd <= axis.high:
            ends = ((float(usd), row - 0.45), (float(usd), row + 0.45))
            yield LineMark(points=ends, tone=_LIMIT_TONES[word], is_dashed=word == "asks")
    interval = _interval(entry.price)
    is_detectable = entry.price is not None and entry.price.is_detectable
    if interval is not None:
        low, middle, high = interval
        tone = _tone(low, high) if is_detectable else Tone.MUTED
        yield LineMark(points=((low, row), (high, row)), tone=tone, width=4.0)
        if is_detectable:
            yield DotMark(x=middle, y=row, tone=tone, radius=5.0)


def _figure(price: AnyPrice | None) -> tuple[str, str]:
    """Return the amount and its interval as text."""
    ends = _ends(price)
    if price is None or ends is None:
        return ("", "") if price is None else ("no sum: a price is missing", "")
    low, middle, high = ends
    amount, interval = number_format.yearly_usd(middle, low, high)
    if price.is_detectable:
        is_free = low == high == 0
        return ("no cash", "") if is_free else (f"{'-' if middle < 0 else '+'}{amount}", interval)
    certainty = "no detectable change" if low <= 0 <= high else "within"
    return certainty, interval


def _tone(low: float, high: float) -> Tone:
    if low <= 0 <= high:
        return Tone.MUTED
    return Tone.RED if low > 0 else Tone.GREEN


def _summary(view: ChangePriceView) -> str:
    total = yearly_rows.yearly_total(view.prices.total, len(view.prices.prices))
    total_text = "" if total is None else f"Together {total.text}. "
    return f"{total_text}Bar: 95 % interval; dot: the change in cost, if one was detected"


def _far_limits(entries: Sequence[_Entry], axis: Axis) -> Iterator[str]:
    for entry in entries:
        for word, usd in entry.limits:
            if usd > axis.high:
                yield f"{entry.name}: {_limit_text(word, usd)}, outside the chart"


def _notes(view: ChangePriceView) -> Iterator[str]:
    """Yield the changes without a price, then those that do not fit in the picture."""
    unpriced = [price for price in view.prices.prices if _ends(price) is None]
    for price in unpriced[:_MAX_NOTES]:
        yield f"No price: {clean(price.workload)}: {clean(price.note, limit=_MAX_NOTE)}"
    silent = [name for evaluation in view.policy_evaluations for name in evaluation.unpriced]
    named_workloads = {price.workload for price in unpriced}
    if unnamed := [clean(name) for name in dict.fromkeys(silent) if name not in named_workloads]:
        yield clean(f"Without a price: {', '.join(unnamed)}", limit=_MAX_NOTE)
    priced = len(view.prices.prices) - len(unpriced)
    for what, hidden in (
        ("prices", priced - MAX_ROWS),
        ("policies", len(view.policy_evaluations) - MAX_ROWS),
        ("workloads without a price", len(unpriced) - _MAX_NOTES),
    ):
        if hidden > 0:
            yield f"{hidden:,} more {what} are not drawn: --format json has them"
