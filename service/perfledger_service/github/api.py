"""Sends requests to GitHub's REST API and raises GitHubError for refusals."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from requests import Response, Session
from requests.auth import AuthBase
from requests.exceptions import RequestException

from perfledger_service.errors import GitHubError
from perfledger_service.github.documents import UNREADABLE
from perfledger_service.github.retrying import REFUSALS, SERVER_ERRORS, RetryingAdapter
from perfledger_service.github.session import new_session

# GitHub asks clients to write sequentially, a second apart.
WRITE_INTERVAL_S = 1.0
MAX_REASON = 300
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class _Refusal(msgspec.Struct):
    message: str


_REFUSAL_DECODER = msgspec.json.Decoder(_Refusal)


class GitHubApi:
    """The API below one root URL, which is used as it is given; safe for many threads."""

    def __init__(
        self,
        root: str,
        *,
        write_interval_s: float = WRITE_INTERVAL_S,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._write_interval_s = write_interval_s
        self._sleep = sleep
        self._monotonic = monotonic
        self._own = threading.local()  # a session per thread, as sessions are not thread-safe
        self._sessions: list[Session] = []
        self._writing = threading.Lock()
        self._last_write = -write_interval_s

    def request(
        self,
        method: str,
        path: str,
        *,
        auth: AuthBase,
        json: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Response:
        """Return the successful answer to one request.

        Raises GitHubError for a redirect, a status of 400 and above, or no answer.
        """
        if method == "GET":
            return self._send(method, path, auth=auth, json=json, params=params)
        with self._writing:
            waited_s = self._monotonic() - self._last_write
            if waited_s < self._write_interval_s:
                self._sleep(self._write_interval_s - waited_s)
            try:
                return self._send(method, path, auth=auth, json=json, params=params)
            finally:
                self._last_write = self._monotonic()

    def close(self) -> None:
        """Close every thread's connections."""
        for session in self._sessions:
            session.close()

    def _send(
        self,
        method: str,
        path: str,
        *,
        auth: AuthBase,
        json: Mapping[str, Any] | None,
        params: Mapping[str, str] | None,
    ) -> Response:
        try:
            response = self._session().request(
                method,
                f"{self._root}/{path}",
                auth=auth,
                json=None if json is None else dict(json),
                params=None if params is None else dict(params),
                allow_redirects=False,
            )
        except RequestException as error:
            # Only the error's type: its text may quote what was sent.
            msg = f"GitHub did not answer {method} /{path}: {type(error).__name__}"
            raise GitHubError(msg, is_transient=True) from None
        if response.status_code >= 300:  # noqa: PLR2004 - what is not a success
            raise _refusal(method, path, response)
        return response

    def _session(self) -> Session:
        session: Session | None = getattr(self._own, "session", None)
        if session is None:
            session = new_session()
            session.mount("https://", RetryingAdapter(sleep=self._sleep))
            session.mount("http://", RetryingAdapter(sleep=self._sleep))
            self._own.session = session
            self._sessions.append(session)
        return session


def _refusal(method: str, path: str, response: Response) -> GitHubError:
    status = response.status_code
    reason = _reason(response)
    is_limited = status in REFUSALS and (
        "Retry-After" in response.headers
        or response.headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in reason.lower()
    )
    return GitHubError(
        f"GitHub answered {status} to {method} /{path}: {reason}",
        github_status=status,
        is_transient=is_limited or status in SERVER_ERRORS,
    )


def _reason(response: Response) -> str:
    """Return GitHub's explanation on one line of at most MAX_REASON characters."""
    try:
        text = _REFUSAL_DECODER.decode(response.content).message
    except UNREADABLE:
        text = response.reason or "no reason given"
    return _CONTROLS.sub(" ", text)[:MAX_REASON]
