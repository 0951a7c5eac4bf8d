"""Serves `/account`: a person's identity, their roles, and their own tokens for the API."""

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perfledger_service.errors import UsageError
from perfledger_service.rendering.server.pages.account import account_page, no_account_page
from perfledger_service.store.projects import projects
from perfledger_service.usecases.people.tokens import (
    MAX_PERSONAL_DAYS,
    make_personal_token,
    personal_tokens,
    revoke_personal_token,
)
from perfledger_service.values.people.person import AccountView
from perfledger_service.values.token_scope import TokenScope
from perfledger_service.web.app_state import CurrentAddress, CurrentAppState
from perfledger_service.web.sign_in.forms import CurrentForm
from perfledger_service.web.sign_in.readers import (
    SEE_OTHER,
    CurrentPageReader,
    PageReader,
    require_browser,
)

router = APIRouter(prefix="/account", include_in_schema=False)
MAX_REPOSITORY = 140  # GitHub: 39 for the owner, 100 for the name
Prefix = Annotated[str, Path(pattern=r"^pl_[0-9a-f]{8}$")]


class TokenForm(BaseModel):
    """The form that makes a token."""

    model_config = ConfigDict(extra="forbid")

    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$", max_length=MAX_REPOSITORY)]
    scope: TokenScope
    days: int


@router.get("", response_class=HTMLResponse)
def account(state: CurrentAppState, reader: CurrentPageReader) -> str:
    """Show who is signed in, or how to sign in."""
    if reader.browser is None:
        return no_account_page(can_sign_in=state.sign_in is not None)
    return account_page(_view(reader))


@router.post("/tokens", response_class=HTMLResponse)
def make_token(
    state: CurrentAppState, reader: CurrentPageReader, form: CurrentForm, address: CurrentAddress
) -> str:
    """Make a token, and show it once."""
    try:
        wish = TokenForm.model_validate(dict(form))
    except ValidationError:
        msg = f"name a project, a scope, and 1 to {MAX_PERSONAL_DAYS} days"
        raise UsageError(msg) from None
    token = make_personal_token(
        state.engine,
        require_browser(reader).person,
        wish.repository,
        roles=reader.roles,
        scope=wish.scope,
        days=wish.days,
        address=address,
        now=state.now(),
    )
    return account_page(_view(reader), new_token=token)


@router.post("/tokens/{prefix}/revoke")
def revoke_token(
    state: CurrentAppState,
    reader: CurrentPageReader,
    form: CurrentForm,  # noqa: ARG001 - checked before anything is changed
    address: CurrentAddress,
    prefix: Prefix,
) -> Response:
    """Revoke one of the person's own tokens."""
    person = require_browser(reader).person
    revoke_personal_token(state.engine, person, prefix, address=address, now=state.now())
    return RedirectResponse("/account", SEE_OTHER)


def _view(reader: PageReader) -> AccountView:
    browser, state = require_browser(reader), reader.state
    with reader.session() as session:
        roles = tuple(
            (project.repository, reader.roles[project.id])
            for project in projects(session)
            if project.id in reader.roles
        )
    return AccountView(
        person=browser.person,
        form_token=browser.form_token,
        roles=roles,
        tokens=personal_tokens(state.engine, browser.person, now=state.now()),
        max_days=MAX_PERSONAL_DAYS,
    )
