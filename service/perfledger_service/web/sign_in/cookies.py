"""Names, sets and removes the cookies of a sign-in and of a session.

With https the names begin with __Host-, so that no other host, even of the same domain, can set
them, and they are sent over https only. Scripts cannot read them.
"""

import re
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

SESSION = "perfledger_session"
# For sign-ins in progress, each followed by a part of its state's hash.
ATTEMPT = "perfledger_sign_in_"
ATTEMPT_DIGITS = 16
# A browser's concurrent sign-ins, such as those of tabs that open at once: servers and proxies
# refuse many cookies.
MAX_ATTEMPTS = 20
_ATTEMPT_NAME = re.compile(rf"{ATTEMPT}[0-9a-f]{{{ATTEMPT_DIGITS}}}", re.ASCII)


def attempt_cookie(state: str) -> str:
    """Return the name of a sign-in's cookie, by its state."""
    return ATTEMPT + sha256(state.encode("utf-8", "surrogatepass")).hexdigest()[:ATTEMPT_DIGITS]


def oldest_attempts(request: Request, *, public_url: str) -> tuple[str, ...]:
    """Return the names of the cookies to remove before a browser begins another sign-in.

    Browsers send the oldest first.
    """
    prefix = _full_name("", public_url)
    names = [name.removeprefix(prefix) for name in request.cookies if name.startswith(prefix)]
    attempts = [name for name in names if _ATTEMPT_NAME.fullmatch(name)]
    return tuple(attempts[: max(0, len(attempts) - MAX_ATTEMPTS + 1)])


def cookie_of(request: Request, name: str, *, public_url: str) -> str:
    """Return the secret in a browser's cookie, "" without one."""
    return request.cookies.get(_full_name(name, public_url), "")


def set_cookie(
    response: Response, name: str, secret: str, *, max_age_s: float, public_url: str
) -> None:
    """Set a secret in a browser's cookie for some time."""
    response.set_cookie(
        _full_name(name, public_url),
        secret,
        max_age=int(max_age_s),
        path="/",
        secure=_is_https(public_url),
        httponly=True,
        samesite="lax",  # sent when GitHub's page redirects back, but not with forms of other sites
    )


def remove_cookie(response: Response, name: str, *, public_url: str) -> None:
    """Remove a secret from a browser."""
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
