"""Tests the API's reads over real HTTP: pages, cursors, ETags, and whose rows are returned."""

import base64
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert
from sqlmodel import col, func, select

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.removals.tables import RemovalRow
from perfledger_service.store.tables import ObservationRow, RevisionRow, SeriesRow
from perfledger_service.values.storage.retention import UploadPart
from tests.cases import case

TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
LISTS = ("/api/v1/series", "/api/v1/runs", "/api/v1/verdicts", "/api/v1/series/1/points")
RUN = "1" * 32


@pytest.fixture
def measured(site, judged, make_bundle):
    """A site on which octo/models has two runs, and octo/other has none."""
    judged(site.engine, make_bundle(pairs=4), upload_id=RUN)
    judged(site.engine, make_bundle(pairs=4, seed=1, pull_request=8), upload_id="2" * 32)
    return site


def read(site, path, **headers):
    return site.client.get(path, headers={"Authorization": f"Bearer {TOKEN}", **headers})


def all_items(site, path):
    """Return the items of all pages of a list."""
    items = []
    while path is not None:
        answer = read(site, path).json()
        items += answer["items"]
        path = answer["next"]
    return items


def test_series_have_their_unit_and_direction(measured):
    answer = read(measured, "/api/v1/series").json()

    assert (answer["repository"], answer["next"]) == ("octo/models", None)
    metrics = {(one["metric"], one["unit"], one["worse"]) for one in answer["items"]}
    assert metrics == {(one.name, one.unit, one.worse) for one in (STEP_TIME, PEAK_MEMORY)}
    [memory] = read(measured, f"/api/v1/series?metric={PEAK_MEMORY.name}").json()["items"]
    assert memory["machine_class"] == "cpu:Test CPU:1"
    for query in ("workload=other", "machine_class=other", "on_branch=true"):
        assert read(measured, f"/api/v1/series?{query}").json()["items"] == []


def test_points_are_of_commits_and_runs_in_the_series_unit(measured):
    answer = read(measured, "/api/v1/series/1/points").json()

    assert answer["series"]["unit"] == "s"
    assert [one["side"] for one in answer["items"]] == ["base", "base", "head", "head"]
    first = answer["items"][0]
    assert first["low"] <= first["center"] <= first["high"]
    assert (first["run_id"], first["measured_at"]) == (RUN, "2026-11-20T11:00:00Z")
    assert (first["branch_place"], first["committed_at"]) == (None, None)


def test_points_of_the_branch_have_their_place(engine, start_site, judged_on_branch, make_bundle):
    judged_on_branch(engine, make_bundle(pairs=4, pull_request=None))

    with start_site(engine) as site:
        points = read(site, "/api/v1/series/1/points?on_branch=true").json()["items"]
        series = read(site, "/api/v1/series?on_branch=true").json()["items"]

    places = [one["branch_place"] for one in points]
    assert [one["side"] for one in points] == ["base", "head"]
    assert places[1] == places[0] + 1
    assert all(one["is_attested"] for one in points)
    assert len(series) == 2


def test_a_run_has_its_verdicts(measured):
    answer = read(measured, f"/api/v1/runs/{RUN}").json()

    assert (answer["run"]["conclusion"], answer["run"]["status"]) == ("failure", "judged")
    verdicts = {one["metric"]: one for one in answer["verdicts"]}
    slower = verdicts[STEP_TIME.name]
    assert (slower["outcome"], slower["unit"], slower["worse"]) == ("regressed", "s", "higher")
    assert slower["change"] == pytest.approx(0.2, abs=0.01)


def test_a_run_says_what_retention_removed_of_it(measured):
    removed_at = datetime(2026, 11, 20, tzinfo=UTC)
    with write_session(measured.engine) as session:
        session.add(
            RemovalRow(upload_id=RUN, part=UploadPart.RESULTS, removed_at=removed_at, kept_days=90)
        )
        session.commit()

    answers = [read(measured, f"/api/v1/runs/{each * 32}").json() for each in "12"]

    assert [answer["removals"] for answer in answers] == [
        [{"part": "results", "removed_at": "2026-11-20T00:00:00Z", "kept_days": 90}],
        [],
    ]


def test_runs_and_verdicts_are_found_by_what_they_are_of(measured):
    assert len(read(measured, "/api/v1/runs").json()["items"]) == 2
    assert [one["id"] for one in read(measured, "/api/v1/runs?pull_request=7").json()["items"]] == [
        RUN
    ]
    assert len(read(measured, f"/api/v1/runs?sha={'b' * 40}&status=judged").json()["items"]) == 2
    assert read(measured, f"/api/v1/runs?sha={'c' * 40}").json()["items"] == []
    assert read(measured, "/api/v1/runs?machine_class=other").json()["items"] == []
    worse = read(measured, "/api/v1/verdicts?pull_request=8&outcome=regressed").json()["items"]
    assert [(one["run_id"], one["metric"]) for one in worse] == [("2" * 32, STEP_TIME.name)]
    assert read(measured, "/api/v1/verdicts?workload=other").json()["items"] == []


