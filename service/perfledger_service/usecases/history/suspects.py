"""Fetches the A/B runs that a service requests."""

from perfledger_runners.bundles.service_ab_requests import ServiceAbRequests, fetch_ab_requests
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.upload_target import UploadTarget


def suspects_of_service(target: UploadTarget) -> ServiceAbRequests:
    """Return the A/B runs that a service requests. Raises PerfledgerError if it does not answer."""
    with translate_errors():
        return fetch_ab_requests(target.url, target.credential())
