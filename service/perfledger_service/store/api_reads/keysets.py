"""Cuts a page off rows that were read in key order, and iterates over such pages."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from perfledger_service.store.api_reads.values import Item, Key, KeysetPage

Row = TypeVar("Row")
# Page size when everything is read.
ROWS_IN_MEMORY = 1000


def page_of(
    rows: Sequence[Row], *, most: int, key: Callable[[Row], Key], read: Callable[[Row], Item]
) -> KeysetPage[Item]:
    """Return a page of `most` rows; one more was requested to see whether there is a next page."""
    page_rows = rows[:most]
    return KeysetPage(
        tuple(map(read, page_rows)),
        key(page_rows[-1]) if len(rows) > most and page_rows else None,
    )


def all_pages(read: Callable[[Key | None], KeysetPage[Item]]) -> Iterator[KeysetPage[Item]]:
    """Yield each page that has rows; `read` returns the page after a key."""
    after: Key | None = None
    while (page := read(after)).items:
        yield page
        if page.last is None:
            return
        after = page.last
