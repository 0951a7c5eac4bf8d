"""The far end is scripted: what a service may answer to an announcement."""

import json
from datetime import UTC, datetime

import pytest

from perfledger_runners.bundles.check_announcement import AnnouncedClass, send_announcement
from perfledger_runners.bundles.service_requests import TIMEOUT_S, ServiceRequestError

ANSWER = {
    "repository": "octo/models",
    "pull_request": 7,
    "head_sha": "b" * 40,
    "classes": [{"machine_class": "cuda:*H100*:1", "deadline": "2026-11-20T18:00:00Z"}],
}


class Service:
    def __init__(self, answer):
        self.answer = answer
        self.requests = []

    def open(self, fullurl, data=None, timeout=None):
        assert (data, timeout) == (None, TIMEOUT_S)
        self.requests.append(fullurl)
        return self

    def read(self, amount, /):
        return self.answer[:amount]

    def close(self):
        pass


def announce(service):
    return send_announcement(
        "https://ledger.example",
        "pl_canary",
        pull_request=7,
        head_sha="b" * 40,
        machine_classes=("cuda:*H100*:1",),
        class_deadline_s=60.0,
        opener=service,
    )


def test_an_announcement_names_head_classes_and_deadline_and_returns_what_is_expected():
    service = Service(json.dumps(ANSWER).encode())

    announced = announce(service)

    (request,) = service.requests
    assert request.full_url == "https://ledger.example/api/v1/checks"
    assert json.loads(request.data) == {
        "pull_request": 7,
        "head_sha": "b" * 40,
        "machine_classes": ["cuda:*H100*:1"],
        "class_deadline_s": 60.0,
    }
    deadline = datetime(2026, 11, 20, 18, tzinfo=UTC)
    assert announced.classes == (AnnouncedClass("cuda:*H100*:1", deadline),)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"\xff",
        b"[" * 100_000,
        json.dumps(ANSWER | {"classes": [{"machine_class": "x"}]}).encode(),
        json.dumps(ANSWER | {"classes": [{"machine_class": "x", "deadline": "soon"}]}).encode(),
        json.dumps(ANSWER).replace("00Z", "00").encode(),
    ],
)
def test_an_answer_that_is_no_announced_check_is_an_error(answer):
    with pytest.raises(ServiceRequestError, match="not an announced check"):
        announce(Service(answer))
