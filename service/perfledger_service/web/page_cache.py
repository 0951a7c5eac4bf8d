"""Pages that were laid out before, kept for whoever asks next: judging anew takes a while."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from perfledger_service.views import UploadView

# A page of a large check is some megabytes of text.
MAX_PAGES = 32


class PageCache:
    """The newest pages by the upload that they show, as it was stored then; safe across threads."""

    def __init__(self, *, max_pages: int = MAX_PAGES) -> None:
        self._max_pages = max_pages
        self._pages: OrderedDict[UploadView, str] = OrderedDict()
        self._lock = Lock()

    def page(self, upload: UploadView, make: Callable[[], str]) -> str:
        """Return the page of an upload, made only if nothing about the upload is new."""
        with self._lock:
            known = self._pages.get(upload)
            if known is not None:
                self._pages.move_to_end(upload)
                return known
        made = make()
        with self._lock:
            self._pages[upload] = made
            while len(self._pages) > self._max_pages:
                self._pages.popitem(last=False)
        return made
