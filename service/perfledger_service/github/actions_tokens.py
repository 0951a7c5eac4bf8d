"""Verifies the tokens with which GitHub Actions runs identify themselves (OpenID Connect).

The keys come from the configured issuer, never from an address in a token. For an unknown key they
are read again, at most once a minute: GitHub changes its keys.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from requests import Session
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from perfledger_runners.bundles.upload import UploadError, check_url
from perfledger_service.errors import GitHubError, SettingsError
from perfledger_service.github.session import new_session
from perfledger_service.github.signed_tokens import (
    CLOCK_SKEW,
    MAX_ID,
    PublicKey,
    key_id,
    public_keys,
    refuse,
    verified_claims,
)

KEYS_PATH = "/.well-known/jwks"
MAX_KEYS_BYTES = 256 * 1024  # of GitHub's public keys, which take a few kilobytes
# Shortest time between two reads of the keys for unknown ids: strangers can send any id.
MIN_REFRESH = timedelta(minutes=1)
MAX_REFRESH = timedelta(hours=1)
# A key is trusted for this long after it was read, even if its issuer cannot be reached.
MAX_AGE = timedelta(days=1)
MAX_WORD = 1000  # characters of a claim in the token


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionsRun:
    """GitHub's claims about a run. Repository and owner are numbers: names can be reused.

    `repository` is the current name (owner/name) of the repository.
    """

    repository: str
    repository_id: int
    repository_owner_id: int
    event_name: str
    ref: str
    sha: str
    jti: str  # of the token
    exp: float  # seconds since 1970

    @property
    def expires_at(self) -> datetime:
        """Return the time until which the token is accepted."""
        return datetime.fromtimestamp(self.exp, UTC) + CLOCK_SKEW


class ActionsTokens:
    """Verifier of Actions tokens for one issuer and one audience; safe across threads."""

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        try:
            check_url(issuer)
        except UploadError:
            msg = f"PERFLEDGER_ACTIONS_ISSUER is {issuer!r}: give the issuer's https address"
            raise SettingsError(msg) from None
        self._issuer = issuer.rstrip("/")
        self._audience = audience
        self._now = now
        self._keys: dict[str, PublicKey] = {}
        self._asked_at = self._read_at = datetime.min.replace(tzinfo=UTC)
        self._failure = ""
        self._is_reading = False
        self._lock = threading.Lock()

    def run_of(self, token: str) -> ActionsRun:
        """Return the run whose token this is; raise RefusedError (401) for any other text.

        Raises GitHubError if the issuer's keys cannot be read.
        """
        key = self._key(key_id(token))
        claims = verified_claims(
            token, key, issuer=self._issuer, audience=self._audience, now=self._now()
        )
        try:
            run = msgspec.convert(claims, ActionsRun, strict=False)
        except msgspec.ValidationError as error:
            refuse(str(error))
        words = (run.repository, run.event_name, run.ref, run.sha)
        if len(run.jti) > MAX_ID or any(len(word) > MAX_WORD for word in words):
            refuse("its claims are too long")
        return run

    def _key(self, name: str) -> PublicKey:
        """Return the issuer's key with this id, read again if it is unknown or old."""
        if self._is_due(name):  # other threads continue with the known keys
            self._read_keys()
        with self._lock:
            key, is_old = self._keys.get(name), self._now() - self._read_at >= MAX_AGE
            failure = self._failure
            if self._is_reading:
                failure = failure or "the keys of the issuer are being read: try again in a minute"
        if key is not None and not is_old:
            return key
        if failure:
            raise GitHubError(failure, is_transient=True)
        return refuse("its issuer has no key with its id")

    def _is_due(self, name: str) -> bool:
        """Return whether this thread should read the keys now, and if so record that it does."""
        with self._lock:
            now = self._now()
            is_usual = name in self._keys and not self._failure and now - self._read_at < MAX_AGE
            is_due = now - self._asked_at >= (MAX_REFRESH if is_usual else MIN_REFRESH)
            if is_due:
                self._asked_at, self._is_reading = now, True
        return is_due

    def _read_keys(self) -> None:
        url = f"{self._issuer}{KEYS_PATH}"
        keys: dict[str, PublicKey] | None = None
        failure = f"the keys of {url} cannot be read: try again in a minute"
        try:
            with new_session() as session:
                keys = public_keys(_document(session, url))
            failure = ""
        except (RequestException, HTTPError, ValueError) as error:
            why = type(error).__name__
            failure = f"the keys of {url} cannot be read ({why}): try again in a minute"
        finally:
            with self._lock:
                self._failure, self._is_reading = failure, False
                if keys is not None:
                    self._keys, self._read_at = keys, self._now()


def _document(session: Session, url: str) -> bytes:
    """Return a small document; raise ValueError if it is larger or the status is not 200."""
    with session.get(url, allow_redirects=False, stream=True) as response:
        content: bytes = response.raw.read(MAX_KEYS_BYTES + 1, decode_content=True)
        if response.status_code != 200 or len(content) > MAX_KEYS_BYTES:  # noqa: PLR2004 - OK
            msg = f"{response.status_code} with {len(content)} bytes"
            raise ValueError(msg)
    return content
