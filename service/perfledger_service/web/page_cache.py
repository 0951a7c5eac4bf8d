"""Pages that were laid out before, kept for whoever asks next: judging anew takes a while."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

# A page of a large check is some megabytes of text.
MAX_PAGES = 32


class PageCache:
    """The newest pages by the stored values that they show; safe across threads."""

    def __init__(self, *, max_pages: int = MAX_PAGES) -> None:
        self._max_pages = max_pages
        self._pages: OrderedDict[Hashable, str] = OrderedDict()
        self._lock = Lock()

    def page(self, shown: Hashable, make: Callable[[], str]) -> str:
        """Return the page of stored values, made only if nothing about them is new."""
        with self._lock:
            known = self._pages.get(shown)
            if known is not None:
                self._pages.move_to_end(shown)
                return known
        made = make()
        with self._lock:
            self._pages[shown] = made
            while len(self._pages) > self._max_pages:
                self._pages.popitem(last=False)
        return made
