"""Tests that people see the projects that they may view, and nothing of any other."""

import json
import re
from datetime import timedelta

import pytest

from perfledger_service.store.database import write_session
from perfledger_service.usecases.people.roles import ROLE_FRESH, ROLE_STALE, grant_role, revoke_role
from perfledger_service.values.people.person import Actor, Role
from perfledger_service.web.sign_in.access import Access, access_by_route

OTHER_UPLOAD = "2" * 32
# What the parts of paths are in octo/models.
PARTS = {
    "owner": "octo",
    "name": "models",
    "number": "7",
    "workload:path": "gpt:step",
    "event_id": "1",
    "upload_id": "1" * 32,
    "series_id": "1",
}
OPEN_TO_ALL = {"/", "/capacity", "/search", "/account"}


def no_project(text):
    """Return an answer without the name of the project that was asked for."""
    return re.sub(r"octo(/|%2F)\w+|[0-9a-f]{32}|series \d+", "…", text)


def pages_of_models(site):
    """Return a path of each route of pages about one project, also of those to come.

    Steps are of a workload that was profiled, and have a test of their own.
    """
    return [
        re.sub(r"{([^}]+)}", lambda part: PARTS[part[1]], path)
        for (method, path), rule in access_by_route(site.app).items()
        if rule is Access.PAGE_READER and method == "GET" and path not in OPEN_TO_ALL
        if not path.endswith("/steps")
    ]


@pytest.mark.slow(ci_only=True)
def test_every_page_of_a_project_is_for_those_who_may_view_it(people_site, browser_of):
    alice, bob, nobody = (browser_of(login) for login in ("alice", "bob", "x"))
    stranger = browser_of("x", is_signed_in=False)
    paths = pages_of_models(people_site)
    for path in paths:
        answers = [one.get(path).status_code for one in (alice, bob, nobody, stranger)]
        assert answers == [200, 404, 404, 303], path
        assert stranger.get(path, headers={"Accept": "*/*"}).status_code == 401
    assert len(paths) >= 13


@pytest.mark.slow(ci_only=True)
def test_steps_of_a_project_are_for_those_who_may_view_it(browser_of):
    one = PARTS["upload_id"]
    for path in (f"/runs/{one}/steps?", f"/octo/models/compare/steps?a={one}&b={one}&"):
        alice, bob = (
            browser_of(login).get(f"{path}workload=gpt:step") for login in ("alice", "bob")
        )
        stranger = browser_of("x", is_signed_in=False).get(f"{path}workload=gpt:step")

        assert (alice.status_code, bob.status_code, stranger.status_code) == (404, 404, 303)
        assert "profile of" in alice.text  # she is told that this check has none
        assert "profile of" not in bob.text


@pytest.mark.slow(ci_only=True)
def test_a_hidden_project_looks_like_none(browser_of):
    bob = browser_of("bob")
    missing = {
        "/octo/models": "/octo/nothing",
        "/octo/models/pull/7": "/octo/nothing/pull/7",
        "/octo/models/workloads/gpt:step": "/octo/nothing/workloads/gpt:step",
        "/octo/models/machines?format=csv": "/octo/nothing/machines?format=csv",
        "/octo/models/audit": "/octo/nothing/audit",
        f"/runs/{'1' * 32}": f"/runs/{'f' * 32}",
        "/series/1": "/series/99",
    }
    for hidden, none in missing.items():
        hidden_answer, none_answer = bob.get(hidden), bob.get(none)
        assert hidden_answer.status_code == none_answer.status_code == 404
        assert no_project(hidden_answer.text) == no_project(none_answer.text), hidden


@pytest.mark.slow(ci_only=True)
def test_lists_counts_and_searches_hold_only_what_may_be_viewed(browser_of):
    alice, bob = browser_of("alice"), browser_of("bob")

    for path in ("/", "/capacity"):
        assert "octo/other" not in alice.get(path).text
        assert "octo/models" not in bob.get(path).text
    assert "octo/models" in alice.get("/").text
    assert f"/runs/{OTHER_UPLOAD}" not in alice.get("/").text
    assert "older checks" not in alice.get("/").text
    query = f"a={'1' * 32}&b={OTHER_UPLOAD}&format=json"
    assert alice.get(f"/octo/models/compare?{query}").status_code == 404
    machines = json.loads(alice.get("/octo/models/machines?format=json").text)
    assert machines["checks"] == 1


