"""Identifies the readers of pages, the projects that they see, and their rights there."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, HTTPException, Path, Request
from sqlmodel import Session

from perfledger_service.errors import NotFoundError, RefusedError
from perfledger_service.settings.service import price_settings
from perfledger_service.store.database import read_session
from perfledger_service.store.people.project_scope import scoped_session
from perfledger_service.store.projects import Project, project_named, repository_of_page
from perfledger_service.usecases.people.roles import roles_of
from perfledger_service.usecases.people.sign_in import BrowserSession, SignInOptions, session_of
from perfledger_service.usecases.people.sign_in_attempts import local_path
from perfledger_service.values.people.person import PersonProvider, Role
from perfledger_service.web.app_state import AppState, CurrentAppState
from perfledger_service.web.sign_in.cookies import SESSION, cookie_of
from perfledger_service.web.sign_in.proxy_names import proxy_name

SEE_OTHER = 303
# Of an owner or a repository, as in a bundle.
NAME = r"^[\w.-]+$"
ProjectPart = Annotated[str, Path(pattern=NAME)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReader:
    """Reader of a page; `project_ids` are the projects that they see, None for all.

    `browser` is None for a reader who is not signed in, where pages are open.
    """

    state: AppState
    project_ids: frozenset[int] | None = None
    browser: BrowserSession | None = None
    roles: Mapping[int, Role] = field(default_factory=dict[int, Role])

    @contextmanager
    def session(self) -> Generator[Session]:
        """Open a session whose queries return only what the reader may see."""
        with scoped_session(self.state.engine, self.project_ids) as session:
            yield session

    def require_project(self) -> None:
        """Raise RefusedError for a reader who may view no project at all."""
        if self.project_ids is not None and not self.project_ids:
            msg = (
                "you may not view any project here: ask for access to its repository on GitHub, "
                "or for a role (perfledger server person grant)"
            )
            raise RefusedError(msg)

    def may(self, role: Role, project_id: int) -> bool:
        """Return whether the reader has a role in a project."""
        role_there = self.roles.get(project_id)
        return role_there is not None and role_there.includes(role)


def page_reader(request: Request, state: CurrentAppState) -> PageReader:
    """Return the reader of a page; first redirect a browser that must sign in.

    A page of a project needs only the role in this project.
    """
    options = state.sign_in
    if options is None:
        return PageReader(state=state)
    browser = _session(request, state, options)
    if browser is None:
        if options.is_public:
            return PageReader(state=state)
        raise _sign_in_first(request)
    roles = roles_of(
        state.engine,
        browser.person,
        state.permissions,
        repository=_repository_asked_for(request, state),
        now=state.now(),
    )
    project_ids = None if options.is_public else frozenset(roles)
    return PageReader(state=state, project_ids=project_ids, browser=browser, roles=roles)


CurrentPageReader = Annotated[PageReader, Depends(page_reader)]


def signed_in(reader: CurrentPageReader) -> PageReader:
    """Return who is signed in; raise NotFoundError if nobody can be, RefusedError otherwise."""
    require_browser(reader)
    return reader


def page_admin(reader: CurrentPageReader, owner: ProjectPart, name: ProjectPart) -> Project:
    """Return the project of a page that only its admins read; raise RefusedError for others."""
    return project_with_role(reader, f"{owner}/{name}", Role.ADMIN)


def service_admin(reader: CurrentPageReader) -> PageReader:
    """Return the reader, an admin of some project, with only the administered projects visible.

    Raises NotFoundError if nobody can sign in, and RefusedError for others.
    """
    require_browser(reader)
    mine = frozenset(project for project, role in reader.roles.items() if role is Role.ADMIN)
    if not mine:
        msg = "this is for admins of a project: /account lists your roles"
        raise RefusedError(msg)
    return replace(reader, project_ids=mine)


def own_prices_reader(reader: CurrentPageReader, owner: ProjectPart, name: ProjectPart) -> Project:
    """Return the project of a page that shows own prices; raise RefusedError for others.

    Its maintainers may read them, and with PERFLEDGER_SHOW_OWN_PRICES everybody who may view it.
    """
    with reader.session() as session:
        project = project_named(session, f"{owner}/{name}")
    if not (price_settings().show_own_prices or reader.may(Role.MAINTAINER, project.id)):
        msg = (
            "reviews contain own prices: they are for maintainers of the project, or for all who "
            "view it with PERFLEDGER_SHOW_OWN_PRICES=true"
        )
        raise RefusedError(msg)
    return project


CurrentOwnPricesProject = Annotated[Project, Depends(own_prices_reader)]
CurrentAdmin = Annotated[PageReader, Depends(service_admin)]
CurrentAdminProject = Annotated[Project, Depends(page_admin)]


def require_browser(reader: PageReader) -> BrowserSession:
    """Return the session of a reader who is signed in."""
    if reader.state.sign_in is None:
        msg = "nobody can sign in here: set it up (docs/how-to/sign-in.md), or use a token"
        raise NotFoundError(msg)
    if reader.browser is None:
        msg = "you are not signed in: open /sign-in"
        raise RefusedError(msg, status=401)
    return reader.browser


def project_with_role(reader: PageReader, repository: str, role: Role) -> Project:
    """Return a project in which a reader has a role.

    Raises NotFoundError for a project that the reader does not see, as for one that does not exist,
    and RefusedError for a lower role.
    """
    require_browser(reader)
    with reader.session() as session:
        project = project_named(session, repository)
    if not reader.may(role, project.id):
        msg = f"this needs the role {role} in {project.repository}"
        raise RefusedError(msg)
    return project


def _repository_asked_for(request: Request, state: AppState) -> str:
    """Return the repository that a page is about, "" for a page about all."""
    of_path = request.path_params
    if "owner" in of_path and "name" in of_path:
        return f"{of_path['owner']}/{of_path['name']}"
    ids = {name: str(of_path[name]) for name in ("upload_id", "series_id") if name in of_path}
    if not ids:
        return ""
    with read_session(state.engine) as session:
        return repository_of_page(session, **ids)


def _session(request: Request, state: AppState, options: SignInOptions) -> BrowserSession | None:
    """Return the session of a browser; behind a proxy only that of the person whom it names."""
    subject = proxy_name(request, options) if options.proxy_header else ""
    secret = cookie_of(request, SESSION, public_url=state.public_url)
    browser = session_of(state.engine, secret, options, now=state.now()) if secret else None
    if browser is None:
        return None
    if options.proxy_header:
        is_same = (browser.person.provider, browser.person.subject) == (
            PersonProvider.PROXY,
            subject,
        )
    else:
        is_same = browser.person.provider is PersonProvider.GITHUB
    return browser if is_same else None


def _sign_in_first(request: Request) -> Exception:
    """Return a redirect to the sign-in for a browser; refuse other programs."""
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        path = quote(request.scope["path"])  # decoded by the server: names contain spaces
        target = local_path(f"{path}?{request.url.query}" if request.url.query else path)
        location = f"/sign-in?next={quote(target, safe='')}"
        return HTTPException(SEE_OTHER, "sign in first", headers={"Location": location})
    return RefusedError("sign in first, with a browser, or use the API with a token", status=401)
