"""Lists the webhooks that GitHub could not deliver, and requests their redelivery."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Protocol
from urllib.parse import parse_qs, urlsplit

import msgspec
from requests.auth import AuthBase

from perfledger_service.github.api import GitHubApi
from perfledger_service.github.documents import decode_answer

PATH = "app/hook/deliveries"
PAGE = 100
SUCCESSES = range(200, 300)


class _ListedDelivery(msgspec.Struct):
    id: int
    guid: str
    delivered_at: Annotated[datetime, msgspec.Meta(tz=True)]
    event: str
    redelivery: bool = False
    status_code: int = 0


_DELIVERIES = msgspec.json.Decoder(tuple[_ListedDelivery, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """An attempt to deliver an event; all attempts of one event have the same `guid`."""

    id: int
    guid: str
    event: str
    delivered_at: datetime
    is_received: bool
    is_repeated: bool  # requested by a person or program


class WebhookDeliveries(Protocol):
    """Deliveries of GitHub's webhooks to us; both methods may raise GitHubError."""

    def attempts(self) -> Iterator[WebhookDelivery]:
        """Yield the attempts of the last days, newest first."""
        ...

    def redeliver(self, delivery_id: int) -> None:
        """Request another delivery of an attempt's event."""
        ...


class AppDeliveries:
    """The deliveries of a GitHub App; GitHub keeps them for three days."""

    def __init__(self, api: GitHubApi, app_auth: Callable[[], AuthBase]) -> None:
        self._api = api
        self._app_auth = app_auth

    def attempts(self) -> Iterator[WebhookDelivery]:
        """Yield the attempts of the last days, newest first; pages are read on demand."""
        query = {"per_page": str(PAGE)}
        while True:
            response = self._api.request("GET", PATH, auth=self._app_auth(), params=query)
            for one in decode_answer(response, _DELIVERIES):
                yield WebhookDelivery(
                    id=one.id,
                    guid=one.guid,
                    event=one.event,
                    delivered_at=one.delivered_at,
                    is_received=one.status_code in SUCCESSES,
                    is_repeated=one.redelivery,
                )
            following = response.links.get("next", {}).get("url", "")
            cursor = parse_qs(urlsplit(following).query).get("cursor", [""])[0]
            if not cursor or cursor == query.get("cursor"):
                return
            query["cursor"] = cursor  # the link itself is not followed

    def redeliver(self, delivery_id: int) -> None:
        """Request another delivery of an attempt's event."""
        self._api.request("POST", f"{PATH}/{delivery_id}/attempts", auth=self._app_auth())