def test_who_may_view_nothing_is_told_so(browser_of):
    nobody = browser_of("x")

    for path in ("/", "/capacity", "/search?q=octo"):
        answer = nobody.get(path)
        assert answer.status_code == 403
        assert "you may not view any project here" in answer.text.lower()
    assert "octo" not in nobody.get("/account").text


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("end", ["none", None])
def test_who_lost_access_loses_it_within_minutes(browser_of, stand_in, clock, end):
    alice = browser_of("alice")
    assert alice.get("/octo/models").status_code == 200
    permissions = stand_in.state.repository("octo/models")["permissions"]
    permissions.pop("alice")
    permissions.update({"alice": end} if end else {})

    assert alice.get("/octo/models").status_code == 200  # GitHub's answer is some seconds old
    clock.move(ROLE_FRESH)
    assert alice.get("/octo/models").status_code == 404
    assert alice.get("/").status_code == 403


@pytest.mark.slow(ci_only=True)
def test_pages_are_read_while_something_else_writes(people_site, browser_of, clock):
    alice = browser_of("alice")
    with write_session(people_site.engine) as other:
        other.connection()  # SQLite has one writer
        clock.move(ROLE_FRESH)  # so that the session's use and GitHub's answers are to be stored
        for path in ("/octo/models", "/", "/account"):
            assert alice.get(path).status_code == 200
    clock.move(timedelta(hours=12) - ROLE_FRESH)
    assert alice.get("/").status_code == 303  # what was left out was not stored later


def test_who_takes_a_login_over_does_not_take_the_roles(browser_of, stand_in, clock):
    alice = browser_of("alice")
    stand_in.state.accounts["alice"] = 77  # she renamed her account, and another took the login
    clock.move(ROLE_FRESH)

    assert alice.get("/octo/models").status_code == 404


@pytest.mark.slow(ci_only=True)
def test_while_github_fails_a_role_holds_for_an_hour(browser_of, at_github, clock):
    alice = browser_of("alice")
    assert alice.get("/octo/models").status_code == 200
    at_github.fail_next(path="/permission", status=503, count=10_000)
    clock.move(ROLE_STALE - timedelta(seconds=1))
    assert alice.get("/octo/models").status_code == 200

    clock.move(timedelta(seconds=1))
    assert alice.get("/octo/models").status_code == 404


def test_a_granted_role_holds_until_it_is_taken_back(people_site, browser_of, clock):
    bob, operator = browser_of("bob"), Actor(name="root")
    assert bob.get("/octo/models").status_code == 404
    grant_role(people_site.engine, "bob", "octo/models", Role.VIEWER, actor=operator, now=clock())
    assert bob.get("/octo/models").status_code == 200

    revoke_role(people_site.engine, "bob", "octo/models", actor=operator, now=clock())
    assert bob.get("/octo/models").status_code == 404


@pytest.mark.slow(ci_only=True)
def test_with_public_reading_a_stranger_reads_all_and_writes_nothing(
    start_people_site, github_sign_in
):
    with start_people_site(github=github_sign_in, is_public=True) as site:
        for path in (*pages_of_models(site), *OPEN_TO_ALL):
            assert site.get(path).status_code == 200, path
        assert "form_token" not in site.get("/octo/models/events/1").text
        assert 'href="/sign-in"' in site.get("/account").text
        assert site.get("/octo/models/audit").status_code == 401
        for path in ("/octo/models/events/1/state", "/account/tokens", "/sign-out"):
            headers = {"Origin": site.url}
            answer = site.client.post(path, data={"state": "open"}, headers=headers)
            assert answer.status_code == 401, path


def test_pages_are_kept_in_no_cache_of_a_browser(browser_of):
    assert browser_of("alice").get("/octo/models").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", [f"/runs/{'1' * 32}", "/series/1", "/series/1/points.json"])
def test_the_page_of_a_check_asks_for_the_role_in_its_project_alone(
    browser_of, people_site, path, monkeypatch
):
    alice = browser_of("alice")
    questions: list[str] = []
    permissions = people_site.app.state.service.permissions
    answer = permissions.account_permission

    def account_permission(repository, login):
        questions.append(repository)
        return answer(repository, login)

    monkeypatch.setattr(permissions, "account_permission", account_permission)

    assert alice.get(path).status_code == 200
    assert set(questions) <= {"octo/models"}
