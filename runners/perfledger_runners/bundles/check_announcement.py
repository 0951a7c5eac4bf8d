"""Announces a check to a service before it measures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec

from perfledger_runners.bundles.service_requests import ServiceRequestError, request_service
from perfledger_runners.bundles.upload import UrlOpener

ROUTE = "/api/v1/checks"
# The pattern of a check whose classes are not configured: the first report ends the wait.
ANY_CLASS = "*"


@dataclass(frozen=True, slots=True)
class AnnouncedClass:
    """A machine class (a pattern) that has to report on a commit, and its deadline."""

    machine_class: str
    deadline: Annotated[datetime, msgspec.Meta(tz=True)]


@dataclass(frozen=True, slots=True)
class AnnouncedCheck:
    """All machine classes that have to report on the head of a pull request or merge group."""

    repository: str
    pull_request: int | None  # None: a merge group's head
    head_sha: str
    classes: tuple[AnnouncedClass, ...]


_ANNOUNCED_CHECK_DECODER = msgspec.json.Decoder(AnnouncedCheck)


def send_announcement(
    url: str,
    token: str,
    *,
    pull_request: int | None,
    head_sha: str,
    machine_classes: Sequence[str],
    class_deadline_s: float,
    opener: UrlOpener | None = None,
) -> AnnouncedCheck:
    """Announce a check to the service at `url`, and return all classes that it expects.

    Without a pull request, the head is a merge group's. Repeating it changes nothing. Raises
    ServiceRequestError.
    """
    document = {
        "pull_request": pull_request,
        "head_sha": head_sha,
        "machine_classes": list(machine_classes),
        "class_deadline_s": class_deadline_s,
    }
    answer = request_service(url, token, ROUTE, document=document, opener=opener)
    try:
        return _ANNOUNCED_CHECK_DECODER.decode(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the service's answer is not an announced check: {error}"
        raise ServiceRequestError(msg) from error
