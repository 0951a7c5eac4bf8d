"""Fetches the A/B runs that a service requests."""

from dataclasses import dataclass

import msgspec

from perfledger_runners.bundles.service_requests import ServiceRequestError, request_service
from perfledger_runners.bundles.upload import UrlOpener

ROUTE = "/api/v1/ab-requests"


@dataclass(frozen=True, slots=True)
class SuspectedMetric:
    """A metric that seems to have changed, and by how much, relative."""

    metric: str
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedAbRun:
    """A requested check of `head_sha` against `base_sha`: one workload on one machine class."""

    workload: str
    machine_class: str
    base_sha: str
    head_sha: str
    max_pairs: int
    suspects: tuple[SuspectedMetric, ...]
    devices: tuple[str, ...] = ()  # a run on another of the class is stronger evidence


@dataclass(frozen=True, slots=True)
class ServiceAbRequests:
    """All A/B runs that a service requests, the most promising first."""

    repository: str
    requests: tuple[RequestedAbRun, ...]


_SERVICE_AB_REQUESTS_DECODER = msgspec.json.Decoder(ServiceAbRequests)


def fetch_ab_requests(
    url: str, token: str, *, opener: UrlOpener | None = None
) -> ServiceAbRequests:
    """Return the A/B runs that the service at `url` requests; raise ServiceRequestError."""
    data = request_service(url, token, ROUTE, opener=opener)
    try:
        return _SERVICE_AB_REQUESTS_DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        msg = f"the service's answer is not a list of A/B runs: {error}"
        raise ServiceRequestError(msg) from error
