"""Renders the page of a project's costs: the comparison of purchase options, and its form."""

from collections.abc import Iterator
from shlex import join
from urllib.parse import urlencode

from perfledger import rounding
from perfledger.time_units import HOURS_PER_WEEK
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.cost import price_history
from perfledger_service.rendering.cost.answer import answer_blocks, switches_blocks, usd_text
from perfledger_service.rendering.cost.compare import (
    amount_interval,
    break_even_phrase,
    chance_cheapest,
    notes_of,
    option_with_mark,
    origin_of,
    owning_blocks,
    shown_cost,
    shown_rows,
    title_of,
)
from perfledger_service.rendering.cost.plots import break_even_chart, tornado_chart
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import link
from perfledger_service.values.change_price import PriceHistory
from perfledger_service.values.cost_views import (
    COST_NUMBERS,
    CostForm,
    CostRow,
    CostView,
    WhatIfView,
)

_PERCENT = 100


def costs_page(repository: str, view: WhatIfView, history: PriceHistory) -> str:
    """Return the page of a project's costs."""
    return render(
        "html/costs.html.j2",
        repository=repository,
        what_if=what_if_part(repository, view),
        **price_history.page_values(history),
    )


def what_if_part(repository: str, view: WhatIfView) -> str:
    """Return the part of the page that a form recomputes."""
    comparison = view.comparison
    return render(
        "html/costs_what_if.html.j2",
        repository=repository,
        form=view.form,
        option_names=view.option_names,
        problems=view.problems,
        is_without_own_prices=view.is_without_own_prices,
        command=join(view.command),
        query=urlencode(tuple(_parameters(view.form)), errors="replace"),
        share="" if view.use is None else rounding.for_programs(view.use * _PERCENT),
        **({"comparison": None} if comparison is None else _comparison_values(view, comparison)),
    )


def _comparison_values(view: WhatIfView, comparison: CostView) -> dict[str, object]:
    rows = shown_rows(comparison)
    names = {row.cost.name for row in rows}
    curves = [curve for curve in comparison.curves if curve.name in names]
    return {
        "comparison": comparison,
        "title": title_of(comparison),
        "answer": tuple(
            answer_blocks(
                comparison.answer,
                use=comparison.use,
                piece=comparison.piece,
                kept_years=comparison.kept_years,
            )
        ),
        "rows": rows,
        "option": _option,
        "origin": _origin,
        "usd": _usd,
        "interval": _interval,
        "chance": chance_cheapest,
        "break_even": _break_even,
        "break_even_svg": _svg(break_even_chart(curves), "Cost of a useful hour by allocated share")
        if curves
        else "",
        "tornado_svg": ""
        if view.owning is None
        else _svg(
            tornado_chart(view.owning.bars, mode_usd=view.owning.hour.mode_usd),
            "Effect of each input on the cost of a useful hour of an owned server",
        ),
        "owned": "" if view.owning is None else view.owning.label,
        "switches": tuple(switches_blocks(comparison.answer)),
        "owning": tuple(owning_blocks(rows)),
        "notes": tuple(notes_of(comparison)),
        "hours_a_week": rounding.integer(comparison.use * HOURS_PER_WEEK),
    }


def _svg(chart: Chart, label: str) -> str:
    return embedded_svg(chart, label=label)


def _option(row: CostRow) -> str:
    return option_with_mark(row.cost.name, row)


def _usd(row: CostRow) -> str:
    return usd_text(shown_cost(row).p50_usd)


def _interval(row: CostRow) -> str:
    return amount_interval(shown_cost(row))


def _break_even(row: CostRow) -> str:
    return break_even_phrase(row.break_even)


def _origin(row: CostRow) -> tuple[str, str, str]:
    """Return the region and day of a row's price, its source and the source's address."""
    if row.server_price is not None:
        price = row.server_price
        return f"server price {price.dated}", price.source, link(price.source_url)
    if row.price is None:
        return "", "", ""
    return origin_of(row.price), row.price.source, link(row.price.source_url)


def _parameters(form: CostForm) -> Iterator[tuple[str, str]]:
    """Yield the query parameters that reopen a form."""
    for field in COST_NUMBERS:
        if text := str(getattr(form, field)):
            yield field, text
    yield from (("at", name) for name in form.at)
    if form.shows_all:
        yield "all", "true"
