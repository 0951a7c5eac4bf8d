"""Serves the audit log to admins, with a filter."""

from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from perfledger_service.errors import UsageError
from perfledger_service.rendering.server.audit import audit_document
from perfledger_service.rendering.server.pages.admin import audit_log_page
from perfledger_service.usecases.people.audit import audit_view
from perfledger_service.values.people.person import AuditAction
from perfledger_service.values.service_views.admin import AuditFilter
from perfledger_service.web.pages import MAX_NAME, NUL, PageFormat, data_response
from perfledger_service.web.sign_in.readers import CurrentAdmin

router = APIRouter(prefix="/admin/audit", include_in_schema=False)
ENTRIES_PER_PAGE = 50
MAX_ENTRIES = 10_000  # in the data, whose `older` is the next request's `before`
MAX_ENTRY = 2**31 - 1
Text = Annotated[str, Query(max_length=MAX_NAME)]


@router.get("", response_class=Response)
def audit_log(
    admin: CurrentAdmin,
    *,
    project: Text = "",
    actor: Text = "",
    action: Text = "",
    since: Text = "",
    until: Text = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_ENTRY)] = None,
    output: Annotated[PageFormat, Query(alias="format")] = PageFormat.HTML,
) -> Response:
    """Show people's actions in the projects that the reader administers."""
    fields = {
        "project": project.replace(NUL, "").strip(),
        "actor": actor.replace(NUL, "").strip(),
        "action": action,
        "since": since,
        "until": until,
    }
    chosen = AuditFilter(
        repository=fields["project"],
        actor=fields["actor"],
        action=_action(action),
        since=_day(since),
        until=_day(until),
        before=before,
    )
    most = ENTRIES_PER_PAGE if output is PageFormat.HTML else MAX_ENTRIES
    with admin.session() as session:
        view = audit_view(session, chosen, most=most)
    if output is PageFormat.HTML:
        query = urlencode({name: text for name, text in fields.items() if text}, errors="replace")
        return HTMLResponse(audit_log_page(view, chosen, query=query))
    document = replace(audit_document(view.entries), facts={"older": view.older})
    return data_response(document, output)


def _action(text: str) -> AuditAction | None:
    try:
        return AuditAction(text) if text else None
    except ValueError:
        msg = f"{text[:80]!r} is not an action: choose one of {', '.join(AuditAction)}"
        raise UsageError(msg) from None


def _day(text: str) -> datetime | None:
    """Return the start of a day, as browsers send it, in UTC."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC) if text else None
    except ValueError:
        msg = f"{text[:80]!r} is not a day: write 2026-11-20"
        raise UsageError(msg) from None
