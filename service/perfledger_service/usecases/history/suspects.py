"""Fetches the A/B runs that a service requests."""

from perfledger_runners.bundles.service_ab_requests import ServiceAbRequests, fetch_ab_requests
from perfledger_runners.bundles.service_history import (
    ServiceHistoryError,
)
from perfledger_service.errors import PerfledgerError
from perfledger_service.usecases.inputs.upload_target import UploadTarget


def ab_requests_of_service(target: UploadTarget) -> ServiceAbRequests:
    """Return the A/Bs that a service asks for. Raises PerfledgerError if it does not answer."""
    try:
        return fetch_ab_requests(target.url, target.token)
    except ServiceHistoryError as error:
        raise PerfledgerError(str(error)) from error
