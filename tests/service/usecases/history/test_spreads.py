"""Fetching spreads from a service that does not answer."""

import pytest

from perfledger_service.errors import PerfledgerError
from perfledger_service.usecases.history.spreads import spreads_of_service
from perfledger_service.usecases.inputs.upload_target import UploadTarget


def test_a_service_that_does_not_answer_is_an_error():
    nobody = UploadTarget(url="http://127.0.0.1:9", token="pl_0123abcd_" + "s" * 43)

    with pytest.raises(PerfledgerError, match="no answer from the service"):
        spreads_of_service(nobody)
