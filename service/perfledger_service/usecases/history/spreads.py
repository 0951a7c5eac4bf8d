"""Fetches the pair spreads that a service knows."""

from perfledger_runners.bundles.service_history import ServiceHistory, fetch_history
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.upload_target import UploadTarget


def spreads_of_service(target: UploadTarget) -> ServiceHistory:
    """Return the spreads that a service knows, for a check without a token.

    Raises PerfledgerError if the service does not answer.

    Raises PerfledgerError if the service does not answer.
    """
    with translate_errors():
        return fetch_history(target.url, target.credential())
