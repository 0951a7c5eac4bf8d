"""The pages of administration over HTTP: who sees what, and what forms change."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfledger_service.github.request_counts import RequestCounts
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.tables import UploadRow
from perfledger_service.store.uploads import set_status, upload_by_id
from perfledger_service.usecases.people.roles import grant_role
from perfledger_service.values.people.person import Actor, Role
from perfledger_service.values.service_views.admin import AppInstallation, RateLimit
from perfledger_service.values.upload_views import UploadStatus
from tests.cases import case
from tests.service.web.conftest import Browser

PAGES = (
    *("/admin", "/admin/tokens", "/admin/waiting"),
    *("/admin/github", "/admin/prices", "/admin/audit"),
)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
OWN, OTHER = "pl_0123abcd", "pl_4567cdef"


@pytest.fixture
def carol(browser_of):
    """An admin of octo/models."""
    return browser_of("carol")


@pytest.fixture
def failed(people_site):
    """Let the uploads of both projects have failed."""
    with write_session(people_site.engine) as session:
        for number in (1, 2):
            set_status(session, str(number) * 32, UploadStatus.FAILED, reason="GitHub said <no>")
        session.commit()


def read(browser, path):
    return browser.client.get(path, params={"format": "json"}).json()


@pytest.mark.slow(ci_only=True)
def test_a_page_is_for_admins_alone(browser_of):
    for path in PAGES:
        with case(path=path):
            for login, status in (
                ("carol", 200),
                ("bob", 200),
                ("alice", 403),
                ("vera", 403),
                ("x", 403),
            ):
                assert browser_of(login).get(path).status_code == status
            assert browser_of("y", is_signed_in=False).get(path).status_code == 303


def test_where_pages_are_open_nobody_reads_it(site):
    for path in PAGES:
        with case(path=path):
            assert site.get(path).status_code == 404


@pytest.mark.usefixtures("failed")
@pytest.mark.slow(ci_only=True)
def test_an_admin_sees_nothing_of_other_projects(carol, browser_of):
    for path in PAGES:
        with case(path=path):
            for browser, other in ((carol, "octo/other"), (browser_of("bob"), "octo/models")):
                for output in ("html", "csv", "json"):
                    assert other not in browser.client.get(path, params={"format": output}).text


def test_with_public_reading_an_admin_still_sees_only_their_projects(
    start_people_site, github_sign_in, stand_in
):
    with start_people_site(github=github_sign_in, is_public=True) as site:
        assert site.get("/admin").status_code == 401
        browser = Browser(site, stand_in, "carol")
        browser.sign_in()
        assert "octo/other" not in browser.get("/admin").text
        assert "octo/models" in browser.get("/admin").text
        browser.client.close()


def test_projects_have_their_counts(carol, people_site, clock):
    [project] = read(carol, "/admin")["projects"]

    assert project["repository"] == "octo/models"
    assert (project["uploads"], project["failed"], project["tokens"]) == (1, 0, 1)
    assert project["series"] > 0
    assert project["follows_renames"] is False
    rows = list(csv.DictReader(io.StringIO(carol.get("/admin?format=csv").text)))
    assert [row["repository"] for row in rows] == ["octo/models"]
    actor = Actor(name="root")
    grant_role(people_site.engine, "carol", "octo/other", Role.ADMIN, actor=actor, now=clock())
    assert len(read(carol, "/admin")["projects"]) == 2


def test_a_token_is_listed_without_its_secret_and_revoked(carol, people_site):
    page = carol.get("/admin/tokens").text
    assert OWN in page
    assert "s" * 43 not in page
    assert OTHER not in page

    assert carol.post(f"/admin/tokens/{OWN}/revoke").status_code == 303

    [token] = read(carol, "/admin/tokens")["tokens"]
    assert token["state"] == "revoked"
    assert people_site.get("/api/v1/priors", token=OWN + "_" + "s" * 43).status_code == 401
    [entry, *_] = read(carol, "/admin/audit")["entries"]
    assert (entry["actor"], entry["action"], entry["detail"]) == ("carol", "revoke token", OWN)


def test_a_token_is_revoked_once_in_the_audit_log(carol):
    for _ in range(2):
        assert carol.post(f"/admin/tokens/{OWN}/revoke").status_code == 303

    actions = [one["action"] for one in read(carol, "/admin/audit")["entries"]]
    assert actions.count("revoke token") == 1


def test_a_token_of_another_project_is_none(carol, people_site):
    for prefix in (OTHER, "pl_ffffffff"):
        answer = carol.post(f"/admin/tokens/{prefix}/revoke")
        assert answer.status_code == 404
        assert "no token" in answer.text
    assert people_site.get("/api/v1/priors", token=OTHER + "_" + "t" * 43).status_code != 401


def test_only_an_admin_and_only_by_our_form_changes_something(browser_of, carol, failed):  # noqa: ARG001
    for path in (f"/admin/tokens/{OWN}/revoke", f"/admin/waiting/{'1' * 32}/retry"):
        assert browser_of("alice").post(path).status_code == 403
        assert carol.post(path, token="0" * 64).status_code == 403
        assert carol.post(path, headers={"Origin": "http://evil.example"}).status_code == 403
    assert {one["state"] for one in read(carol, "/admin/tokens")["tokens"]} == {"live"}


def test_the_last_use_of_a_token_is_noted_to_the_hour(carol, people_site, clock):
    def use():
        people_site.get("/api/v1/priors", token=OWN + "_" + "s" * 43)
        [token] = read(carol, "/admin/tokens")["tokens"]
        return token["used_at"]

    first = use()
    clock.move(timedelta(minutes=59))
    second = use()
    clock.move(timedelta(minutes=1))

    assert first == second
    assert use() > first


@pytest.mark.usefixtures("failed")
def test_what_failed_is_shown_with_its_reason_and_attempted_again(carol, people_site):
    page = carol.get("/admin/waiting").text
    [upload] = read(carol, "/admin/waiting")["uploads"]
    assert "GitHub said &lt;no&gt;" in page
    assert (upload["status"], upload["reason"]) == ("failed", "GitHub said <no>")

    assert carol.post(f"/admin/waiting/{'1' * 32}/retry").status_code == 303

    with read_session(people_site.engine) as session:
        assert upload_by_id(session, "1" * 32).retry_at is not None
        assert upload_by_id(session, "2" * 32).status is UploadStatus.FAILED
    [entry, *_] = read(carol, "/admin/audit")["entries"]
    assert (entry["action"], entry["detail"]) == ("retry upload", "1" * 32)


@pytest.mark.usefixtures("failed")
def test_an_upload_of_another_project_or_one_that_does_not_wait_is_not_attempted(
    carol, people_site
):
    assert carol.post(f"/admin/waiting/{'2' * 32}/retry").status_code == 404
    with write_session(people_site.engine) as session:
        set_status(session, "1" * 32, UploadStatus.POSTED)
        session.commit()
    assert carol.post(f"/admin/waiting/{'1' * 32}/retry").status_code == 400
    with read_session(people_site.engine) as session:
        assert session.get(UploadRow, "2" * 32).retry_at is None


def test_prices_are_listed_with_source_dates_and_state(carol):
    page = carol.get("/admin/prices?text=p4d").text
    assert "aws:p4d.24xlarge/on_demand" in page
    assert "h100" not in page.lower().replace("placeholder", "")
    assert "No prices match" in carol.get("/admin/prices?text=%3Cnone%3E").text
    stale = carol.get("/admin/prices?stale=true").text
    assert stale.count("badge warning") == stale.count('class="warning"')
    assert read(carol, "/admin/prices")["prices"]
    assert carol.get("/admin/prices?page=999999").status_code == 200


class FakeInstallations:
    """An App that may only read, and is not installed on one repository."""

    def installation(self, repository):
        if repository == "octo/other":
            return None
        return AppInstallation(
            id=41,
            account="octo",
            permissions={
                "metadata": "read",
                "contents": "none",
                "checks": "read",
                "pull_requests": "admin",
            },
            events=("pull_request",),
            suspended_at=None,
            rate_limit=RateLimit(limit=5000, remaining=12, resets_at=NOON),
        )


@pytest.fixture
def app_site(people_site):
    """Let the service have an App."""
    service = people_site.app.state.service
    people_site.app.state.service = replace(
        service, installations=FakeInstallations(), github_requests=RequestCounts()
    )


@pytest.mark.usefixtures("app_site")
def test_github_says_what_is_missing_of_the_app(carol, browser_of):
    [one] = read(carol, "/admin/github")["installations"]
    page = carol.get("/admin/github").text

    assert one["missing_permissions"] == ["contents: read", "issues: write", "checks: write"]
    assert one["missing_events"] == ["issue_comment", "merge_group"]
    assert "contents: read, issues: write, checks: write, issue_comment" in page
    assert "12 of 5000" in page
    [other] = read(browser_of("bob"), "/admin/github")["installations"]
    assert other["problem"].startswith("the App is not installed here")


@pytest.mark.usefixtures("app_site")
def test_a_page_of_installations_leads_to_its_own_data(carol, people_site, clock, monkeypatch):
    monkeypatch.setattr("perfledger_service.web.service_pages.admin.INSTALLATIONS_PER_PAGE", 1)
    actor = Actor(name="root")
    grant_role(people_site.engine, "carol", "octo/other", Role.ADMIN, actor=actor, now=clock())
    page = carol.get("/admin/github?page=2").text
    [address] = [part for part in page.split('"') if part.endswith("format=json")]
    document = carol.get(address.replace("&amp;", "&")).json()

    assert [one["repository"] for one in document["installations"]] == ["octo/other"]
    assert (document["page"], document["pages"]) == (2, 2)


def test_without_access_to_github_the_page_says_how_to_set_it_up(carol):
    assert "PERFLEDGER_GITHUB_APP_ID" in carol.get("/admin/github").text
