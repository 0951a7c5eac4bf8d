"""Sends requests to GitHub's REST API and raises GitHubError for refusals."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import msgspec
from requests import Response, Session
from requests.auth import AuthBase
from requests.exceptions import RequestException

from perfledger_service.errors import GitHubError
from perfledger_service.github.clock_offsets import offset_of
from perfledger_service.github.documents import UNREADABLE
from perfledger_service.github.rate_limits import (
    WRITE_INTERVAL_S,
    RateGate,
    SharedTurns,
    announced_wait_s,
    is_limit,
)
from perfledger_service.github.request_counts import RequestCounts, RequestOutcome, outcome_of
from perfledger_service.github.retrying import ONCE, SERVER_ERRORS, RetryingAdapter
from perfledger_service.github.session import new_session
from perfledger_service.values.service_views.admin import RateLimit

MAX_REASON = 300  # characters of GitHub's own message in an error
# GitHub may still carry out a POST whose answer was lost: longer than the read timeout.
LOST_POST_WAIT_S = 30.0
REDIRECT = 302  # the redirect to another server
# GitHub's own transient ones: 401 for an old token, 404 for an App that was just removed, and
# server errors.
PASSING_STATUSES = frozenset({401, 404}) | SERVER_ERRORS
# GitHub's redirects from a repository's earlier name, which are not followed.
MOVED = frozenset({301, 307, 308})
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class _Refusal(msgspec.Struct):
    message: str


_REFUSAL_DECODER = msgspec.json.Decoder(_Refusal)


class GitHubApi:
    """The API below a root URL, which is used unchanged; safe across threads.

    `turns` let processes write in turn, None for a single one.
    """

    def __init__(
        self,
        root: str,
        *,
        write_interval_s: float = WRITE_INTERVAL_S,
        turns: SharedTurns | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.counts = RequestCounts()
        self._now = now
        self._clock_offset = timedelta(0)
        self._root = root
        self._write_interval_s = write_interval_s
        self._turns = turns
        self._sleep = sleep
        self._monotonic = monotonic
        self._thread_local = (
            threading.local()
        )  # a session per thread, since sessions are not thread-safe
        self._sessions: list[Session] = []
        self._gates: dict[str, RateGate] = {}
        self._gates_lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        *,
        auth: AuthBase,
        installation: str = "",
        json: Mapping[str, Any] | None = None,
        params: Mapping[str, str] | None = None,
        is_download: bool = False,
        is_repeatable: bool = True,
    ) -> Response:
        """Return the successful answer to one request; an installation has its own rate limits.

        A download may be answered with a redirect, which is not followed. A write with
        `is_repeatable=False` is sent only once even if its method is idempotent. Raises GitHubError
        for any other redirect, a status of 400 and above, no answer, and while the rate limit is
        used up.
        """
        self.check_limit(installation)
        gate = self._gate(installation)
        if method == "GET":
            return self._send(
                gate, method, path, auth=auth, json=json, params=params, is_download=is_download
            )
        with gate.writing():
            return self._send(
                gate, method, path, auth=auth, json=json, params=params, is_repeatable=is_repeatable
            )

    def check_limit(self, installation: str = "") -> None:
        """Raise GitHubError while an installation's rate limit is used up."""
        self._gate(installation).check()

    def may_lead_to(self, address: str) -> bool:
        """Return whether an answer may redirect there: by TLS only, unless the API has none."""
        try:
            parts = urlsplit(address)
        except ValueError:  # an invalid IPv6 address
            return False
        return bool(parts.netloc) and parts.scheme in {"https", urlsplit(self._root).scheme}

    @property
    def clock_offset(self) -> timedelta:
        """Return how far GitHub's clock is ahead of ours by its last answer, 0 for up to a minute.

        A proxy's answers do not count.
        """
        return self._clock_offset

    def rate_limit(self, installation: str) -> RateLimit | None:
        """Return an installation's limit in the last answer to this process, None without one."""
        return self._gate(installation).limit

    def close(self) -> None:
        """Close every thread's connections."""
        for session in self._sessions:
            session.close()

    def _gate(self, installation: str) -> RateGate:
        with self._gates_lock:
            gate = self._gates.get(installation)
            if gate is None:
                gate = self._gates[installation] = RateGate(
                    installation=installation,
                    turns=self._turns,
                    write_interval_s=self._write_interval_s,
                    sleep=self._sleep,
                    monotonic=self._monotonic,
                )
            return gate

    def _send(
        self,
        gate: RateGate,
        method: str,
        path: str,
        *,
        auth: AuthBase,
        json: Mapping[str, Any] | None,
        params: Mapping[str, str] | None,
        is_download: bool = False,
        is_repeatable: bool = True,
    ) -> Response:
        try:
            response = self._session().request(
                method,
                f"{self._root}/{path}",
                auth=auth,
                json=None if json is None else dict(json),
                params=None if params is None else dict(params),
                headers={} if is_repeatable else {ONCE: "1"},
                allow_redirects=False,
            )
        except (RequestException, ValueError) as error:  # requests reads even an invalid Location
            # Only the error's type: its text may quote what was sent.
            msg = f"GitHub did not answer {method} /{path}: {type(error).__name__}"
            wait_s = LOST_POST_WAIT_S if method == "POST" else None
            self.counts.note_request(method, RequestOutcome.NO_ANSWER)
            raise GitHubError(msg, is_transient=True, wait_s=wait_s) from None
        gate.note_answer(response.headers)
        offset = offset_of(response.headers, now=self._now())
        self._clock_offset = self._clock_offset if offset is None else offset
        is_redirect = is_download and response.status_code == REDIRECT
        if response.status_code >= 300 and not is_redirect:  # noqa: PLR2004 - what is not a success
            self.counts.note_request(method, outcome_of(response.status_code))
            raise self._refusal(gate, method, path, response)
        self.counts.note_request(method, RequestOutcome.DONE)
        gate.note_success()
        return response

    def _session(self) -> Session:
        session: Session | None = getattr(self._thread_local, "session", None)
        if session is None:
            session = new_session()
            session.mount("https://", RetryingAdapter(sleep=self._sleep))
            session.mount("http://", RetryingAdapter(sleep=self._sleep))
            self._thread_local.session = session
            self._sessions.append(session)
        return session

    def _refusal(self, gate: RateGate, method: str, path: str, response: Response) -> GitHubError:
        """Return the error of a refusal; a page instead of JSON is a proxy's, so transient."""
        status = response.status_code
        message = _message(response)
        reason = (message or response.reason or "no reason given").strip()
        is_passing = message is None or status in PASSING_STATUSES | MOVED
        if status in MOVED:
            reason += ": perfledger server project rename gives the project its new name"
        wait_s = announced_wait_s(response.headers)
        if is_limit(status, response.headers, reason):
            is_passing, wait_s = True, gate.note_limit(response.headers)
            self.counts.note_rate_limit()
        elif method == "POST" and (message is None or status in SERVER_ERRORS):
            wait_s = max(LOST_POST_WAIT_S, wait_s or 0.0)
        return GitHubError(
            f"GitHub answered {status} to {method} /{path}: {reason}",
            github_status=status,
            is_transient=is_passing,
            wait_s=wait_s,
        )


def _message(response: Response) -> str | None:
    """Return GitHub's explanation on one line of at most MAX_REASON characters, or None."""
    try:
        text = _REFUSAL_DECODER.decode(response.content).message
    except UNREADABLE:
        return None
    return _CONTROLS.sub(" ", text)[:MAX_REASON]