def test_what_was_not_measured_is_null_and_has_its_reason(site, judged, make_bundle):
    bundle = make_bundle(pairs=0)
    judged(site.engine, bundle)

    verdicts = read(site, "/api/v1/verdicts?outcome=not%20measured").json()["items"]

    assert verdicts
    for one in verdicts:
        assert [one[name] for name in ("base", "head", "change", "low", "high")] == [None] * 5
        assert one["reason"]


@pytest.mark.parametrize("path", LISTS)
def test_the_pages_of_a_list_hold_each_row_once(measured, path):
    whole_items = read(measured, path).json()["items"]

    assert len(whole_items) > 1
    assert all_items(measured, f"{path}?limit=1") == whole_items
    first = read(measured, f"{path}?limit=1")
    assert first.headers["link"] == f'<{first.json()["next"]}>; rel="next"'


@pytest.mark.parametrize("path", [*LISTS[:3], f"/api/v1/runs/{RUN}"])
def test_another_project_sees_nothing_of_it(measured, path):
    answer = measured.get(path, token=OTHER_TOKEN)

    assert answer.status_code == 404 or answer.json()["items"] == []
    assert measured.get("/api/v1/series/1/points", token=OTHER_TOKEN).status_code == 404
    assert measured.get(path).status_code == 401


@pytest.mark.slow(ci_only=True)
def test_a_cursor_of_elsewhere_is_refused(measured):
    for path in LISTS:
        with case(path=path):
            cursor = read(measured, f"{path}?limit=1").json()["next"].partition("cursor=")[2]
            data = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            data[-2] ^= 1
            changed = base64.urlsafe_b64encode(data).decode()
            elsewhere_list = next(other for other in LISTS if other != path)

            texts = (
                f"{path}?cursor={changed}",
                f"{path}?cursor=x",
                f"{path}?cursor={'A' * 400}",
                f"{path}?cursor=%C3%A9",
                f"{path}?cursor={cursor[:-4]}",
                f"{path}?cursor={cursor}&metric=other&sha={'c' * 40}&on_branch=true",
                f"{elsewhere_list}?cursor={cursor}",
            )

            for one in texts:
                answer = read(measured, one)
                assert (answer.status_code, answer.json()["status"]) == (422, 422), one
                assert "cursor" in answer.json()["detail"]


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "cursor=" + "A" * 401])
def test_a_page_has_bounds(measured, query):
    assert read(measured, f"/api/v1/series?{query}").status_code == 422


@pytest.mark.slow(ci_only=True)
def test_what_a_client_has_is_not_sent_again(measured):
    for path in [*LISTS, f"/api/v1/runs/{RUN}", "/api/v1/runs?limit=1"]:
        with case(path=path):
            first = read(measured, path)
            etag = first.headers["etag"]

            for named in (etag, f'"other", W/{etag}', "*"):
                again = read(measured, path, **{"If-None-Match": named})
                assert (again.status_code, again.content) == (304, b"")
                assert again.headers["etag"] == etag
                assert again.headers.get("link") == first.headers.get("link")
            assert read(measured, path, **{"If-None-Match": '"other"'}).status_code == 200
            assert first.headers["cache-control"] == "private, no-cache"


def test_a_changed_list_has_another_etag(measured, judged, make_bundle):
    before = read(measured, "/api/v1/runs").headers["etag"]
    judged(measured.engine, make_bundle(pairs=4, seed=2), upload_id="3" * 32)

    assert read(measured, "/api/v1/runs", **{"If-None-Match": before}).status_code == 200


def add_points(engine, first, count):
    """Add points at new commits to series 1, as many uploads would."""
    with write_session(engine) as session:
        project = session.exec(select(SeriesRow.project_id).where(col(SeriesRow.id) == 1)).one()
        positions = range(first, first + count)
        session.exec(
            insert(RevisionRow),
            params=[
                {"project_id": project, "position": at, "sha": f"{at:040x}", "is_claimed": False}
                for at in positions
            ],
        )
        values = {"side": "head", "processes": 1, "center": 1.0, "low": 0.5, "high": 2.0}
        session.exec(
            insert(ObservationRow),
            params=[
                {"series_id": 1, "position": at, "upload_id": RUN, "samples": b"", **values}
                for at in positions
            ],
        )
        session.commit()


@pytest.mark.slow(ci_only=True)
def test_no_point_is_lost_or_doubled_while_others_arrive(measured):
    add_points(measured.engine, 100, 10_000)
    with read_session(measured.engine) as session:
        count = select(func.count()).where(col(ObservationRow.series_id) == 1)
        stored = session.exec(count).one()
    assert stored == 10_004

    items: list[dict[str, object]] = []
    path: str | None = "/api/v1/series/1/points?limit=1000"
    pages = 0
    while path is not None:
        answer = read(measured, path).json()
        items += answer["items"]
        path, pages = answer["next"], pages + 1
        if pages < 5:
            add_points(measured.engine, 20_000 + 10 * pages, 10)

    keys = [(one["sha"], one["run_id"]) for one in items]
    assert len(keys) == len(set(keys)) == stored + 40
