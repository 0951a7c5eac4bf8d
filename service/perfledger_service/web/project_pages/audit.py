"""Redirects the admins of a project to its part of the audit log."""

from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import RedirectResponse

from perfledger_service.web.sign_in.readers import SEE_OTHER, CurrentAdminProject

router = APIRouter(prefix="/{owner}/{name}", include_in_schema=False)


@router.get("/audit")
def audit(project: CurrentAdminProject) -> RedirectResponse:
    """Redirect to the entries of the audit log about a project."""
    return RedirectResponse(f"/admin/audit?project={quote(project.repository, safe='')}", SEE_OTHER)
