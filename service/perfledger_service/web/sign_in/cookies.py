"""Names, sets and removes the cookies of a sign-in and of a session.

With https the names begin with __Host-, so that no other host, also of the same domain, can set
them, and they are sent over https only. No script reads them.
"""

from starlette.requests import Request
from starlette.responses import Response

SESSION = "perfledger_session"
BROWSER = "perfledger_sign_in"  # of a sign-in that is not finished


def cookie_of(request: Request, name: str, *, public_url: str) -> str:
    """Return the secret in a browser's cookie, "" without one."""
    return request.cookies.get(_full_name(name, public_url), "")


def set_cookie(
    response: Response, name: str, secret: str, *, max_age_s: float, public_url: str
) -> None:
    """Give a browser a secret for some time."""
    response.set_cookie(
        _full_name(name, public_url),
        secret,
        max_age=int(max_age_s),
        path="/",
        secure=_is_https(public_url),
        httponly=True,
        samesite="lax",  # sent when GitHub's page leads back, not with the forms of other sites
    )


def remove_cookie(response: Response, name: str, *, public_url: str) -> None:
    """Let a browser forget a secret."""
    response.delete_cookie(
        _full_name(name, public_url),
        path="/",
        secure=_is_https(public_url),
        httponly=True,
        samesite="lax",
    )


def _full_name(name: str, public_url: str) -> str:
    return f"__Host-{name}" if _is_https(public_url) else name


def _is_https(public_url: str) -> bool:
    return public_url.startswith("https://")
