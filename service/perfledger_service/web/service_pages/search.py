"""Serves the search by name, in the projects that the reader may view."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from perfledger_service.rendering.server.pages.search import search_document, search_page
from perfledger_service.usecases.server.search import search
from perfledger_service.web.pages import MAX_NAME, PageFormat, data_response
from perfledger_service.web.sign_in.readers import CurrentPageReader

router = APIRouter(include_in_schema=False)


@router.get("/search", response_class=Response)
def search_by_name(
    reader: CurrentPageReader,
    text: Annotated[str, Query(alias="q", max_length=MAX_NAME)] = "",
    output: Annotated[PageFormat, Query(alias="format")] = PageFormat.HTML,
) -> Response:
    """Show what has a text in its name."""
    reader.require_project()
    with reader.session() as session:
        view = search(session, text)
    if output is PageFormat.HTML:
        return HTMLResponse(search_page(view))
    return data_response(search_document(view), output)
