"""The report of an upload: built once, reused where it is posted and shown."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from perfledger_cost_models.change_price.cost_policy import Approval
from perfledger_service.errors import NotFoundError
from perfledger_service.store.comments.approvals import add_approval
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.comment_and_check import post_report
from perfledger_service.usecases.uploads.reports import (
    MAX_BUNDLE_BYTES,
    MAX_REPORTS,
    UploadReports,
)
from perfledger_service.usecases.uploads.uploads import judge_upload
from perfledger_service.values.report import Conclusion


class CountingBuilder:
    """Builds reports as the service does, and keeps the bundles' ids."""

    def __init__(self):
        self.built = []

    def __call__(self, bundle, **values):
        self.built.append(bundle.id)
        return build_report(bundle, **values)


def report_on(engine, upload, reports, **values):
    with read_session(engine) as session:
        return reports.report(session, upload, **values)[0]


def approve(engine, upload, now, until):
    approval = Approval(
        login="alice",
        is_author=False,
        usd_per_year=Decimal(1),
        covers_unpriced=True,
        reason="worth it",
        approved_at=now,
        until=until,
    )
    with write_session(engine) as session:
        add_approval(session, upload, approval, comment_id=1)
        session.commit()


def test_a_bundle_that_is_asked_for_again_is_not_read_again(engine, received, make_bundle):
    bundles = [make_bundle(seed=seed) for seed in (1, 2)]
    first, second = (
        received(engine, bundle, upload_id=digit * 32)
        for bundle, digit in zip(bundles, "12", strict=True)
    )
    reports = UploadReports(build_report)

    with read_session(engine) as session:
        answers = [reports.bundle(session, one) for one in (first, second, first)]

    assert answers[:2] == bundles
    assert answers[2] is answers[0]


def test_a_delivery_is_built_once_and_posted_and_shown_from_that(
    engine, received, make_bundle, at_github, github
):
    at_github.open_pull()
    upload = received(engine, make_bundle(ratio=1.2))
    now = upload.created_at
    build = CountingBuilder()
    reports = UploadReports(build)

    judge_upload(engine, upload.id, reports=reports, now=now)
    post_report(
        engine,
        upload.id,
        pull_requests=github,
        reports=reports,
        public_url="https://perf.example",
        now=now,
    )
    with read_session(engine) as session:
        report = report_on(engine, upload_by_id(session, upload.id), reports, today=now.date())

    assert len(build.built) == 1
    assert report.conclusion is Conclusion.FAILURE
    assert len(at_github.comments) == 1


@pytest.mark.parametrize(
    ("unpacked_bytes", "later", "is_read_again"),
    [
        pytest.param(MAX_BUNDLE_BYTES, 0, False, id="kept"),
        pytest.param(MAX_BUNDLE_BYTES + 1, 0, True, id="too large to keep"),
        pytest.param(MAX_BUNDLE_BYTES - 2000, 2, False, id="kept with later ones"),
        pytest.param(MAX_BUNDLE_BYTES - 2000, 3, True, id="pushed out by later ones"),
    ],
)
def test_a_bundle_just_received_is_judged_without_a_second_reading(
    engine, received, make_bundle, *, unpacked_bytes, later, is_read_again
):
    upload, expected = received(engine, make_bundle()), make_bundle()
    built = []

    def build(bundle, **values):
        built.append(bundle)
        return build_report(bundle, **values)

    reports = UploadReports(build)
    reports.expect(expected, sha256=upload.bundle_sha256, unpacked_bytes=unpacked_bytes)
    for number in range(later):
        reports.expect(make_bundle(seed=number), sha256=f"{number:064x}", unpacked_bytes=1000)
    judge_upload(engine, upload.id, reports=reports, now=upload.created_at)

    assert built == [expected]
    assert (built[0] is not expected) == is_read_again


def test_a_report_that_is_built_again_is_the_same(engine, received, make_bundle, now):
    upload = received(engine, make_bundle(ratio=1.2))
    reports = UploadReports(build_report)
    judge_upload(engine, upload.id, reports=reports, now=now)
    with read_session(engine) as session:
        upload = upload_by_id(session, upload.id)

    again = report_on(engine, upload, UploadReports(build_report))

    assert again == report_on(engine, upload, reports)


def test_an_approval_in_force_and_one_that_is_over_are_reports_of_their_own(
    engine, judged, make_bundle, now
):
    upload = judged(engine, make_bundle(ratio=1.2))
    build = CountingBuilder()
    reports = UploadReports(build)
    report_on(engine, upload, reports, today=now.date())
    approve(engine, upload, now, until=now.date())

    for day in (now.date(), now.date(), now.date() + timedelta(days=1)):
        report_on(engine, upload, reports, today=day)

    assert len(build.built) == 3


@pytest.mark.slow(ci_only=True)
def test_the_oldest_report_is_forgotten_first(engine, judged, make_bundle):
    uploads = [
        judged(engine, make_bundle(seed=seed), upload_id=f"{seed:032x}")
        for seed in range(MAX_REPORTS + 1)
    ]
    build = CountingBuilder()
    reports = UploadReports(build)
    for upload in uploads:
        report_on(engine, upload, reports)

    report_on(engine, uploads[-1], reports)
    report_on(engine, uploads[0], reports)

    assert len(build.built) == len(uploads) + 1


def test_large_reports_are_forgotten_before_there_are_many_and_the_newest_is_kept(
    engine, judged, make_bundle, monkeypatch
):
    monkeypatch.setattr("perfledger_service.usecases.uploads.reports.MAX_BUNDLE_BYTES", 1)
    uploads = [
        judged(engine, make_bundle(seed=seed), upload_id=f"{seed:032x}") for seed in range(2)
    ]
    build = CountingBuilder()
    reports = UploadReports(build)

    for number in (0, 0, 1, 1, 0):
        report_on(engine, uploads[number], reports)

    assert build.built == [make_bundle(seed=seed).id for seed in (0, 1, 0)]


def test_the_report_on_what_is_not_judged_says_to_wait(engine, received, make_bundle):
    upload = received(engine, make_bundle())

    with (
        read_session(engine) as session,
        pytest.raises(NotFoundError, match=r"not judged yet \(received\): reload"),
    ):
        UploadReports(build_report).report(session, upload)


def test_an_approval_never_takes_a_failure_back(engine, judged, make_bundle, now):
    upload = judged(engine, make_bundle(ratio=1.2))
    approve(engine, upload, now, until=now.date())

    def milder(bundle, **changes):
        """Judge as a later version might that finds less."""
        return replace(build_report(bundle, **changes), conclusion=Conclusion.SUCCESS)

    with read_session(engine) as session:
        report, _ = UploadReports(milder).report(session, upload, today=now.date())

    assert report.conclusion is Conclusion.FAILURE
