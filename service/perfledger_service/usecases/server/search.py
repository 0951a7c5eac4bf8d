"""Searches by name in the projects that a person may view."""

from sqlmodel import Session

from perfledger_service.store.search_queries import MAX_HITS, search_hits
from perfledger_service.values.service_views.search import SearchKind, SearchView

NUL = "\0"  # which no database stores in text


def search(session: Session, text: str) -> SearchView:
    """Return matches for a text in the projects of a session, MAX_HITS of each kind."""
    text = text.replace(NUL, "").strip()
    by_kind = {kind: search_hits(session, text, kind) for kind in SearchKind}
    return SearchView(
        text=text,
        hits=tuple(hit for hits in by_kind.values() for hit in hits[:MAX_HITS]),
        cut=frozenset(kind for kind, hits in by_kind.items() if len(hits) > MAX_HITS),
    )
