from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import select

from perfledger.records import Revision
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.page_queries import (
    NEWEST_UPLOADS,
    WORKLOADS_PER_PAGE,
    index_view,
    pull_request_view,
    pull_requests_view,
    series_view,
    upload_counts,
    upload_view,
    with_verdicts,
    workload_view,
    workloads_view,
)
from perfledger_service.store.tables import BundleRow, UploadRow
from perfledger_service.store.uploads import set_status, verdicts_of
from perfledger_service.values.upload_views import UploadStatus

SERIES: dict[str, Any] = {
    "project_id": 1,
    "metric": "step_time_p50",
    "unit": "s",
    "worse": "higher",
    "machine_class": "cpu:Test CPU:1",
    "sample_type": "f4",
}


def test_an_unknown_upload_is_not_found(engine):
    with read_session(engine) as session, pytest.raises(NotFoundError, match="no upload 'nothing'"):
        upload_view(session, "nothing")


def test_a_pull_request_shows_its_uploads_newest_first(any_engine, judged, make_bundle):
    now = judged(any_engine, make_bundle(), upload_id="1" * 32).created_at
    later = now + timedelta(hours=1)
    judged(any_engine, make_bundle(seed=1), upload_id="2" * 32, now=later)
    judged(any_engine, make_bundle(seed=2, pull_request=8), upload_id="3" * 32)

    with read_session(any_engine) as session:
        view = pull_request_view(session, "OCTO/Models", 7, now=now)

    assert (view.repository, view.number) == ("octo/models", 7)
    assert [upload.id for upload in view.uploads] == ["2" * 32, "1" * 32]


def test_a_verdict_leads_to_its_series(any_engine, judged, make_bundle):
    upload = judged(any_engine, make_bundle())

    with read_session(any_engine) as session:
        for verdict in with_verdicts(session, upload_view(session, upload.id)).verdicts:
            assert verdict.series_id is not None
            series = series_view(session, verdict.series_id)
            assert (series.workload, series.metric) == (verdict.workload, verdict.metric)


@pytest.mark.parametrize(("ratio", "outcome"), [(1.0, "unchanged"), (1.5, "regressed")])
def test_a_verdict_is_shown_with_the_interval_that_decided_it(
    engine, judged, make_bundle, ratio, outcome
):
    upload = judged(engine, make_bundle(ratio=ratio, pairs=10))

    with read_session(engine) as session:
        verdict = with_verdicts(session, upload_view(session, upload.id)).verdicts[0]
        stored = verdicts_of(session, upload.id)[0].shown_estimate
    assert verdict.outcome == outcome
    assert (verdict.low, verdict.high) == (stored.low, stored.high)


def test_a_pull_request_shows_the_classes_that_are_missing(any_engine, judged, make_bundle, now):
    plan = replace(make_bundle().plan, machine_classes=("cpu:*:1", "tpu:*:4"))
    judged(any_engine, make_bundle(plan=plan))

    for hours, is_overdue in ((0, False), (6, True)):
        with read_session(any_engine) as session:
            moment = now + timedelta(hours=hours)
            view = pull_request_view(session, "octo/models", 7, now=moment)
        [missing] = view.missing_classes
        assert (missing.machine_class, missing.is_overdue) == ("tpu:*:4", is_overdue)


def test_a_pull_request_nobody_measured_is_not_found(engine, judged, make_bundle, now):
    judged(engine, make_bundle())

    with read_session(engine) as session:
        with pytest.raises(NotFoundError, match="nothing was uploaded for octo/models#8"):
            pull_request_view(session, "octo/models", 8, now=now)
        with pytest.raises(NotFoundError, match="is not a project"):
            pull_request_view(session, "octo/unknown", 7, now=now)


def test_the_index_shows_uploads_and_workloads_have_their_newest_value(
    any_engine, judged, make_bundle
):
    judged(any_engine, make_bundle(ratio=1.5))

    with read_session(any_engine) as session:
        view = index_view(session)
        by_metric = series_by_metric(session)

    assert view.repositories == ("octo/models",)
    assert [upload.status for upload in view.uploads] == [UploadStatus.JUDGED]
    assert by_metric["step_time_p50"].points == 2
    assert by_metric["step_time_p50"].last == pytest.approx(0.015, rel=1e-3)


