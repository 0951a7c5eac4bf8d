"""A hub's address in, the A/Bs that it asks for out."""

from dataclasses import dataclass

import msgspec

from perfledger_runners.hub_history import HistoryError, get_from_hub
from perfledger_runners.upload import Opener

ROUTE = "/api/v1/suspects"


@dataclass(frozen=True, slots=True)
class SuspectedMetric:
    """A metric that looks as if it had changed, and by how much, relative."""

    metric: str
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCheck:
    """A check that the hub asks for: `head_sha` against `base_sha`, one workload, such devices."""

    workload: str
    device_class: str
    base_sha: str
    head_sha: str
    max_pairs: int
    suspicions: tuple[SuspectedMetric, ...]
    seen_on: tuple[str, ...] = ()  # devices; another of the class is the better witness


@dataclass(frozen=True, slots=True)
class HubSuspects:
    """All that the hub asks for, the most promising first."""

    repository: str
    asked: tuple[AskedCheck, ...]


def ask_suspects(url: str, token: str, *, opener: Opener | None = None) -> HubSuspects:
    """Return the A/Bs that the hub at `url` asks for. Raises HistoryError."""
    data = get_from_hub(url, token, ROUTE, opener=opener)
    try:
        return msgspec.json.decode(data, type=HubSuspects)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the service's answer holds no suspects: {error}"
        raise HistoryError(msg) from error
