"""Tests who a request is from, and what requests are answered with."""

from dataclasses import replace
from datetime import UTC
from ipaddress import ip_network

import pytest
from fastapi.security import HTTPAuthorizationCredentials
from starlette.requests import Request

from perfledger_service.errors import RefusedError
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.server.project import add_project
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.token_scope import TokenScope
from perfledger_service.web.app import create_app
from perfledger_service.web.app_state import (
    AppState,
    app_state_of,
    caller_that_reads,
    caller_that_uploads,
    client_address,
    utc_now,
)
from perfledger_service.workflows import UploadWorkflow

TOKEN = "pl_0123abcd_" + "s" * 43


class NoWorkflow(UploadWorkflow):
    """Does nothing."""

    def __init__(self):
        pass


@pytest.fixture
def state(engine, now):
    add_project(engine, "octo/models", token=TOKEN, now=now)
    return AppState(
        engine=engine,
        workflow=NoWorkflow(),
        reports=UploadReports(build_report),
        public_url="https://ledger.example",
    )


def bearer(token):
    return HTTPAuthorizationCredentials(scheme="Bearer", credentials=token)


def test_the_state_of_a_request_is_its_applications(state):
    request = Request({"type": "http", "app": create_app(state)})

    assert app_state_of(request) is state


def test_a_request_is_of_the_project_whose_token_it_has(state):
    for reader_or_uploader in (caller_that_reads, caller_that_uploads):
        caller = reader_or_uploader(state, bearer(TOKEN))
        assert (caller.project.repository, caller.run) == ("octo/models", None)


def test_a_token_that_may_read_does_so(state, engine, now):
    reading = "pl_4567cdef_" + "t" * 43
    add_project(engine, "octo/models", token=reading, now=now, scope=TokenScope.READ)

    assert caller_that_reads(state, bearer(reading)).project.repository == "octo/models"
    with pytest.raises(RefusedError, match="may only read"):
        caller_that_uploads(state, bearer(reading))


def test_where_runs_of_actions_are_off_their_tokens_are_no_tokens(state):
    with pytest.raises(RefusedError, match="no valid project token"):
        caller_that_uploads(state, bearer("eyJ.eyJ.x"))


@pytest.mark.parametrize("credentials", [None, bearer(""), bearer(TOKEN[:-1] + "t")])
def test_without_a_valid_token_a_request_is_refused_and_told_what_to_send(state, credentials):
    with pytest.raises(RefusedError, match="send `Authorization: Bearer pl_…`") as refused:
        caller_that_uploads(state, credentials)

    assert refused.value.status == 401


def test_by_default_there_are_no_webhooks_and_the_time_is_aware(state):
    assert state.webhook_secret is None
    assert state.now().tzinfo is UTC
    assert state.now() <= utc_now()


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.4"], "198.51.100.4"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.4"], "198.51.100.4"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.4"], "198.51.100.4"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.4, 10.0.0.2"], "198.51.100.4"),
        ("10.0.0.1", ["10.0.0.3,10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.4, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.4, "], "10.0.0.1"),
        ("192.0.2.7", ["198.51.100.4"], "192.0.2.7"),
        ("192.0.2.7", ["10.0.0.1"], "192.0.2.7"),
    ],
)
def test_a_listed_proxy_and_nobody_else_says_where_requests_come_from(
    state, peer, forwarded, address
):
    headers = [(b"x-forwarded-for", one.encode()) for one in forwarded]
    request = Request({"type": "http", "client": (peer, 1), "headers": headers})
    behind = replace(state, proxy_addresses=(ip_network("10.0.0.0/29"),))

    assert client_address(request, behind) == address
    assert client_address(request, state) == peer


def test_each_state_has_pages_of_its_own(state, engine):
    other = AppState(
        engine=engine, workflow=state.workflow, reports=state.reports, public_url=state.public_url
    )

    assert other.pages is not state.pages
