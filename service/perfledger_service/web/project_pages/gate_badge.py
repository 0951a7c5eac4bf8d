"""Serves a project's badge, for READMEs and dashboards."""

from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Header, Response

from perfledger_service.rendering.history.gate_badge import badge_svg
from perfledger_service.usecases.history.gate_badge import gate_badge
from perfledger_service.web.app_state import CurrentAppState
from perfledger_service.web.pages import Name
from perfledger_service.web.sign_in.readers import CurrentPageReader

router = APIRouter(prefix="/{owner}/{name}", include_in_schema=False)
NOT_MODIFIED = 304


@router.get("/badge.svg", response_class=Response)
def badge(
    state: CurrentAppState,
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """Show the state of the gate of a project's default branch.

    Caches must ask each time whether it is still the same: an outdated badge would be wrong.
    """
    with reader.session() as session:
        picture = badge_svg(gate_badge(session, f"{owner}/{name}", now=state.now()))
    tag = f'"{sha256(picture.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if reader.browser is None:  # anybody may read it, so other sites may show it
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    else:
        headers["Cache-Control"] = "private, no-cache"
    # A proxy that compresses makes the tag weak.
    if tag in {each.strip().removeprefix("W/") for each in if_none_match.split(",")}:
        return Response(status_code=NOT_MODIFIED, headers=headers)
    return Response(picture, media_type="image/svg+xml", headers=headers)
