"""Serves `/sign-in`, where GitHub or a proxy identifies a person, and `/sign-out`."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from perfledger_service.errors import NotFoundError, RefusedError
from perfledger_service.rendering.server.pages.account import signed_out_page
from perfledger_service.usecases.people.sign_in import (
    ProvenAccount,
    SignInOptions,
    sign_out,
    start_session,
)
from perfledger_service.usecases.people.sign_in_attempts import (
    ATTEMPT_LIFETIME,
    HOME,
    MAX_STATE,
    begin_sign_in,
    finish_sign_in,
    local_path,
)
from perfledger_service.values.people.person import PersonProvider
from perfledger_service.web.app_state import AppState, CurrentAddress, CurrentAppState
from perfledger_service.web.sign_in.access import anyone
from perfledger_service.web.sign_in.cookies import (
    SESSION,
    attempt_cookie,
    cookie_of,
    oldest_attempts,
    remove_cookie,
    set_cookie,
)
from perfledger_service.web.sign_in.forms import own_form
from perfledger_service.web.sign_in.proxy_names import proxy_name
from perfledger_service.web.sign_in.readers import SEE_OTHER, CurrentPageReader, require_browser

router = APIRouter(include_in_schema=False)
MAX_PARAMETER = 1000  # characters of what GitHub sends back
Parameter = Annotated[str, Query(max_length=MAX_PARAMETER)]
State = Annotated[str, Query(max_length=MAX_STATE)]
NextPath = Annotated[str, Query(alias="next", max_length=4 * MAX_PARAMETER)]
_ERROR = re.compile(r"[a-z_]{1,60}")  # GitHub's names of errors


@router.get("/sign-in", dependencies=[Depends(anyone)])
def sign_in(
    request: Request, state: CurrentAppState, address: CurrentAddress, next_path: NextPath = HOME
) -> Response:
    """Redirect a browser to GitHub, or start its session with the name that the proxy sent."""
    options = _options(state)
    if options.proxy_header:
        name = proxy_name(request, options)
        if not name:
            msg = f"the proxy sent no {options.proxy_header}: open the service through the proxy"
            raise RefusedError(msg, status=401)
        account = ProvenAccount(PersonProvider.PROXY, name, name)
        return _with_session(request, state, account, local_path(next_path), address=address)
    assert options.github is not None  # noqa: S101 - one of the two is set
    attempt = begin_sign_in(options.github, next_path=next_path, now=state.now())
    response = RedirectResponse(attempt.url, SEE_OTHER)
    for cookie in oldest_attempts(request, public_url=state.public_url):
        remove_cookie(response, cookie, public_url=state.public_url)
    set_cookie(
        response,
        attempt_cookie(attempt.state),
        attempt.browser_secret,
        max_age_s=ATTEMPT_LIFETIME.total_seconds(),
        public_url=state.public_url,
    )
    return response


@router.get("/sign-in/callback", dependencies=[Depends(anyone)])
def callback(
    request: Request,
    address: CurrentAddress,
    app_state: CurrentAppState,
    *,
    state: State = "",
    code: Parameter = "",
    error: Parameter = "",
) -> Response:
    """Start the session of a browser that comes back from GitHub."""
    options = _options(app_state)
    if options.github is None:
        msg = "signing in with GitHub is not set up here: see docs/how-to/sign-in.md"
        raise NotFoundError(msg)
    if error or not code:
        reason = error if _ERROR.fullmatch(error) else "no reason given"
        msg = f"GitHub did not sign you in ({reason}): sign in again"
        raise RefusedError(msg)
    cookie = attempt_cookie(state)
    account, next_path = finish_sign_in(
        options.github,
        state=state,
        code=code,
        browser_secret=cookie_of(request, cookie, public_url=app_state.public_url),
        now=app_state.now(),
    )
    response = _with_session(request, app_state, account, next_path, address=address)
    remove_cookie(response, cookie, public_url=app_state.public_url)
    return response


@router.post("/sign-out", dependencies=[Depends(own_form)])
def leave(state: CurrentAppState, reader: CurrentPageReader, address: CurrentAddress) -> Response:
    """End the session of a browser."""
    sign_out(state.engine, require_browser(reader), address=address, now=state.now())
    response = RedirectResponse("/signed-out", SEE_OTHER)
    remove_cookie(response, SESSION, public_url=state.public_url)
    return response


@router.get("/signed-out", dependencies=[Depends(anyone)], response_class=HTMLResponse)
def signed_out() -> str:
    """Show that a session ended, and how to sign in again."""
    return signed_out_page()


def _with_session(
    request: Request, state: AppState, account: ProvenAccount, next_path: str, *, address: str
) -> Response:
    """Return a redirect to a page of ours, with a new session."""
    options = _options(state)
    browser = start_session(
        state.engine,
        options,
        account,
        address=address,
        replaced_secret=cookie_of(request, SESSION, public_url=state.public_url),
        now=state.now(),
    )
    response = RedirectResponse(next_path, SEE_OTHER)
    lifetime_s = options.lifetime.total_seconds()
    set_cookie(response, SESSION, browser.secret, max_age_s=lifetime_s, public_url=state.public_url)
    return response


def _options(state: AppState) -> SignInOptions:
    if state.sign_in is None:
        msg = "nobody can sign in here: set it up (docs/how-to/sign-in.md), or use a token"
        raise NotFoundError(msg)
    return state.sign_in
