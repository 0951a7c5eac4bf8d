import io
import json

import pytest

from perfledger_runners.bundles.service_ab_requests import (
    ROUTE,
    RequestedAbRun,
    ServiceAbRequests,
    SuspectedMetric,
    fetch_ab_requests,
)
from perfledger_runners.bundles.service_requests import ServiceRequestError

ANSWER = {
    "repository": "acme/models",
    "requests": [
        {
            "workload": "m:f",
            "machine_class": "cuda:NVIDIA H100 80GB HBM3:1",
            "base_sha": "a" * 40,
            "head_sha": "b" * 40,
            "max_pairs": 20,
            "suspects": [{"metric": "step_time_p50", "change": 0.03}],
        }
    ],
}


class Service:
    """Answers every request with the same bytes."""

    def __init__(self, answer):
        self.answer = answer
        self.urls = []

    def open(self, fullurl, data=None, timeout=None):
        assert data is None
        assert timeout is not None
        self.urls.append(fullurl.full_url)
        return io.BytesIO(self.answer)


def fetch(answer):
    service = Service(answer)
    return service, fetch_ab_requests("https://ledger.example/", "pl_token", opener=service)


def test_the_requested_runs_are_read_from_their_route():
    service, requests = fetch(json.dumps(ANSWER).encode())

    assert service.urls == [f"https://ledger.example{ROUTE}"]
    assert requests == ServiceAbRequests(
        repository="acme/models",
        requests=(
            RequestedAbRun(
                workload="m:f",
                machine_class="cuda:NVIDIA H100 80GB HBM3:1",
                base_sha="a" * 40,
                head_sha="b" * 40,
                max_pairs=20,
                suspects=(SuspectedMetric("step_time_p50", 0.03),),
            ),
        ),
    )


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", b'{"repository": 1, "requests": []}', b"\xff", b"[" * 100_000],
    ids=["empty", "html", "another type", "not UTF-8", "nested"],
)
def test_another_answer_is_an_error(answer):
    with pytest.raises(ServiceRequestError, match="not a list of A/B runs"):
        fetch(answer)
