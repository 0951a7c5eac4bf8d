"""Renders the answer to a browser's request that failed."""

from http import HTTPStatus

from perfledger_service.rendering.layout.environment import render


def error_page(status: int, reason: str, *, repository: str = "") -> str:
    """Return the page that says what failed, with links back.

    `repository` is the project of the request's address, "" without one.
    """
    return render(
        "html/error.html.j2",
        status=status,
        phrase=HTTPStatus(status).phrase,
        reason=reason,
        repository=repository,
    )
