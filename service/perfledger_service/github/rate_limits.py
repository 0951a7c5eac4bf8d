"""Keeps the requests of one installation within GitHub's rate limits.

No thread sleeps until a limit is renewed: the error of a refused request says how long to wait, and
until then further requests of the installation are refused here. The wait is stored with the work
(`defer_upload`).
"""

import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

from perfledger.rounding import digits
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_service.errors import GitHubError
from perfledger_service.values.jobs.write_turn import WriteTurn
from perfledger_service.values.service_views.admin import RateLimit

# GitHub asks clients to write one request at a time, a second apart.
WRITE_INTERVAL_S = 1.0
# GitHub's documented wait after a secondary limit that gives no time; it doubles each time.
SECONDARY_WAIT_S = 60.0
# Waits double up to an hour, in which GitHub's own limits start anew.
MAX_SECONDARY_WAIT_S = float(SECONDS_PER_HOUR)
# A rate limit is renewed within an hour: a later time is an error.
MAX_WAIT_S = 2.0 * SECONDS_PER_HOUR
# GitHub's statuses for a limit; 403 also means "not allowed".
LIMITED = frozenset({403, 429})
_MAX_DIGITS = 10  # of a number in a header: more seconds are not a valid time


class SharedTurns(Protocol):
    """The turns to write of all processes of a service."""

    def turn(
        self, installation: str, closed_s: Callable[[], float]
    ) -> AbstractContextManager[WriteTurn]:
        """Wait for the turn and hold it; afterwards, `closed_s` says what limit was met."""
        ...


class RateGate:
    """The rate limits of one installation, or of one token; safe across threads.

    `turns` are those that other processes wait for, too; None if there is no other process.
    """

    def __init__(
        self,
        *,
        installation: str = "",
        turns: SharedTurns | None = None,
        write_interval_s: float = WRITE_INTERVAL_S,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._installation = installation
        self._turns = turns
        self._write_interval_s = write_interval_s
        self._sleep = sleep
        self._monotonic = monotonic
        self._writing = threading.Lock()
        self._last_write = -write_interval_s
        self._state = threading.Lock()
        self._closed_until: float | None = None
        self._secondary_limits = 0  # in a row
        self._last_limit: RateLimit | None = None

    @property
    def limit(self) -> RateLimit | None:
        """Return the limit from the last answer that stated one, None before."""
        with self._state:
            if self._last_limit is None or self._closed_until is None:
                return self._last_limit
            wait_s = self._closed_until - self._monotonic()
            return replace(self._last_limit, wait_s=wait_s if wait_s > 0 else None)

    def note_answer(self, headers: Mapping[str, str]) -> None:
        """Record the limit that an answer states, if any."""
        limit = _limit_of(headers)
        if limit is not None:
            with self._state:
                self._last_limit = limit

    def check(self) -> None:
        """Raise GitHubError while GitHub asks us to wait."""
        with self._state:
            if self._closed_until is None:
                return
            wait_s = self._closed_until - self._monotonic()
            if wait_s <= 0:
                self._closed_until = None
                return
        msg = f"GitHub's rate limit is used up for {digits(wait_s, 3)} s"
        raise GitHubError(msg, is_transient=True, wait_s=wait_s)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Let one write at a time pass, and keep an interval between writes."""
        with self._writing, self._turn() as turn:
            self._close_for(turn.closed_s)
            idle_s = min(turn.idle_s, self._monotonic() - self._last_write)
            if idle_s < self._write_interval_s:  # below 0 if a clock was set back
                self._sleep(self._write_interval_s - max(0.0, idle_s))
            self.check()  # the previous write may have hit the limit
            try:
                yield
            finally:
                self._last_write = self._monotonic()

    def note_success(self) -> None:
        """Forget earlier secondary limits."""
        with self._state:
            self._secondary_limits = 0

    def note_limit(self, headers: Mapping[str, str]) -> float:
        """Close the gate after a refusal for a limit, and return for how many seconds."""
        with self._state:
            wait_s = announced_wait_s(headers)
            if wait_s is None:
                wait_s = min(MAX_SECONDARY_WAIT_S, SECONDARY_WAIT_S * 2**self._secondary_limits)
                self._secondary_limits += 1
        self._close_for(wait_s)
        return wait_s

    def _turn(self) -> AbstractContextManager[WriteTurn]:
        if self._turns is None:
            return nullcontext(WriteTurn(idle_s=math.inf, closed_s=0.0))
        return self._turns.turn(self._installation, self._closed_s)

    def _closed_s(self) -> float:
        with self._state:
            if self._closed_until is None:
                return 0.0
            return max(0.0, self._closed_until - self._monotonic())

    def _close_for(self, wait_s: float) -> None:
        if wait_s <= 0:
            return
        with self._state:
            until = self._monotonic() + min(MAX_WAIT_S, wait_s)
            self._closed_until = max(until, self._closed_until or until)


def is_limit(status: int, headers: Mapping[str, str], reason: str) -> bool:
    """Return whether a refusal is for a primary or secondary limit, so that nothing was done."""
    is_told = "Retry-After" in headers or headers.get("x-ratelimit-remaining") == "0"
    return status in LIMITED and (is_told or "rate limit" in reason.lower())


def announced_wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until GitHub serves again, by its headers; None if they do not say.

    The reset time is compared with the answer's own date, since clocks may differ.
    """
    retry_after = headers.get("Retry-After", "")
    if retry_after.isdecimal():
        return min(MAX_WAIT_S, float(retry_after))
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") != "0" or not reset.isdecimal():
        return None
    until_reset = float(reset) - _moment(headers.get("Date", "")).timestamp()
    return min(MAX_WAIT_S, max(0.0, until_reset) + 1.0)  # both are whole seconds


def _limit_of(headers: Mapping[str, str]) -> RateLimit | None:
    """Return the limit that an answer states, None if it states none."""
    numbers = [headers.get(f"x-ratelimit-{name}", "") for name in ("limit", "remaining", "reset")]
    if not all(one.isascii() and one.isdecimal() and len(one) <= _MAX_DIGITS for one in numbers):
        return None
    limit, remaining, reset = map(int, numbers)
    return RateLimit(limit=limit, remaining=remaining, resets_at=datetime.fromtimestamp(reset, UTC))


def _moment(date: str) -> datetime:
    """Return the time of a Date header, or the current time without a valid header."""
    try:
        return parsedate_to_datetime(date)
    except ValueError:
        return datetime.now(UTC)
