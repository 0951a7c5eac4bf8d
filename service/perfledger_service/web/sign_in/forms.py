"""Reads forms that people send from pages, and refuses forms that other sites forge.

A form is from the service's own page if its Origin is the service's and it contains the session's
token, which no other site or session knows. A script may send the token in a header instead.
"""

import hmac
from collections.abc import Mapping
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError

from perfledger_service.errors import RefusedError, TooLargeError, UsageError
from perfledger_service.store.projects import Project
from perfledger_service.values.people.person import Role
from perfledger_service.web.app_state import CurrentAppState
from perfledger_service.web.body_limit import check_declared_size
from perfledger_service.web.sign_in.readers import (
    CurrentAdmin,
    CurrentPageReader,
    PageReader,
    ProjectPart,
    project_with_role,
    require_browser,
)

MAX_FORM_BYTES = 64 * 1024  # of a form: a few words and a token
MAX_FIELDS = 20  # of a form
TOKEN_FIELD = "form_token"  # noqa: S105 - the name of a field
TOKEN_HEADER = "X-Form-Token"  # noqa: S105 - the name of a header
Values = TypeVar("Values", bound=BaseModel)
FORM_TYPE = "application/x-www-form-urlencoded"


async def own_form(
    request: Request, reader: CurrentPageReader, state: CurrentAppState
) -> Mapping[str, str]:
    """Return the fields of a form of ours, sent by a person who is signed in.

    Raises RefusedError for any other form, TooLargeError for a large one, and UsageError for a body
    that is not a form.
    """
    browser = require_browser(reader)
    _check_origin(request, state.public_url)
    fields = await _fields(request)
    in_form = fields.pop(TOKEN_FIELD, "")
    sent = request.headers.get(TOKEN_HEADER, in_form)
    if not hmac.compare_digest(sent.encode(), browser.form_token.encode()):
        msg = "the form is from another session: reload the page and try again"
        raise RefusedError(msg)
    return fields


CurrentForm = Annotated[Mapping[str, str], Depends(own_form)]


def page_maintainer(
    reader: CurrentPageReader,
    form: CurrentForm,  # noqa: ARG001 - checked before anything is changed
    owner: ProjectPart,
    name: ProjectPart,
) -> Project:
    """Return the project that a maintainer changes by a form; raise RefusedError for others."""
    return project_with_role(reader, f"{owner}/{name}", Role.MAINTAINER)


def admin_form(
    admin: CurrentAdmin,
    form: CurrentForm,  # noqa: ARG001 - checked before anything is changed
) -> PageReader:
    """Return the admin who changes something through a form; raise RefusedError for others."""
    return admin


CurrentFormAdmin = Annotated[PageReader, Depends(admin_form)]
CurrentMaintainedProject = Annotated[Project, Depends(page_maintainer)]


def values_of_form(kind: type[Values], fields: Mapping[str, str]) -> Values:
    """Return a form's values; raise UsageError, which names the fields, for invalid ones."""
    try:
        return kind.model_validate(dict(fields))
    except ValidationError as error:
        names = ", ".join(str(problem["loc"][0]) for problem in error.errors())
        msg = f"the form cannot be read: check {names}"
        raise UsageError(msg) from None


def _check_origin(request: Request, public_url: str) -> None:
    """Raise RefusedError unless a page of this service sent the request.

    Browsers send the origin with every POST. The requested host is one of ours.
    """
    host, public = request.headers.get("host", ""), urlsplit(public_url)
    scheme = public.scheme if host == public.netloc else "http"  # an address, without a proxy
    if request.headers.get("origin", "") != f"{scheme}://{host}":
        msg = "the form was not sent from a page of this service"
        raise RefusedError(msg)


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form of at most MAX_FORM_BYTES, each at most once."""
    check_declared_size(request.headers.get("content-length"), max_bytes=MAX_FORM_BYTES)
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM_TYPE:
        msg = f"send a form as {FORM_TYPE}"
        raise UsageError(msg)
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_FORM_BYTES:
            msg = f"the form has more than {MAX_FORM_BYTES} bytes: write less"
            raise TooLargeError(msg)
    try:
        pairs = parse_qsl(
            data.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        msg = "the body is not a form"
        raise UsageError(msg) from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        msg = "the form has a field twice"
        raise UsageError(msg)
    return fields
