"""Tests that forms are taken from our own pages of the same session only."""

import pytest

from perfledger_service.usecases.events.event import event_history
from perfledger_service.usecases.server.project import project_of_name
from tests.cases import case

PATH = "/octo/models/events/1/state"
FIELDS = {"state": "acknowledged", "reason": "alice bisects it", "owner": "", "until": ""}


def state_of(site):
    project = project_of_name(site.engine, "octo/models")
    return event_history(site.engine, project, 1).view.event.state.value


@pytest.fixture
def alice(browser_of):
    return browser_of("alice")


def test_a_form_of_our_own_is_taken(alice, people_site):
    answer = alice.post(PATH, **FIELDS)

    assert (answer.status_code, answer.headers["location"]) == (303, "/octo/models/events/1")
    assert state_of(people_site) == "acknowledged"


def test_a_script_may_send_the_token_in_a_header(alice, people_site):
    answer = alice.post(PATH, token="", headers={"X-Form-Token": alice.form_token}, **FIELDS)

    assert answer.status_code == 303
    assert state_of(people_site) == "acknowledged"


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 64])
def test_a_form_without_the_token_changes_nothing(alice, people_site, token):
    answer = alice.post(PATH, token=token or " ", **FIELDS)

    assert answer.status_code == 403
    assert state_of(people_site) == "open"


def test_a_form_with_another_sessions_token_changes_nothing(alice, people_site, browser_of):
    for other in (browser_of("carol"), browser_of("alice")):
        assert alice.post(PATH, token=other.form_token, **FIELDS).status_code == 403
    assert state_of(people_site) == "open"


@pytest.mark.parametrize(
    "origin",
    ["", "null", "https://evil.example", "http://127.0.0.1:1", "http://ledger.example.evil"],
)
def test_a_form_of_another_site_changes_nothing(alice, people_site, origin):
    answer = alice.post(PATH, headers={"Origin": origin}, **FIELDS)

    assert answer.status_code == 403
    assert state_of(people_site) == "open"


def test_behind_https_a_form_of_the_same_name_without_it_is_another_sites(alice, people_site):
    named = {"Host": "ledger.example"}
    for origin, status in (("https://ledger.example", 403), ("http://ledger.example", 303)):
        headers = named | {"Origin": origin}
        assert alice.post(PATH, headers=headers, **FIELDS).status_code == status
    assert state_of(people_site) == "acknowledged"


@pytest.mark.parametrize(
    ("login", "status"), [("vera", 403), ("bob", 404), ("x", 404), ("carol", 303)]
)
def test_a_state_is_set_by_maintainers_of_the_project(browser_of, people_site, login, status):
    assert browser_of(login).post(PATH, **FIELDS).status_code == status
    assert state_of(people_site) == ("acknowledged" if status == 303 else "open")


def test_who_is_not_signed_in_sends_no_form(people_site, browser_of):
    stranger = browser_of("alice", is_signed_in=False)

    assert stranger.post(PATH, token="x", **FIELDS).status_code == 401
    assert state_of(people_site) == "open"


def send(alice, content, content_type="application/x-www-form-urlencoded"):
    headers = {"Origin": alice.site.url, "Content-Type": content_type}
    return alice.client.post(PATH, content=content, headers=headers)


def test_what_is_no_form_is_refused(alice, people_site):
    for content, status in [
        (b"state=\xff", 400),
        (b"state=%ff", 400),
        (b"&".join(b"a%d=1" % number for number in range(50)), 400),
        (b"state=open&state=expected", 400),
        (b"a=" + b"x" * 70_000, 413),
        (b"", 403),
    ]:
        with case(content=content, status=status):
            assert send(alice, content).status_code == status
            assert state_of(people_site) == "open"


def test_a_large_form_is_refused_while_it_is_read(alice, people_site):
    def chunks():
        for _ in range(200):
            yield b"a" * 1000

    assert send(alice, chunks()).status_code == 413
    assert state_of(people_site) == "open"


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data", ""])
def test_a_body_of_another_kind_is_refused(alice, kind):
    assert send(alice, b"{}", kind).status_code == 400
