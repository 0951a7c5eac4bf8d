"""Presents the yearly prices of changes over time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from perfledger.records import short_sha
from perfledger_cost_models.quote import ChangePrice
from perfledger_service.rendering.chart.axis import linear_axis, places_axis, widen_range
from perfledger_service.rendering.chart.marks import DotMark, LineMark, Mark, RuleMark, Tone
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.cost.change_plot import MAX_USD
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    TextStyle,
    display,
    fact,
    facts,
    name,
    table,
)
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.values.change_price import PricedCheck, PriceHistory

MAX_ROWS = 12  # of a table: two screens with the chart; CSV and JSON have all
_MARGIN = 0.08  # of the span
_MAX_LABELS = 8
_MAX_REASON = 400
_HEIGHT = 240.0


@dataclass(frozen=True, slots=True)
class _Row:
    """One workload's change on one fleet entry, of one check."""

    check: PricedCheck
    price: ChangePrice

    @property
    def ends(self) -> tuple[Decimal, Decimal, Decimal] | None:
        """Return low, middle and high; None without a price."""
        price = self.price
        if price.usd is None or price.low is None or price.high is None:
            return None
        return price.low, price.usd, price.high

    @property
    def where(self) -> str:
        """Return where the commit is: on a pull request, on the default branch, or unattested."""
        if self.check.pull_request is not None:
            return f"#{self.check.pull_request}"
        return "default branch" if self.check.is_on_branch else "unattested"


def page_values(history: PriceHistory) -> Mapping[str, object]:
    """Return what the page of costs shows of a history."""
    rows = tuple(_rows(history))
    priced = [row for row in rows if row.ends is not None]
    chart = _chart(priced)
    return {
        "changes": table(_shown_columns(), priced, style=_style, most=MAX_ROWS),
        "unpriced": table(
            _unpriced_columns(), [row for row in rows if row.ends is None], most=MAX_ROWS
        ),
        "svg": "" if chart is None else embedded_svg(chart, label=_CHART_LABEL),
        "summary": _summary(rows, priced),
        "left_out": "Older checks are on the pages of their pull requests."
        if history.has_older
        else "",
    }


def price_history_document(history: PriceHistory) -> Document:
    """Return the history for programs, including changes without a price and the reasons."""
    return Document(
        name="perfledger-price-history",
        facts={"repository": history.repository, "has_older": history.has_older},
        blocks=(table(_fact_columns(), _rows(history), key="changes"),),
    )


_CHART_LABEL = "Yearly price of each change, oldest first; the table below has the same numbers"


def _rows(history: PriceHistory) -> Iterator[_Row]:
    for check in history.checks:
        for price in check.prices:
            yield _Row(check, price)


def _summary(rows: tuple[_Row, ...], priced: list[_Row]) -> str:
    """Return how many changes have a price, and the most expensive one."""
    if not priced:
        return f"None of {len(rows)} changes has a price; the reasons are below."
    costliest = max(priced, key=lambda row: row.price.usd or Decimal(0))
    count = f"{len(priced)} of {len(rows)} changes" if len(rows) > 1 else "The one change"
    text = f"{count} {'have' if len(rows) > 1 else 'has'} a price"
    if (costliest.price.usd or Decimal(0)) <= 0:
        return f"{text}, and none costs anything."
    amount, interval = _amount(costliest)
    return (
        f"{text}; the most expensive is {clean(costliest.price.workload)} in {costliest.where}, "
        f"{amount} a year ({interval})."
    )


def _chart(rows: list[_Row]) -> Chart | None:
    """Return the chart of the intervals, oldest first; None if none can be drawn."""
    points = [
        (row, tuple(map(float, row.ends)))
        for row in reversed(rows)
        if row.ends is not None and max(map(abs, row.ends)) <= MAX_USD
    ]
    if not points:
        return None
    low, high = widen_range(
        min(0.0, *(ends[0] for _, ends in points)),
        max(0.0, *(ends[2] for _, ends in points)),
        share=_MARGIN,
    )
    return Chart(
        x=places_axis([row.where for row, _ in points], most=_MAX_LABELS),
        y=linear_axis(low, high, title="USD a year"),
        marks=(
            RuleMark(y=0.0),
            *(mark for at, (row, ends) in enumerate(points) for mark in _marks(at, row, ends)),
        ),
        height=_HEIGHT,
    )


def _marks(at: int, row: _Row, ends: tuple[float, ...]) -> Iterator[Mark]:
    low, middle, high = ends
    tone = Tone.RED if low > 0 else Tone.GREEN if high < 0 else Tone.MUTED
    amount, interval = _amount(row)
    title = f"{clean(row.price.workload)}, {row.where}: {amount} ({interval})"
    yield LineMark(points=((at, low), (at, high)), tone=tone, width=4.0)
    yield DotMark(x=float(at), y=middle, tone=tone, radius=5.0, title=title)


def _amount(row: _Row) -> tuple[str, str]:
    """Return the signed amount and its interval as text."""
    if row.ends is None:
        return "", ""
    low, middle, high = row.ends
    amount, interval = number_format.yearly_usd(middle, low, high)
    return f"{'-' if middle < 0 else '+'}{amount}", interval


def _style(row: _Row) -> TextStyle:
    low, _, high = row.ends or (Decimal(0),) * 3
    return TextStyle.WORSE if low > 0 else TextStyle.BETTER if high < 0 else TextStyle.PLAIN


def _shown_columns() -> tuple[Column[_Row], ...]:
    return (
        *_subject_columns(),
        display("USD a year", lambda row: _amount(row)[0]),
        display("95 %", lambda row: _amount(row)[1]),
        display("On", _option, kind=CellKind.WORDS),
    )


def _unpriced_columns() -> tuple[Column[_Row], ...]:
    return (
        *_subject_columns(),
        display(
            "Why not", lambda row: clean(row.price.note, limit=_MAX_REASON), kind=CellKind.WORDS
        ),
    )


def _subject_columns() -> tuple[Column[_Row], ...]:
    return (
        name("", "Workload", lambda row: row.price.workload, limit=120),
        display("Commit", lambda row: short_sha(row.check.head_sha)),
        display("In", lambda row: row.where),
        display("Judged", lambda row: number_format.day(row.check.judged_on)),
    )


def _option(row: _Row) -> str:
    return "" if row.price.rate is None else clean(row.price.rate.label)


def _fact_columns() -> tuple[Column[_Row], ...]:
    return (
        *facts("upload_id", "head_sha", "subject", "pull_request", "is_on_branch", of="check"),
        fact("machine_class", lambda row: row.check.machine_class),
        *facts("judged_on", of="check"),
        *facts("workload", of="price"),
        fact("usd_per_year", lambda row: row.price.usd),
        *facts("low", "high", "is_detectable", "hours_source", "note", of="price"),
        fact("device_hours_per_year", lambda row: row.price.device_hours_per_year[1]),
        *facts("option", "usd_per_device_hour", "as_of", "source", of="price.rate"),
    )
