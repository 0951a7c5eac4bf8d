"""Tests people's own tokens over real HTTP: made once, used as the person, revoked."""

import re
from datetime import timedelta

from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.usecases.people.roles import ROLE_FRESH
from tests.cases import case

STATE = {"state": "acknowledged", "reason": "a program does it"}


def make(browser, *, repository="octo/models", scope="read", days="30"):
    return browser.post("/account/tokens", repository=repository, scope=scope, days=days)


def token_in(answer):
    [token] = re.findall(r"pl_[0-9a-f]{8}_[\w-]{43}", answer.text)
    return token


def read(site, token):
    return site.get("/api/v1/events", token=token)


def set_state(site, token):
    headers = {"Authorization": f"Bearer {token}"}
    return site.client.put("/api/v1/events/1/state", json=STATE, headers=headers)


def test_a_token_is_shown_once_and_reads_its_project(browser_of, people_site):
    alice = browser_of("alice")
    token = token_in(make(alice))
    page = alice.get("/account").text

    assert token not in page
    assert token[:11] in page
    assert read(people_site, token).json()["repository"] == "octo/models"
    assert set_state(people_site, token).status_code == 403


def test_a_maintainers_token_decides_in_the_persons_name(browser_of, people_site):
    token = token_in(make(browser_of("alice"), scope="maintain"))

    answer = set_state(people_site, token)

    assert answer.json()["event"]["set_by"] == f"alice ({token[:11]})"
    newest = audit_log(people_site.engine, most=1)[0]
    assert (newest.actor, newest.address) == (f"alice ({token[:11]})", "127.0.0.1")
    assert newest.detail == "event 1 to acknowledged: a program does it"


def test_no_token_goes_beyond_its_person(browser_of):
    for login, fields, status in [
        ("vera", {"scope": "maintain"}, 403),
        ("vera", {"scope": "upload"}, 403),
        ("alice", {"repository": "octo/other"}, 404),
        ("alice", {"repository": "octo/nothing"}, 404),
        ("alice", {"repository": "octo/models\0"}, 400),
        ("alice", {"repository": "octo/models\n"}, 400),
        ("alice", {"repository": "o" * 60_000 + "/models"}, 400),
        ("alice", {"days": "0"}, 400),
        ("alice", {"days": "367"}, 400),
        ("alice", {"days": "never"}, 400),
        ("alice", {"days": "9" * 400}, 400),
        ("alice", {"scope": "admin"}, 400),
    ]:
        with case(login=login, fields=fields, status=status):
            assert make(browser_of(login), **fields).status_code == status


def test_a_token_does_less_once_its_person_may_do_less(browser_of, people_site, stand_in, clock):
    token = token_in(make(browser_of("alice"), scope="maintain"))
    reading = token_in(make(browser_of("alice")))
    permissions = stand_in.state.repository("octo/models")["permissions"]

    permissions["alice"] = "read"
    clock.move(ROLE_FRESH)
    assert set_state(people_site, token).status_code == 403
    assert read(people_site, token).status_code == 200

    permissions["alice"] = "none"
    clock.move(ROLE_FRESH)
    assert [read(people_site, one).status_code for one in (token, reading)] == [403, 403]


def test_a_token_ends_by_itself(browser_of, people_site, clock):
    token = token_in(make(browser_of("alice"), days="1"))
    clock.move(timedelta(days=1))

    assert read(people_site, token).status_code == 401


def test_only_its_person_revokes_a_token(browser_of, people_site):
    alice, carol = browser_of("alice"), browser_of("carol")
    token = token_in(make(alice))
    path = f"/account/tokens/{token[:11]}/revoke"

    assert carol.post(path).status_code == 404
    assert alice.post(path, token="forged").status_code == 403
    assert read(people_site, token).status_code == 200
    assert alice.post(path).headers["location"] == "/account"
    assert read(people_site, token).status_code == 401
    assert alice.post("/account/tokens/pl_0123abcd/revoke").status_code == 404  # the project's


def test_a_token_opens_no_page(browser_of, people_site):
    token = token_in(make(browser_of("alice"), scope="maintain"))

    assert people_site.get("/octo/models", token=token).status_code == 401
    assert people_site.get("/account", token=token).status_code == 401


def test_making_and_revoking_are_in_the_audit_log_without_the_secret(browser_of, people_site):
    alice = browser_of("alice")
    token = token_in(make(alice))
    alice.post(f"/account/tokens/{token[:11]}/revoke")

    entries = audit_log(people_site.engine, repository="octo/models", most=9)
    assert [(one.action.value, one.detail) for one in entries] == [
        ("revoke token", token[:11]),
        ("make token", f"{token[:11]} that may read, for 30 days"),
    ]
