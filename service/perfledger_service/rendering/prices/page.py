"""Renders the page of the prices that the service uses, with their ages."""

from collections.abc import Iterable
from datetime import date
from itertools import groupby

from perfledger_cost_models.prices.price_sheet import PriceSheet, UnknownPrice
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import link
from perfledger_service.rendering.layout.paging import page_of
from perfledger_service.rendering.prices.list import (
    PriceSheetRow,
    option_name,
    price_sheet_rows,
    price_state,
    states_legend,
)

PAGE = 30  # a few screens of a phone
_NO_DATE = "-"


def prices_page(
    sheet: PriceSheet,
    *,
    today: date,
    text: str = "",
    stale_only: bool = False,
    number: int = 1,
    has_notices: bool = False,
) -> str:
    """Return one page of the prices whose options, accelerators or sources contain a text.

    `has_notices` if people are notified when prices become old.
    """
    rows = price_sheet_rows(sheet, today=today)
    chosen = [
        row
        for row in rows
        if text.lower() in _search_words(row) and (price_state(row) == "old" or not stale_only)
    ]
    page = page_of(chosen, number, size=PAGE)
    return render(
        "html/admin_prices.html.j2",
        sheet=sheet,
        page=page,
        groups=_by_source(page.items),
        stale=sum(price_state(row) == "old" for row in rows),
        total=len(rows),
        text=text,
        stale_only=stale_only,
        has_notices=has_notices,
        today=number_format.day(today),
        legend=states_legend(),
        list_day=_list_day,
        read_day=_read_day,
    )


def _by_source(
    rows: Iterable[PriceSheetRow],
) -> tuple[tuple[str, str, tuple[tuple[PriceSheetRow, str, str], ...]], ...]:
    """Return neighbouring rows of one source together, each row with its option and state."""
    return tuple(
        (
            source,
            link(url),
            tuple((row, option_name(row.listed), price_state(row)) for row in group),
        )
        for (source, url), group in groupby(rows, key=_source)
    )


def _source(row: PriceSheetRow) -> tuple[str, str]:
    """Return the source of a row's price and its address."""
    return row.listed.source, "" if row.price is None else row.price.source_url


def _search_words(row: PriceSheetRow) -> str:
    listed = row.listed
    return f"{option_name(listed)} {listed.accelerator} {listed.source}".lower()


def _list_day(row: PriceSheetRow) -> str:
    """Return the date stated in the list."""
    if row.price is None or row.price.is_read_date:
        return _NO_DATE
    return number_format.day(row.price.as_of)


def _read_day(row: PriceSheetRow) -> str:
    """Return the day on which the list was read or searched."""
    if isinstance(row.listed, UnknownPrice):
        return str(row.listed.searched_on)
    if row.price is not None and row.price.is_read_date:
        return number_format.day(row.price.as_of)
    read = row.listed.retrieved_at
    return _NO_DATE if read is None else number_format.day(read)
