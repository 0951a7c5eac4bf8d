"""Caches rendered pages, since judging a bundle again takes a while."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

# A page of a large check is some megabytes of text.
MAX_PAGES = 32


class PageCache:
    """Cache of the most recent pages by the stored values that they show; safe across threads."""

    def __init__(self, *, max_pages: int = MAX_PAGES) -> None:
        self._max_pages = max_pages
        self._pages: OrderedDict[Hashable, str] = OrderedDict()
        self._lock = Lock()

    def page(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return the page for these stored values, rendered only if it is not cached."""
        with self._lock:
            cached = self._pages.get(key)
            if cached is not None:
                self._pages.move_to_end(key)
                return cached
        page = make()
        with self._lock:
            self._pages[key] = page
            while len(self._pages) > self._max_pages:
                self._pages.popitem(last=False)
        return page
