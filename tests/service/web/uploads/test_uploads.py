import gzip
import hashlib
import threading
from datetime import UTC, datetime

import pytest
from sqlmodel import select

from perfledger_service.settings.quotas import UploadQuota
from perfledger_service.store.database import read_session
from perfledger_service.store.tables import UploadRow
from perfledger_service.usecases.server.project import add_project
from perfledger_service.usecases.server.token import revoke_token
from perfledger_service.usecases.uploads.uploads import fail_upload

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def stored(site):
    with read_session(site.engine) as session:
        return len(session.exec(select(UploadRow)).all())


def test_a_bundle_is_taken_in_and_enqueued(site, make_bundle):
    bundle = make_bundle()
    answer = site.upload(bundle)

    assert answer.status_code == 202
    document = answer.json()
    assert document["status"] == "received"
    assert (document["repository"], document["pull_request"]) == ("octo/models", 7)
    assert document["bundle_sha256"] == hashlib.sha256(bundle.to_json().encode()).hexdigest()
    assert document["url"] == f"https://ledger.example/runs/{document['id']}"
    assert [work.upload_id for work in site.jobs.works] == [document["id"]]


def test_a_gzipped_bundle_is_the_same_bundle(site, make_bundle):
    plain_document = site.upload(make_bundle()).json()
    packed = site.upload(
        gzip.compress(make_bundle().to_json().encode()), headers={"Content-Encoding": "gzip"}
    ).json()

    assert packed == plain_document


def test_a_replayed_upload_gets_the_same_answer(site, make_bundle):
    answers = [site.upload(make_bundle()) for _ in range(5)]

    assert {answer.text for answer in answers} == {answers[0].text}
    assert stored(site) == 1


@pytest.mark.slow(ci_only=True)
def test_ten_at_once_are_one_upload(site, make_bundle):
    answers = []
    barrier = threading.Barrier(10)
    body = make_bundle().to_json()

    def post():
        barrier.wait()
        answers.append(site.upload(body))

    threads = [threading.Thread(target=post) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert stored(site) == 1


def test_what_was_judged_is_not_enqueued_again(site, make_bundle):
    upload = site.upload(make_bundle()).json()
    site.judge(upload["id"])
    site.jobs.works.clear()
    again = site.upload(make_bundle()).json()

    assert (again["id"], again["status"]) == (upload["id"], "judged")
    assert site.jobs.works == []


def test_what_failed_and_comes_again_is_worked_on_as_the_next_attempt(site, make_bundle):
    upload = site.upload(make_bundle()).json()
    fail_upload(site.engine, upload["id"], "the disk is full")
    again = [site.upload(make_bundle()).json() for _ in range(2)]

    assert [(one["id"], one["status"], one["reason"]) for one in again] == [
        (upload["id"], "received", "")
    ] * 2
    assert [work.attempt for work in site.jobs.works] == [1, 2, 2]


def test_what_was_judged_before_it_failed_is_only_said_again(site, make_bundle):
    upload = site.upload(make_bundle()).json()
    site.judge(upload["id"])
    fail_upload(site.engine, upload["id"], "GitHub is away")
    site.jobs.works.clear()
    again = site.upload(make_bundle()).json()

    assert (again["id"], again["status"]) == (upload["id"], "judged")
    assert [work.attempt for work in site.jobs.works] == [2]


def test_an_upload_can_be_followed(site, make_bundle):
    upload = site.upload(make_bundle(ratio=1.2)).json()
    site.judge(upload["id"])
    followed = site.get(f"/api/v1/uploads/{upload['id']}", token=TOKEN).json()

    assert (followed["status"], followed["conclusion"]) == ("judged", "failure")
    assert followed["headline"].startswith("gpt:step is 20.0")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}t"},
        {"Authorization": f"token {TOKEN}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer pl_ffffffff_" + "s" * 43},
    ],
)
def test_without_the_token_nothing_is_taken_in_or_told(site, make_bundle, headers):
    posted = site.client.post("/api/v1/uploads", content=make_bundle().to_json(), headers=headers)
    read = site.client.get(f"/api/v1/uploads/{'1' * 32}", headers=headers)

    for answer in (posted, read):
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert "token" in answer.json()["detail"]
        assert TOKEN[12:] not in answer.text
    assert stored(site) == 0


