"""Tests the loopback pages of an App's registration with a real browser's requests."""

import socket

import httpx
import pytest

from perfledger_service.errors import UsageError
from perfledger_service.web.service_pages.app_callback import app_callback

CODE = "a180b1a3d263c81bc6441d7b990bae27d4c10679"


@pytest.fixture
def callback():
    form_page = lambda server: f"<p>{server.state}</p>"  # noqa: E731
    with app_callback(0, form_page=form_page, end_page="<p>thanks</p>") as server:
        yield server


def test_the_browser_that_comes_back_with_the_state_brings_the_code(callback):
    assert callback.state in httpx.get(callback.url).text

    answer = httpx.get(callback.redirect_url, params={"code": CODE, "state": callback.state})

    assert (answer.status_code, answer.text) == (200, "<p>thanks</p>")
    assert callback.wait_for_code() == CODE


@pytest.mark.parametrize(
    ("code", "state", "status"),
    [(CODE, "other", 403), (CODE, "é", 403), ("", None, 400), ("a b", None, 400)],
)
def test_no_other_code_is_taken(callback, code, state, status):
    query = {"code": code, "state": callback.state if state is None else state}

    assert httpx.get(callback.redirect_url, params=query).status_code == status
    assert callback.codes.empty()


def test_a_name_that_was_made_to_lead_here_reads_no_state(callback):
    answer = httpx.get(callback.url, headers={"Host": "evil.example"})

    assert answer.status_code == 403
    assert callback.state not in answer.text


def test_another_page_is_not_there(callback):
    assert httpx.get(f"{callback.url}/favicon.ico").status_code == 404


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken_server:
        port = taken_server.getsockname()[1]
        with (
            pytest.raises(UsageError, match=f"127.0.0.1:{port}: .*--port"),
            app_callback(port, form_page=lambda _: "", end_page=""),
        ):
            pass