@pytest.mark.parametrize("status", [UploadStatus.REFUSED, UploadStatus.FAILED])
def test_what_was_refused_is_no_part_of_a_series(engine, judged, make_bundle, status):
    upload = judged(engine, make_bundle())
    with write_session(engine) as session:
        set_status(session, upload.id, status, reason="moved on")
        session.commit()

    with read_session(engine) as session:
        assert workloads_view(session, "octo/models").series == ()
        assert series_view(session, 1).points == ()
        assert upload_view(session, upload.id).reason == "moved on"


def test_an_unknown_series_is_not_found(engine):
    with read_session(engine) as session, pytest.raises(NotFoundError, match="no series 12"):
        series_view(session, 12)


def test_a_second_project_does_not_see_the_first_ones_uploads(engine, judged, make_bundle, now):
    first = judged(engine, make_bundle())
    other = replace(make_bundle(), repository="octo/other")
    second = judged(engine, other, upload_id="2" * 32, token="pl_4567cdef_" + "t" * 43)

    with read_session(engine) as session:
        views = [
            pull_request_view(session, name, 7, now=now) for name in ("octo/models", "octo/other")
        ]

    assert [[one.id for one in view.uploads] for view in views] == [[first.id], [second.id]]


def test_pages_never_read_samples(engine, judged, make_bundle, record_statements):
    judged(engine, make_bundle())
    statements = record_statements(engine)

    with read_session(engine) as session:
        series_view(session, 1)

    assert statements
    assert not any("samples" in statement for statement, _ in statements)


def test_uploads_are_counted_by_their_status_with_the_newest_of_each(
    any_engine, judged, received, make_bundle, now
):
    judged(any_engine, make_bundle(), upload_id="1" * 32)
    received(any_engine, make_bundle(seed=1), upload_id="2" * 32)
    received(any_engine, make_bundle(seed=2), upload_id="3" * 32, now=now + timedelta(hours=1))

    with read_session(any_engine) as session:
        counts = upload_counts(session)

    assert counts == (
        (UploadStatus.JUDGED, 1, now),
        (UploadStatus.RECEIVED, 2, now + timedelta(hours=1)),
    )


def test_the_index_says_how_many_uploads_are_not_on_it(engine, received, make_bundle):
    received(engine, make_bundle())
    with write_session(engine) as session:
        first = session.exec(select(UploadRow)).one().model_dump()
        for number in range(NEWEST_UPLOADS + 1):
            session.add(BundleRow(sha256=str(number), unpacked_bytes=0, content=b""))
            session.add(UploadRow(**first | {"id": str(number), "bundle_sha256": str(number)}))
        session.commit()

    with read_session(engine) as session:
        view = index_view(session)

    assert (view.uploads_left_out, len(view.uploads)) == (2, NEWEST_UPLOADS)


def test_points_stand_in_the_order_of_the_branch_with_their_distances(engine, judged, make_bundle):
    for number, (base, head, pull_request) in enumerate(
        ((20, 23, None), (10, 50, 7), (15, 16, None))
    ):
        bundle = make_bundle(
            seed=number,
            base=Revision(sha=f"{base:040x}", depth=base),
            head=Revision(sha=f"{head:040x}", depth=head),
            pull_request=pull_request,
        )
        judged(engine, bundle, upload_id=f"{number:032x}", trust_runners=True)

    with read_session(engine) as session:
        points = series_view(session, 1).points

    assert [(int(point.sha, 16), point.distance) for point in points] == [
        (10, 0),
        (50, None),
        (15, 5),
        (16, 1),
        (20, 4),
        (23, 3),
    ]


def test_a_claim_that_nobody_attests_is_shown_as_such(engine, judged, make_bundle):
    judged(engine, make_bundle(pull_request=None))

    with read_session(engine) as session:
        points = series_view(session, 1).points

    assert [(point.distance, point.is_unattested) for point in points] == [(None, True)] * 2


