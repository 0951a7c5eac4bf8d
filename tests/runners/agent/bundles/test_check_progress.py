"""The far end is scripted: what a service is told of a check while it measures."""

import json
import threading
from contextlib import contextmanager
from dataclasses import replace

from perfledger_runners.bundles.check_progress import (
    MAX_STAGE,
    CheckState,
    ProgressSender,
    send_state,
)
from perfledger_runners.bundles.service_requests import ServiceRequestError

STATE = CheckState(pull_request=7, head_sha="b" * 40, max_pairs=20)
MEASURING = replace(STATE, machine_class="cpu:Test CPU:1", stage="measuring")


class Service:
    def __init__(self):
        self.requests = []

    def open(self, fullurl, data=None, timeout=None):  # noqa: ARG002
        self.requests.append(fullurl)
        return self

    def read(self, amount, /):  # noqa: ARG002
        return b"{}"

    def close(self):
        pass


def test_a_message_has_the_state_and_the_token():
    service = Service()
    state = replace(MEASURING, stage="s" * 200, pairs=3, waiting=2, seconds_left=90.0)
    send_state("https://ledger.example/", "pl_canary", state, opener=service)

    [request] = service.requests
    assert request.full_url == "https://ledger.example/api/v1/checks/progress"
    assert request.get_header("Authorization") == "Bearer pl_canary"
    assert json.loads(request.data) == {
        "pull_request": 7,
        "head_sha": "b" * 40,
        "max_pairs": 20,
        "machine_class": "cpu:Test CPU:1",
        "stage": "s" * MAX_STAGE,
        "workload": "",
        "waiting": 2,
        "pairs": 3,
        "seconds_left": 90.0,
    }


@contextmanager
def sending(state, count, *, failures=0):
    """Send a state until it was sent `count` times; the first ones fail."""
    sent, enough = [], threading.Event()

    def send(state):
        sent.append(state)
        if len(sent) >= count:
            enough.set()
        if len(sent) <= failures:
            raise ServiceRequestError

    with ProgressSender(state, send, interval_s=0.001) as sender:
        yield sender, sent
        assert enough.wait(600)


def test_the_newest_state_is_sent_again_and_again_also_while_the_service_is_absent():
    with sending(MEASURING, 4, failures=2) as (_, sent):
        pass

    assert set(sent) == {MEASURING}


def test_nothing_is_sent_before_the_machine_and_the_stage_are_known():
    with sending(STATE, 1) as (sender, sent):
        sender.state = replace(STATE, stage="finding workloads")
        sender.state = MEASURING

    assert set(sent) == {MEASURING}


def test_a_check_that_ends_before_the_first_message_sends_none():
    sent = []
    with ProgressSender(MEASURING, sent.append, interval_s=600.0):
        pass

    assert sent == []
