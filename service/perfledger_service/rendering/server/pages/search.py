"""Renders the results of a search by name, as a page and as data."""

from itertools import groupby

from perfledger.records import short_sha
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout.document import Column, Document, fact, facts, table
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import path
from perfledger_service.values.service_views.search import SearchHit, SearchKind, SearchView

_HEADINGS = {
    SearchKind.PROJECT: "Projects",
    SearchKind.PULL_REQUEST: "Pull requests",
    SearchKind.COMMIT: "Commits",
    SearchKind.WORKLOAD: "Workloads",
    SearchKind.MACHINE_CLASS: "Machine classes",
    SearchKind.RUNNER: "Runners",
}
# How to narrow a search if not all results of a kind are shown.
_NARROWER = {
    SearchKind.PULL_REQUEST: "add the project, as in octo/models#12",
    SearchKind.COMMIT: "type more digits, or the project before them",
}
_NARROWER_NAME = "type more of the name"


def search_page(view: SearchView) -> str:
    """Return the page of a search."""
    return render(
        "html/search.html.j2",
        view=view,
        groups=[
            (
                _HEADINGS[kind],
                _NARROWER.get(kind, _NARROWER_NAME) if kind in view.cut else "",
                [(_address(hit), _title(hit), hit) for hit in hits],
            )
            for kind, hits in groupby(view.hits, key=lambda hit: hit.kind)
        ],
    )


def search_document(view: SearchView) -> Document:
    """Return the results, with the address of each page."""
    return Document(
        name="perfledger-search",
        facts={"text": view.text, "cut": sorted(view.cut)},
        blocks=(table(_COLUMNS, view.hits, key="hits"),),
    )


def _address(hit: SearchHit) -> str:
    project = f"/{path(hit.repository)}"
    match hit.kind:
        case SearchKind.PROJECT:
            return project
        case SearchKind.PULL_REQUEST:
            return f"{project}/pull/{hit.name.removeprefix('#')}"
        case SearchKind.COMMIT:
            return f"/runs/{hit.upload_id}"
        case SearchKind.WORKLOAD:
            return f"{project}/workloads/{path(hit.name)}"
        case SearchKind.MACHINE_CLASS | SearchKind.RUNNER:
            return f"{project}/machines"


def _title(hit: SearchHit) -> str:
    match hit.kind:
        case SearchKind.COMMIT:
            return short_sha(hit.name)
        case SearchKind.MACHINE_CLASS:
            return stored_verdict_rows.device(hit.name)
        case _:
            return hit.name


_COLUMNS: tuple[Column[SearchHit], ...] = (
    *facts("kind", "repository", "name", "detail"),
    fact("address", _address),
)
