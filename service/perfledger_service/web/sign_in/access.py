"""Defines who may use each route: exactly one rule, a dependency that enforces it.

The service does not start if a route has no rule, so that none is open by mistake.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from perfledger_service.web.app_state import (
    caller_that_maintains,
    caller_that_reads,
    caller_that_uploads,
    runner_that_asks,
)
from perfledger_service.web.sign_in.forms import admin_form, own_form, page_maintainer
from perfledger_service.web.sign_in.metrics_readers import metrics_reader
from perfledger_service.web.sign_in.readers import (
    own_prices_reader,
    page_admin,
    page_reader,
    service_admin,
    signed_in,
)
from perfledger_service.web.webhooks import signed_body


class Access(StrEnum):
    """Who may use a route."""

    ANYONE = "anyone who can reach the service; the answer contains nothing about a project"
    PAGE_READER = "anyone who may view the project, by a role in it or because pages are open"
    SIGNED_IN = "a person who is signed in"
    OWN_FORM = "a person who is signed in, through a form of the service"
    PAGE_MAINTAINER = "a maintainer of the project, through a form of the service"
    OWN_PRICES = "a maintainer of the project; if own prices are shown, anyone who may view it"
    PAGE_ADMIN = "an admin of the project"
    SERVICE_ADMIN = "an admin of any project, who sees only their projects"
    ADMIN_FORM = "an admin of any project, through a form of the service, for their projects"
    READ_TOKEN = "a token of the project, of any scope"  # noqa: S105 - a rule, no token
    UPLOAD_TOKEN = "a token of the project that may upload, or a run of its GitHub Actions"  # noqa: S105
    RUNNER_TOKEN = "a token of the project that may upload"  # noqa: S105
    MAINTAIN_TOKEN = "a token of the project that may maintain"  # noqa: S105
    METRICS_TOKEN = "the token for metrics; if none is set, a program on this machine"  # noqa: S105
    WEBHOOK_SIGNATURE = "GitHub, by its signature over the body"


def anyone() -> None:
    """Let anyone who reaches the service use a route."""


_RULES: dict[Callable[..., object], Access] = {
    anyone: Access.ANYONE,
    page_reader: Access.PAGE_READER,
    signed_in: Access.SIGNED_IN,
    own_form: Access.OWN_FORM,
    page_maintainer: Access.PAGE_MAINTAINER,
    own_prices_reader: Access.OWN_PRICES,
    page_admin: Access.PAGE_ADMIN,
    service_admin: Access.SERVICE_ADMIN,
    admin_form: Access.ADMIN_FORM,
    caller_that_reads: Access.READ_TOKEN,
    caller_that_uploads: Access.UPLOAD_TOKEN,
    runner_that_asks: Access.RUNNER_TOKEN,
    caller_that_maintains: Access.MAINTAIN_TOKEN,
    metrics_reader: Access.METRICS_TOKEN,
    signed_body: Access.WEBHOOK_SIGNATURE,
}


def access_by_route(app: FastAPI) -> dict[tuple[str, str], Access]:
    """Return the rule of each method and path; raise TypeError for a route without exactly one."""
    access: dict[tuple[str, str], Access] = {}
    for context in iter_route_contexts(app.routes):
        if not isinstance(context.original_route, APIRoute):
            continue  # static files and the API's description, which are the same for everyone
        rules = _outermost_rules(context.dependant)
        if len(rules) != 1:
            msg = f"{context.path} has {len(rules)} access rules: give it one of web/sign_in"
            raise TypeError(msg)
        [rule] = rules
        path = context.path or ""
        access |= {(method, path): rule for method in context.methods or ()}
    return access


def _outermost_rules(dependant: Dependant) -> set[Access]:
    """Return the rules except those that another of them includes."""
    callables = {call for call, _ in _rule_dependants(dependant)}
    included = {
        call for _, rule in _rule_dependants(dependant) for call, _ in _rule_dependants(rule)
    }
    return {_RULES[call] for call in callables - included}


def _rule_dependants(
    dependant: Dependant,
) -> Iterator[tuple[Callable[..., object], Dependant]]:
    """Yield all rules that a route or a rule depends on, directly or indirectly."""
    for dependency in dependant.dependencies:
        if dependency.call is not None and dependency.call in _RULES:
            yield dependency.call, dependency
        yield from _rule_dependants(dependency)
