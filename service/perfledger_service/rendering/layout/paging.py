"""Cuts long lists into pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """One page of a list; pages count from one."""

    items: tuple[Item, ...]
    number: int
    pages: int
    total: int


def page_of(items: Sequence[Item], number: int, *, size: int) -> Page[Item]:
    """Return a page of a list; a number past its end is the last page."""
    pages = max(1, -(-len(items) // size))
    current = min(max(number, 1), pages)
    of_page = tuple(items[(current - 1) * size : current * size])
    return Page(items=of_page, number=current, pages=pages, total=len(items))
