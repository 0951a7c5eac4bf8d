"""Renders the response to a browser's request that failed."""

from http import HTTPStatus

from perfledger_service.rendering.layout.environment import render


def error_page(status: int, reason: str, *, repository: str = "", is_sign_in: bool = False) -> str:
    """Return the page that says what failed, with links back.

    `repository` is the project in the request's address, "" without one; `is_sign_in` if a sign-in
    failed.
    """
    return render(
        "html/error.html.j2",
        status=status,
        phrase=HTTPStatus(status).phrase,
        reason=reason,
        repository=repository,
        is_sign_in=is_sign_in,
    )
