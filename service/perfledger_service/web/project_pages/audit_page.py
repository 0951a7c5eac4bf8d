"""Serves what people did in a project, to its admins."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from perfledger_service.rendering.server.audit import audit_page
from perfledger_service.usecases.people.audit import MOST_ENTRIES, audit_log
from perfledger_service.web.app_state import CurrentAppState
from perfledger_service.web.sign_in.readers import CurrentAdminProject

router = APIRouter(prefix="/{owner}/{name}", include_in_schema=False)


@router.get("/audit", response_class=HTMLResponse)
def audit(state: CurrentAppState, project: CurrentAdminProject) -> str:
    """Show the newest entries of the audit log about a project."""
    entries = audit_log(state.engine, repository=project.repository, most=MOST_ENTRIES)
    return audit_page(project.repository, entries)