def test_a_revoked_token_is_none(site, make_bundle):
    revoke_token(site.engine, "pl_0123abcd", now=datetime(2026, 11, 21, tzinfo=UTC))

    assert site.upload(make_bundle()).status_code == 401


def test_another_projects_token_does_not_help(site, make_bundle):
    answer = site.upload(make_bundle(), token=OTHER_TOKEN)

    assert answer.status_code == 403
    assert "the token is for octo/other" in answer.json()["detail"]
    assert stored(site) == 0


def test_another_projects_uploads_are_not_found(site, make_bundle):
    upload = site.upload(make_bundle()).json()
    foreign = site.get(f"/api/v1/uploads/{upload['id']}", token=OTHER_TOKEN)
    unknown = site.get(f"/api/v1/uploads/{'f' * 32}", token=OTHER_TOKEN)

    assert foreign.status_code == unknown.status_code == 404
    assert foreign.text.replace(upload["id"], "f" * 32) == unknown.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"format": "perfledger-bundle", "version": 99}',
        b'{"format": "perfledger-bundle", "version": NaN}',
        b"[" * 100_000,
        b"\x1f\x8b damaged",
        b"\x00" * 100,
    ],
)
def test_what_is_no_bundle_is_refused_with_a_reason(site, body):
    answer = site.upload(body)

    assert answer.status_code == 400
    assert len(answer.json()["detail"]) > 10
    assert stored(site) == 0


def test_hostile_names_are_kept_as_names(site, make_bundle):
    names = ("../../etc/passwd", "/etc/passwd", "a" * 300, "<script>alert(1)</script>", "x\ty")
    answer = site.upload(make_bundle(workloads=names))

    assert answer.status_code == 202


@pytest.mark.parametrize("name", ["a" * 4096, "nul\x00", "half\ud800"])
def test_names_that_cannot_be_kept_are_refused(site, make_bundle, name):
    body = make_bundle(workloads=(name,)).to_json()

    assert site.upload(body).status_code == 400


@pytest.mark.parametrize(
    "path", ["/api/v1/uploads/..%2f..%2fetc", "/api/v1/uploads/x", "/api/v1/uploads/%00"]
)
def test_an_id_that_cannot_be_is_not_found(site, path):
    answer = site.get(path, token=TOKEN)

    assert answer.status_code == 404
    assert "detail" in answer.json()


@pytest.fixture
def limited_site(engine, start_site):
    """The application, where a project may upload two bundles in an hour and have four series."""
    for repository, token in (("octo/models", TOKEN), ("octo/other", OTHER_TOKEN)):
        add_project(engine, repository, token=token, now=NOW)
    with start_site(engine, quota=UploadQuota(uploads=2, series=4)) as site:
        yield site


def test_a_project_has_only_so_many_series(limited_site, make_bundle):
    # Step time and memory of two workloads.
    for names, status in (("ab", 202), ("abc", 429), ("a", 202)):
        seed = len(limited_site.jobs.works)
        bundle = make_bundle(seed=seed, workloads=tuple(f"{one}:f" for one in names))
        answer = limited_site.upload(bundle)
        assert answer.status_code == status
        if status == 202:
            limited_site.judge(answer.json()["id"])
        else:
            detail = answer.json()["detail"]
            assert "octo/models would have more than 4 series" in detail
            assert "use the same names for every commit, or remove imported series" in detail


def test_a_project_uploads_only_so_many_bundles_in_an_hour(limited_site, make_bundle):
    answers = [limited_site.upload(make_bundle(seed=seed)) for seed in (1, 2, 3)]

    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert "octo/models uploaded 2 bundles within an hour" in answers[-1].json()["detail"]
    again = limited_site.upload(make_bundle(seed=1))
    assert (again.status_code, again.json()["id"]) == (202, answers[0].json()["id"])
    other = make_bundle(seed=3, repository="octo/other")
    assert limited_site.upload(other, token=OTHER_TOKEN).status_code == 202
