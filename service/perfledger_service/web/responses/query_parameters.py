"""Refuses query parameters that a route does not have, so that no misspelt filter is ignored."""

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

# GitHub adds parameters here, and a client must ignore those that it does not know (RFC 6749).
FROM_GITHUB = frozenset({"/sign-in/callback"})
# Mail programs and chats add parameters of this name to links: they filter nothing.
TRACKING_PREFIX = "utm_"


async def refuse_unknown_parameters(request: Request) -> None:
    """Raise RequestValidationError that names an unknown parameter and lists the route's own."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)  # noqa: S101 - only such routes have dependencies
    if not request.query_params or route.path in FROM_GITHUB:
        return
    names = parameter_names(route)
    unknown = dict.fromkeys(
        name
        for name in request.query_params
        if name not in names and not name.startswith(TRACKING_PREFIX)
    )
    if unknown:
        use = f"use {', '.join(names)}" if names else "leave it out, as this page has none"
        what = f"unknown parameter: {use}"
        raise RequestValidationError(
            [{"loc": ("query", name), "msg": what, "type": "unknown_parameter"} for name in unknown]
        )


def parameter_names(route: APIRoute) -> tuple[str, ...]:
    """Return the names of a route's query parameters, with those of its dependencies, sorted."""
    return tuple(sorted(set(_names(route.dependant))))


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for each in dependant.dependencies:
        yield from _names(each)
