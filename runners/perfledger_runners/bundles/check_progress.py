"""Says to a service how far an announced check is, while it measures."""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self

from perfledger_runners.bundles.check_announcement import ROUTE
from perfledger_runners.bundles.service_requests import ServiceRequestError, request_service
from perfledger_runners.bundles.upload import UrlOpener

MAX_STAGE = 100  # characters
# Between messages: people who wait see a new pair within moments, and a message costs a few ms.
MESSAGE_INTERVAL_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckState:
    """How far a check is on a machine class.

    `workload` is the last one that began, `waiting` the number of workloads that need more pairs;
    `seconds_left` is None before the first pair.
    """

    pull_request: int
    head_sha: str
    max_pairs: int
    machine_class: str = ""
    stage: str = ""
    workload: str = ""
    waiting: int = 0
    pairs: int = 0
    seconds_left: float | None = None


def send_state(url: str, token: str, state: CheckState, *, opener: UrlOpener | None = None) -> None:
    """Send how far a check is to the service at `url`; raise ServiceRequestError."""
    document = asdict(state) | {"stage": state.stage[:MAX_STAGE]}
    request_service(url, token, f"{ROUTE}/progress", document=document, opener=opener)


class ProgressSender:
    """Context with a thread that sends the newest `state` of a check while it is measured.

    Each message is also a sign of life. A service that does not answer is told again.
    """

    def __init__(
        self,
        state: CheckState,
        send: Callable[[CheckState], None],
        *,
        interval_s: float = MESSAGE_INTERVAL_S,
    ) -> None:
        self.state = state
        self._send = send
        self._interval_s = interval_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Start the messages, which begin once the machine class is known."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the messages, after one in progress."""
        self._is_over.set()
        self._thread.join()

    def _tell(self) -> None:
        while not self._is_over.wait(self._interval_s):
            if not (self.state.machine_class and self.state.stage):
                continue
            try:
                self._send(self.state)
            except ServiceRequestError:
                continue
