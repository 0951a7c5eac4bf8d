"""What is let in, and what becomes of it before it is said."""

import gzip
from dataclasses import replace

import pytest
from sqlmodel import select

from perfledger.bundle import Plan
from perfledger.records import Revision
from perfledger_service.errors import NotFoundError, RefusedError, UsageError
from perfledger_service.store.database import read_session
from perfledger_service.store.tables import ObservationRow, UploadRow, VerdictRow
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.server.project import project_of_name
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import (
    fail_upload,
    judge_upload,
    receive_bundle,
    unfinished_work,
    work_on,
)
from perfledger_service.values.upload_views import UploadStatus


def rows(engine, table):
    with read_session(engine) as session:
        return len(session.exec(select(table)).all())


@pytest.mark.parametrize("times", [1, 5])
def test_the_same_bundle_is_one_upload_however_often_it_comes(engine, received, make_bundle, times):
    ids = {
        received(engine, make_bundle(), upload_id=f"{number:032x}").id for number in range(times)
    }

    assert len(ids) == 1
    assert rows(engine, UploadRow) == 1


def test_gzipped_and_plain_are_the_same_bundle(engine, received, make_bundle):
    first = received(engine, make_bundle())
    project = project_of_name(engine, "octo/models")
    data = gzip.compress(make_bundle().to_json().encode(), compresslevel=1)
    second = receive_bundle(engine, data, project=project, upload_id="2" * 32, now=first.created_at)

    assert second == first


def test_what_will_judge_a_bundle_is_told_of_it_once(engine, received, make_bundle, now):
    first = received(engine, make_bundle())
    project = project_of_name(engine, "octo/models")
    calls = []

    class RecordingReports(UploadReports):
        def expect(self, bundle, *, sha256, unpacked_bytes):
            calls.append((bundle, sha256, unpacked_bytes))

    data = make_bundle(seed=1).to_json().encode()

    def receive():
        return receive_bundle(
            engine,
            data,
            project=project,
            upload_id="2" * 32,
            now=now,
            reports=RecordingReports(build_report),
        )

    second = receive()

    assert receive() == second
    assert second != first
    assert calls == [(make_bundle(seed=1), second.bundle_sha256, len(data))]


@pytest.mark.parametrize("repository", ["octo/other", "octo/models2", ""])
def test_a_bundle_of_another_repository_is_refused(engine, received, make_bundle, repository):
    received(engine, make_bundle())
    bundle = replace(make_bundle(seed=1), repository=repository)
    with pytest.raises(RefusedError, match="the token is for octo/models") as caught:
        received(engine, bundle, upload_id="2" * 32)

    assert caught.value.status == 403
    assert rows(engine, UploadRow) == 1


def test_case_does_not_make_another_repository(engine, received, make_bundle):
    received(engine, make_bundle())
    upload = received(
        engine, replace(make_bundle(seed=1), repository="Octo/MODELS"), upload_id="2" * 32
    )

    assert upload.repository == "octo/models"


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"base": Revision(sha="b" * 40)}, "are the same commit, b+: upload it without"),
        ({"pull_request": 2**31}, "pull request #2147483648 cannot exist"),
        ({"head": Revision(sha="HEAD")}, "head.sha: not 40 hex digits"),
    ],
)
def test_claims_that_cannot_be_are_refused(engine, received, make_bundle, values, complaint):
    with pytest.raises(UsageError, match=complaint):
        received(engine, make_bundle(**values))

    assert rows(engine, UploadRow) == 0


def test_judging_twice_stores_once(engine, judged, make_bundle):
    upload = judged(engine, make_bundle())
    before = rows(engine, VerdictRow), rows(engine, ObservationRow)
    again = judge_upload(
        engine, upload.id, reports=UploadReports(build_report), now=upload.created_at
    )

    assert again
    assert (rows(engine, VerdictRow), rows(engine, ObservationRow)) == before


def test_a_crash_while_judging_leaves_nothing_behind(engine, received, make_bundle):
    upload = received(engine, make_bundle())

    def dying(bundle, *, today, is_local, priors, approvals=()):
        raise KeyboardInterrupt(bundle, today, is_local, priors, approvals)

    with pytest.raises(KeyboardInterrupt):
        judge_upload(engine, upload.id, reports=UploadReports(dying), now=upload.created_at)

    assert rows(engine, VerdictRow) == 0
    assert [work.upload_id for work in unfinished_work(engine)] == [upload.id]


def test_a_check_without_a_pull_request_is_judged_and_not_said(engine, received, make_bundle):
    upload = received(engine, make_bundle(pull_request=None))

    assert not judge_upload(
        engine, upload.id, reports=UploadReports(build_report), now=upload.created_at
    )
    assert rows(engine, VerdictRow) == 2


def test_a_plan_that_nothing_can_be_judged_by_is_said_so(engine, received, make_bundle):
    upload = received(engine, make_bundle(plan=Plan(seed=1, order=(), looks=(), alpha=0.7)))

    with pytest.raises(UsageError, match=r"alpha 0\.7 is not an error rate"):
        judge_upload(engine, upload.id, reports=UploadReports(build_report), now=upload.created_at)


def test_a_failure_keeps_its_reason(engine, received, make_bundle):
    upload = received(engine, make_bundle())
    fail_upload(engine, upload.id, "the disk is full")

    with read_session(engine) as session:
        failed = upload_by_id(session, upload.id)
        with pytest.raises(NotFoundError, match="failed: the disk is full"):
            UploadReports(build_report).report(session, failed)
    assert failed.status is UploadStatus.FAILED


def test_works_of_one_pull_request_share_a_partition(engine, received, make_bundle):
    seven = received(engine, make_bundle(), upload_id="1" * 32)
    again = received(engine, make_bundle(seed=1), upload_id="2" * 32)
    other = received(engine, make_bundle(seed=2, pull_request=8), upload_id="3" * 32)
    none = received(engine, make_bundle(seed=3, pull_request=None), upload_id="4" * 32)

    assert [work_on(one).partition for one in (seven, again, other, none)] == [
        "1#7",
        "1#7",
        "1#8",
        f"1#{'b' * 40}",
    ]
