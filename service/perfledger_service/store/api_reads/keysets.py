"""Cuts a page off rows that were read in the order of their keys."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from perfledger_service.store.api_reads.read_values import Item, Key, KeysetPage

Row = TypeVar("Row")


def page_of(
    rows: Sequence[Row], *, most: int, key: Callable[[Row], Key], read: Callable[[Row], Item]
) -> KeysetPage[Item]:
    """Return a page of `most` rows, of which one more was asked for to see whether there is one."""
    page_rows = rows[:most]
    return KeysetPage(
        tuple(map(read, page_rows)),
        key(page_rows[-1]) if len(rows) > most and page_rows else None,
    )
