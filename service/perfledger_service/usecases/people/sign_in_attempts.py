"""Begins and finishes sign-ins with GitHub; unfinished ones are not stored.

Everything about a sign-in is in the `state` that GitHub sends back, sealed with a key of the
service: the target page, the start time, and the hash of a secret that only the starting browser
has, in a cookie of this sign-in. So nobody can forge a sign-in, finish another browser's, or use up
resources of others; a browser may have several at once. Each is used once: its cookie is removed,
and GitHub accepts its code, which only the browser's secret unlocks (PKCE), once.
"""

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken

from perfledger_service.errors import RefusedError
from perfledger_service.github.sign_in import SignInProvider
from perfledger_service.usecases.people.sign_in import ProvenAccount, new_secret
from perfledger_service.values.people.person import PersonProvider

ATTEMPT_LIFETIME = timedelta(minutes=10)
MAX_NEXT_PATH = 2000  # characters of the page to which signing in leads back
MAX_STATE = 4000  # with a path of MAX_NEXT_PATH it has 2,808
HOME = "/"


@dataclass(frozen=True, slots=True)
class NewAttempt:
    """A sign-in that begins: its state, the browser's new secret, and the GitHub page to open."""

    state: str
    browser_secret: str
    url: str


def begin_sign_in(github: SignInProvider, *, next_path: str, now: datetime) -> NewAttempt:
    """Begin to sign a browser in; afterwards it goes to a page of the service."""
    browser_secret = new_secret()
    content = _digest(browser_secret) + local_path(next_path).encode()
    state = _seal(github).encrypt_at_time(content, int(now.timestamp())).decode()
    challenge = sha256(_verifier(browser_secret, state).encode()).digest()
    url = github.authorize_url(state=state, challenge=_base64(challenge))
    return NewAttempt(state, browser_secret, url)


def finish_sign_in(
    github: SignInProvider, *, state: str, code: str, browser_secret: str, now: datetime
) -> tuple[ProvenAccount, str]:
    """Return who signed in, and the page to go to.

    Raises RefusedError for a state that is forged, too old or from another browser, and for a code
    that GitHub does not accept.
    """
    content = _content(github, state, now=now)
    digest = _digest(browser_secret)
    if not hmac.compare_digest(content[: len(digest)], digest):
        msg = "this sign-in did not start in this browser, or started too long ago: sign in again"
        raise RefusedError(msg)
    account = github.account(code, verifier=_verifier(browser_secret, state))
    proven = ProvenAccount(PersonProvider.GITHUB, str(account.id), account.login)
    return proven, local_path(content[len(digest) :].decode())


def local_path(text: str) -> str:
    """Return a path if it is a page of the service, else the front page's.

    Browsers read paths with two slashes, backslashes or tabs as addresses of other hosts.
    """
    is_local = text.startswith("/") and not text.startswith("//") and len(text) <= MAX_NEXT_PATH
    is_plain = text.isascii() and text.isprintable() and not set(text) & {"\\", " "}
    return text if is_local and is_plain else HOME


def _content(github: SignInProvider, state: str, *, now: datetime) -> bytes:
    """Return what one of our states has sealed, nothing for a foreign or expired one."""
    if len(state) > MAX_STATE or not state.isascii():
        return b""
    lifetime_s = int(ATTEMPT_LIFETIME.total_seconds()) - 1  # a state of its age is too old
    try:
        return _seal(github).decrypt_at_time(state, lifetime_s, int(now.timestamp()))
    except InvalidToken:
        return b""


def _seal(github: SignInProvider) -> Fernet:
    return Fernet(urlsafe_b64encode(github.seal_key))


def _verifier(browser_secret: str, state: str) -> str:
    """Return the PKCE verifier, which can only be derived from the browser's secret."""
    return _base64(hmac.digest(browser_secret.encode(), state.encode(), "sha256"))


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
