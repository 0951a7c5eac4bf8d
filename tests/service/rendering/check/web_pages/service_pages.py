"""The pages about all projects at once, made of values by hand."""

from collections.abc import Callable

from perfledger_service.rendering.server.search_page import search_page
from perfledger_service.values.service_views.search_view import SearchHit, SearchKind, SearchView


def service_pages(change: Callable[[str], str]) -> dict[str, str]:
    """Return the pages by path, with their texts put through a function."""
    return {
        "/search": search_page(
            SearchView(
                text=change("gpt"),
                hits=tuple(
                    SearchHit(
                        kind=kind,
                        repository=change("acme/models"),
                        name="#7" if kind is SearchKind.PULL_REQUEST else change("gpt:step"),
                        detail=change("a subject"),
                        upload_id="1" * 32,
                    )
                    for kind in SearchKind
                ),
                cut=frozenset({SearchKind.WORKLOAD}),
            )
        ),
        "/search/empty": search_page(SearchView(text="")),
    }