def test_what_people_see_is_when_a_bundle_was_measured_and_not_when_it_arrived(
    any_engine, judged, make_bundle
):
    upload = judged(any_engine, make_bundle(created_at="2026-11-01T08:00:00+00:00"))

    with read_session(any_engine) as session:
        view = with_verdicts(session, upload_view(session, upload.id))
        [point, *_] = series_view(session, 1).points

    assert view.created_at == point.created_at == datetime(2026, 11, 1, 8, tzinfo=UTC)


def test_a_run_that_is_not_believed_is_shown_and_is_no_newest_value(
    any_engine, judged_on_branch, make_bundle, mark_untrusted, now
):
    judged_on_branch(any_engine, make_bundle(ratio=1.0), upload_id="1" * 32)
    later = now + timedelta(hours=1)
    other = make_bundle(ratio=1.5, seed=1)
    mark_untrusted(any_engine, judged_on_branch(any_engine, other, upload_id="2" * 32, now=later))

    with read_session(any_engine) as session:
        by_metric = series_by_metric(session)
        points = series_view(session, 1).points

    assert by_metric["step_time_p50"].last == pytest.approx(0.01, rel=1e-3)
    assert by_metric["step_time_p50"].points == len(points) == 4
    assert sorted(point.is_unattested for point in points) == [False, False, True, True]


def series_by_metric(session):
    """Return the series of the first workload by their metric."""
    return {series.metric: series for series in workloads_view(session, "octo/models").series}


def test_workloads_have_pages_and_a_filter(any_engine, judged, make_bundle):
    names = tuple(f"gpt:step_{number:02}" for number in range(WORKLOADS_PER_PAGE + 2))
    judged(any_engine, make_bundle(workloads=names))

    with read_session(any_engine) as session:
        first, second = (workloads_view(session, "octo/models", page=page) for page in (1, 2))
        filtered = workloads_view(session, "octo/models", text="p_03")
        literal = workloads_view(session, "octo/models", text="step%03")

    assert {one.workload for one in first.series} == set(names[:WORKLOADS_PER_PAGE])
    assert {one.workload for one in second.series} == set(names[WORKLOADS_PER_PAGE:])
    assert first.workloads == second.workloads == len(names)
    assert {one.workload for one in filtered.series} == {"gpt:step_03"}
    assert literal.series == ()


def test_a_workload_without_measurements_is_not_found(engine, judged, make_bundle):
    judged(engine, make_bundle())

    with read_session(engine) as session:
        assert workload_view(session, "octo/models", "gpt:step").series
        with pytest.raises(NotFoundError, match="no workload 'gpt:other' was measured"):
            workload_view(session, "octo/models", "gpt:other")


def test_pull_requests_are_listed_with_their_newest_head(any_engine, judged, make_bundle, now):
    for number, head in ((7, "b"), (7, "c"), (8, "d")):
        judged(
            any_engine,
            make_bundle(seed=ord(head), pull_request=number, head=Revision(sha=head * 40)),
            upload_id=head * 32,
            now=now + timedelta(minutes=ord(head)),
        )

    with read_session(any_engine) as session:
        view = pull_requests_view(session, "octo/models")
        beyond = pull_requests_view(session, "octo/models", page=2)

    assert {(one.pull_request, one.head_sha[0]) for one in view.uploads} == {(7, "c"), (8, "d")}
    assert view.pull_requests == 2
    assert beyond == view


@pytest.mark.slow(ci_only=True)
def test_lists_take_as_many_queries_however_long_they_are(engine, judged, make_bundle):
    statements: list[str] = []

    def note(*of: Any) -> None:
        statements.append(of[2])

    def queries() -> int:
        statements.clear()
        event.listen(engine, "before_cursor_execute", note)
        with read_session(engine) as session:
            workloads_view(session, "octo/models")
            pull_requests_view(session, "octo/models")
        event.remove(engine, "before_cursor_execute", note)
        return len(statements)

    judged(engine, make_bundle())
    few = queries()
    names = tuple(f"gpt:step_{number}" for number in range(6))
    judged(engine, make_bundle(seed=1, workloads=names, pull_request=9), upload_id="9" * 32)

    assert queries() == few
