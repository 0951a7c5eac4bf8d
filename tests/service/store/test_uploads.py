import gzip
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlmodel import select

from perfledger.records import Failure, FailureReason, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.page_queries import (
    index_view,
    pull_request_view,
    series_view,
    upload_view,
)
from perfledger_service.store.tables import BundleRow, EnvironmentRow, UploadRow
from perfledger_service.store.uploads import (
    bundle_content,
    set_status,
    unfinished_uploads,
    upload_by_id,
    verdicts_of,
)
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.values.upload_views import UploadStatus


def test_verdicts_come_back_as_they_were_said(any_engine, judged, make_bundle):
    failure = Failure(
        workload="gpt:other", side=Side.HEAD, why=FailureReason.RAISED, detail="boom", log_tail="x"
    )
    bundle = make_bundle(failures=(failure,))
    upload = judged(any_engine, bundle)

    with read_session(any_engine) as session:
        stored = verdicts_of(session, upload.id)

    report = build_report(bundle, today=upload.judged_at.date(), is_local=False)
    assert stored == report.verdicts
    assert {verdict.outcome for verdict in stored} >= {Outcome.REGRESSED, Outcome.NOT_MEASURED}
    assert upload.headline == report.headline
    assert upload.conclusion == "failure"


def test_a_bundle_and_a_machine_are_stored_once(any_engine, received, make_bundle):
    received(any_engine, make_bundle(), upload_id="1" * 32)
    received(any_engine, make_bundle(), upload_id="2" * 32)
    received(any_engine, make_bundle(seed=1), upload_id="3" * 32)

    with read_session(any_engine) as session:
        assert {row.id for row in session.exec(select(UploadRow))} == {"1" * 32, "3" * 32}
        assert len(session.exec(select(BundleRow.sha256)).all()) == 2
        assert len(session.exec(select(EnvironmentRow)).all()) == 1


def test_a_bundle_comes_back_as_it_came(any_engine, received, make_bundle):
    bundle = make_bundle()
    upload = received(any_engine, bundle)

    with read_session(any_engine) as session:
        content = bundle_content(session, upload.bundle_sha256)

    assert gzip.decompress(content) == bundle.to_json().encode()


def test_unfinished_is_what_was_received_and_what_was_judged_and_not_said(
    engine, judged, received, make_bundle
):
    received(engine, make_bundle(), upload_id="1" * 32)
    judged(engine, make_bundle(seed=1), upload_id="2" * 32)
    judged(engine, make_bundle(seed=2, pull_request=None), upload_id="3" * 32)
    judged(engine, make_bundle(seed=3), upload_id="4" * 32)
    with write_session(engine) as session:
        set_status(session, "4" * 32, UploadStatus.POSTED)
        session.commit()

    with read_session(engine) as session:
        ids = [upload.id for upload in unfinished_uploads(session)]

    assert ids == ["1" * 32, "2" * 32]


def test_an_unknown_upload_is_not_found(engine):
    with read_session(engine) as session:
        for find in (upload_by_id, upload_view):
            with pytest.raises(NotFoundError, match="no upload 'nothing'"):
                find(session, "nothing")


def test_a_pull_request_shows_its_uploads_newest_first(any_engine, judged, make_bundle):
    now = judged(any_engine, make_bundle(), upload_id="1" * 32).created_at
    later = now + timedelta(hours=1)
    judged(any_engine, make_bundle(seed=1), upload_id="2" * 32, now=later)
    judged(any_engine, make_bundle(seed=2, pull_request=8), upload_id="3" * 32)

    with read_session(any_engine) as session:
        view = pull_request_view(session, "OCTO/Models", 7)

    assert (view.repository, view.number) == ("octo/models", 7)
    assert [upload.id for upload in view.uploads] == ["2" * 32, "1" * 32]
    assert view.uploads[0].created_at == later


def test_a_verdict_leads_to_its_series(any_engine, judged, make_bundle):
    upload = judged(any_engine, make_bundle())

    with read_session(any_engine) as session:
        for verdict in upload_view(session, upload.id).verdicts:
            assert verdict.series_id is not None
            series = series_view(session, verdict.series_id)
            assert (series.workload, series.metric) == (verdict.workload, verdict.metric)


def test_a_pull_request_nobody_measured_is_not_found(engine, judged, make_bundle):
    judged(engine, make_bundle())

    with read_session(engine) as session:
        with pytest.raises(NotFoundError, match="nothing was uploaded for octo/models#8"):
            pull_request_view(session, "octo/models", 8)
        with pytest.raises(NotFoundError, match="is not a project"):
            pull_request_view(session, "octo/unknown", 7)


def test_the_index_shows_uploads_and_series_with_their_newest_value(
    any_engine, judged, make_bundle
):
    judged(any_engine, make_bundle(ratio=1.5))

    with read_session(any_engine) as session:
        view = index_view(session)

    assert view.repositories == ("octo/models",)
    assert [upload.status for upload in view.uploads] == [UploadStatus.JUDGED]
    by_metric = {series.metric: series for series in view.series}
    assert by_metric["step_time_p50"].points == 2
    assert by_metric["step_time_p50"].last == pytest.approx(0.015, rel=1e-3)


@pytest.mark.parametrize("status", [UploadStatus.REFUSED, UploadStatus.FAILED])
def test_what_was_refused_is_no_part_of_a_series(engine, judged, make_bundle, status):
    upload = judged(engine, make_bundle())
    with write_session(engine) as session:
        set_status(session, upload.id, status, reason="moved on")
        session.commit()

    with read_session(engine) as session:
        assert index_view(session).series == ()
        assert series_view(session, 1).points == ()
        assert upload_view(session, upload.id).reason == "moved on"


def test_an_unknown_series_is_not_found(engine):
    with read_session(engine) as session, pytest.raises(NotFoundError, match="no series 12"):
        series_view(session, 12)


def test_a_second_project_does_not_see_the_first_ones_uploads(engine, judged, make_bundle):
    first = judged(engine, make_bundle())
    other = replace(make_bundle(), repository="octo/other")
    second = judged(engine, other, upload_id="2" * 32, token="pl_4567cdef_" + "t" * 43)

    with read_session(engine) as session:
        views = [pull_request_view(session, name, 7) for name in ("octo/models", "octo/other")]

    assert [[one.id for one in view.uploads] for view in views] == [[first.id], [second.id]]
