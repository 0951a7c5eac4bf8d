"""Uploads by runs of GitHub Actions over real HTTP, with keys made here."""

from dataclasses import replace

import pytest

from perfledger.records import Revision
from perfledger_service.github.actions_tokens import ActionsTokens
from perfledger_service.store.database import read_session
from perfledger_service.store.default_branch import branch_series, commits_of_branch
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.server.project import add_project, let_actions_upload
from perfledger_service.values.upload_views import UploadSender
from tests.service.servers.actions_issuer import AUDIENCE, Issuer, serving_issuer

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43


@pytest.fixture
def issuer(now):
    with serving_issuer(Issuer(now)) as issuer:
        yield issuer


@pytest.fixture
def site(engine, start_site, issuer, now):
    """The application, where octo/models uploads from GitHub Actions without a token."""
    add_project(engine, "octo/other", token=OTHER_TOKEN, now=now)
    let_actions_upload(
        engine,
        "octo/models",
        repository_id=1296269,
        owner_id=583231,
        branch="main",
        now=now,
    )
    tokens = ActionsTokens(issuer=issuer.url, audience=AUDIENCE, now=lambda: now)
    with start_site(engine, actions=tokens) as site:
        yield site


@pytest.fixture
def of_branch(make_bundle):
    """A bundle of the default branch's commit after another, by the runner's git."""
    return make_bundle(
        pull_request=None,
        base=Revision(sha="a" * 40, depth=4),
        head=Revision(sha="b" * 40, depth=5),
    )


def of_pull_request(issuer, number=7, **values):
    fields = {"event_name": "pull_request", "ref": f"refs/pull/{number}/merge", "sha": "c" * 40}
    return issuer.token(**fields | values)


def sender(site, answer):
    with read_session(site.engine) as session:
        return upload_by_id(session, answer.json()["id"]).sender


def test_a_run_of_the_branch_enters_the_baseline_without_github(site, issuer, of_branch):
    answer = site.upload(of_branch, token=issuer.token())
    site.judge(answer.json()["id"])

    assert answer.status_code == 202
    assert sender(site, answer) is UploadSender.BRANCH_RUN
    with read_session(site.engine) as session:
        assert commits_of_branch(session, 2) == ("a" * 40, "b" * 40)


def test_a_run_of_a_pull_request_is_taken_and_changes_no_baseline(
    site, issuer, of_branch, make_bundle
):
    site.judge(site.upload(of_branch, token=issuer.token()).json()["id"])
    with read_session(site.engine) as session:
        before = branch_series(session, 2)
    # Of the branch's own commits, a tenth as long, with places that would come first.
    fast = make_bundle(ratio=1.0, seed=3, base=of_branch.head, head=Revision(sha="d" * 40, depth=0))
    fast = replace(
        fast,
        runs=tuple(
            replace(
                run,
                samples={
                    name: tuple(each / 10 for each in one) for name, one in run.samples.items()
                },
            )
            for run in fast.runs
        ),
    )

    answer = site.upload(fast, token=of_pull_request(issuer, jti="2"))
    site.judge(answer.json()["id"])

    assert sender(site, answer) is UploadSender.OTHER_RUN
    with read_session(site.engine) as session:
        assert branch_series(session, 2) == before
        assert commits_of_branch(session, 2) == ("a" * 40, "b" * 40)


@pytest.mark.parametrize(
    "claims",
    [
        {"repository_id": "1"},
        {"repository_owner_id": "1"},
        {"event_name": "pull_request_target"},
        {"event_name": "pull_request"},
        {"event_name": "pull_request", "ref": "refs/pull/8/merge"},
    ],
)
def test_another_repository_or_pull_request_is_forbidden(site, issuer, make_bundle, claims):
    answer = site.upload(make_bundle(), token=issuer.token(**claims))

    assert answer.status_code == 403
    assert site.jobs.works == []


def test_a_repositorys_run_does_not_upload_for_another(site, issuer, of_branch):
    answer = site.upload(replace(of_branch, repository="octo/other"), token=issuer.token())

    assert answer.status_code == 403


@pytest.mark.parametrize("claims", [{"aud": "https://other.example"}, {"exp": 1}, {"iss": "x"}])
def test_a_token_that_is_not_for_this_service_or_now_is_unauthorized(
    site, issuer, of_branch, claims
):
    answer = site.upload(of_branch, token=issuer.token(**claims))

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_the_same_upload_again_is_the_same_and_another_needs_another_token(site, issuer, of_branch):
    token = issuer.token()
    first, second = (site.upload(of_branch, token=token) for _ in range(2))
    third = site.upload(replace(of_branch, id="f" * 32), token=token)
    fourth = site.upload(replace(of_branch, id="f" * 32), token=issuer.token(jti="2"))

    assert first.json()["id"] == second.json()["id"] != fourth.json()["id"]
    assert (third.status_code, fourth.status_code) == (409, 202)


def test_a_run_reads_what_its_project_has_learnt_and_announces_its_check(site, issuer):
    headers = {"Authorization": f"Bearer {of_pull_request(issuer)}"}
    announcement = {"pull_request": 7, "head_sha": "b" * 40, "machine_classes": ["*"]}

    assert site.client.get("/api/v1/priors", headers=headers).status_code == 200
    assert site.client.get("/api/v1/ab-requests", headers=headers).status_code == 200
    done = site.client.post("/api/v1/checks", json=announcement, headers=headers)
    assert (done.status_code, done.json()["repository"]) == (202, "octo/models")
    other = announcement | {"pull_request": 8}
    assert site.client.post("/api/v1/checks", json=other, headers=headers).status_code == 403


def test_while_the_issuer_is_away_the_upload_is_to_be_repeated(site, issuer, of_branch):
    issuer.answer = (503, b"")

    assert site.upload(of_branch, token=issuer.token()).status_code == 502


def test_a_token_of_the_project_still_uploads(site, engine, of_branch, now):
    add_project(engine, "octo/models", token=TOKEN, now=now)

    answer = site.upload(of_branch)

    assert sender(site, answer) is UploadSender.RUNNER
