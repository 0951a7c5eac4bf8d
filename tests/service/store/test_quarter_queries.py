from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sqlmodel import Session

from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Revision, Side
from perfledger_service.store import quarter_queries
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.page_queries import COUNTED_STATUSES
from perfledger_service.store.quarter_queries import stored_quarter
from perfledger_service.store.tables import (
    BranchCommitRow,
    BundleRow,
    EnvironmentRow,
    ObservationRow,
    ProjectRow,
    SeriesRow,
    UploadRow,
)
from perfledger_service.store.uploads import set_status
from perfledger_service.values.upload_views import UploadSender, UploadStatus

START = datetime(2026, 10, 1, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43
BRANCH = {"a": 3, "b": 2, "c": 9}  # the places of commits
# project, base, day, series, status, sender; no check has the third series
CHECKS = st.lists(
    st.tuples(
        st.sampled_from((1, 2)),
        st.sampled_from((*BRANCH, "elsewhere")),
        st.integers(-1, 3),
        st.sets(st.sampled_from((0, 1))),
        st.sampled_from((UploadStatus.JUDGED, UploadStatus.POSTED, UploadStatus.REFUSED)),
        st.sampled_from((UploadSender.RUNNER, UploadSender.OTHER_RUN)),
    ),
    max_size=12,
)


@pytest.fixture
def check(any_engine, judged_on_branch, make_bundle):
    """Store a check that was measured at a time; each is of the default branch unless told."""

    def check(number, at=NOVEMBER, *, token=None, status=None, **values):
        fields = {"seed": number, "pull_request": None, "pairs": 4, "created_at": at.isoformat()}
        bundle = make_bundle(**fields | values)
        placed = {} if token is None else {"token": token}
        late = at + timedelta(days=400)  # it arrived much later
        upload = judged_on_branch(
            any_engine, bundle, upload_id=f"{number:032x}", now=late, **placed
        )
        if status is not None:
            with write_session(any_engine) as session:
                set_status(session, upload.id, status)
                session.commit()
        return upload

    return check


@pytest.fixture
def quarter(any_engine):
    def quarter():
        with read_session(any_engine) as session:
            return stored_quarter(session, start=START, end=END)

    return quarter


def test_a_quarter_without_uploads_is_empty(quarter):
    stored = quarter()

    assert (stored.checks, stored.observations, stored.unattested) == (0, 0, 0)
    assert (stored.of_pull_requests, stored.of_branches) == (0, 0)
    assert stored.speeds == stored.changes == ()
    assert stored.newest == {}


@pytest.mark.slow(ci_only=True)
def test_a_quarter_begins_with_its_first_moment_and_ends_before_the_next_ones(check, quarter):
    moment = timedelta(microseconds=1)
    for number, at in enumerate((START - moment, START, END - moment, END)):
        check(number, at)

    assert quarter().of_branches == 2
    assert quarter().observations == 2 * 4  # two sides, each with step time and memory


@pytest.mark.parametrize("status", [UploadStatus.REFUSED, UploadStatus.FAILED])
def test_uploads_that_do_not_count_are_in_no_figure(check, quarter, status):
    check(1, ratio=1.5, status=status)

    stored = quarter()

    assert (stored.observations, stored.of_branches) == (0, 0)
    assert stored.speeds == stored.changes == ()
    assert stored.newest == {}


@pytest.mark.slow(ci_only=True)
def test_checks_are_counted_by_what_they_are_of(check, quarter):
    check(1)
    check(2)
    check(3, pull_request=7)

    assert (quarter().of_branches, quarter().of_pull_requests) == (2, 1)


@pytest.mark.slow(ci_only=True)
def test_a_speed_is_the_newest_commits_on_the_default_branch(check, quarter):
    check(1, ratio=3.0)
    newer = check(
        2,
        NOVEMBER + timedelta(hours=1),
        base=Revision(sha="c" * 40),
        head=Revision(sha="d" * 40),
        pull_request=7,
    )
    check(3, NOVEMBER + timedelta(hours=2), ratio=3.0)

    (speed,) = quarter().speeds

    assert (speed.commit, speed.upload_id) == ("c" * 40, newer.id)
    assert (speed.workload, speed.machine_class) == ("gpt:step", "cpu:Test CPU:1")
    low, typical, high = speed.step_seconds
    assert low < typical < high
    assert typical == pytest.approx(0.01, rel=1e-3)
    assert '"Test CPU"' in speed.machine
    assert (speed.bundle_sha256, speed.measured_at) == (newer.bundle_sha256, newer.measured_at)


def test_workloads_and_classes_of_machines_have_speeds_of_their_own(check, quarter):
    check(1, workloads=("b:f", "a:f"))
    check(2, workloads=("a:f",), machine=Machine(device=Device.CPU, model="Another CPU"))

    assert [(speed.workload, speed.machine_class) for speed in quarter().speeds] == [
        ("a:f", "cpu:Another CPU:1"),
        ("a:f", "cpu:Test CPU:1"),
        ("b:f", "cpu:Test CPU:1"),
    ]


def test_changes_are_those_that_a_check_of_the_branch_found_oldest_first(check, quarter):
    later = check(1, NOVEMBER + timedelta(days=1), ratio=1.2)
    earlier = check(2, ratio=0.8, head=Revision(sha="c" * 40, subject="Fuse the attention"))
    check(3, ratio=1.0)
    check(4, ratio=1.2, pull_request=7)

    first, second = quarter().changes

    assert (first.upload_id, first.commit) == (earlier.id, "c" * 40)
    assert (first.subject, first.workload) == ("Fuse the attention", "gpt:step")
    assert first.change[0] < first.change[1] < first.change[2]
    assert first.change[1] == pytest.approx(-0.2, abs=0.01)
    assert second.upload_id == later.id
    assert second.change[1] == pytest.approx(0.2, abs=0.01)


def test_a_commit_against_itself_tests_the_gate_and_changes_nothing(check, quarter):
    same = Revision(sha="c" * 40)
    check(1, ratio=1.3, base=same, head=same)

    assert quarter().changes == ()
    assert quarter().of_branches == 1


@pytest.mark.slow(ci_only=True)
def test_each_repository_has_its_newest_bundle(check, quarter):
    check(1)
    newest = check(2, NOVEMBER + timedelta(hours=1), pull_request=7)
    check(3, NOVEMBER + timedelta(hours=2), status=UploadStatus.REFUSED)
    other = check(4, repository="octo/other", token=OTHER_TOKEN)

    assert quarter().newest == {
        "octo/models": newest.bundle_sha256,
        "octo/other": other.bundle_sha256,
    }


def test_of_two_bundles_of_one_moment_one_is_the_newest(check, quarter):
    check(1)
    last = check(2)

    assert list(quarter().newest.values()) == [last.bundle_sha256]


def test_of_commits_that_only_bundles_claim_there_is_neither_a_speed_nor_a_change(
    any_engine, judged, make_bundle, quarter
):
    of_branch = make_bundle(pull_request=None, ratio=1.2)
    judged(any_engine, of_branch, upload_id="1" * 32)
    judged(any_engine, make_bundle(seed=1), upload_id="2" * 32)

    stored = quarter()

    assert (stored.speeds, stored.changes) == ((), ())
    assert (stored.checks, stored.unattested, stored.of_branches) == (2, 2, 0)


def test_a_change_has_the_date_of_its_commit(check, quarter):
    dated = Revision(sha="c" * 40, committed_at="2026-10-30T09:00:00+00:00")
    check(1, ratio=1.2, head=dated)
    check(2, NOVEMBER + timedelta(days=2), ratio=1.2, head=Revision(sha="d" * 40))

    first, second = quarter().changes

    assert first.committed_at == datetime(2026, 10, 30, 9, tzinfo=UTC)
    assert second.committed_at == NOVEMBER + timedelta(days=2)


def test_a_run_that_is_not_believed_is_counted_and_tells_nothing(
    any_engine, check, mark_untrusted, quarter
):
    believed = check(1)
    mark_untrusted(any_engine, check(2, NOVEMBER + timedelta(hours=1), ratio=1.5))

    stored = quarter()

    assert (stored.checks, stored.of_branches, stored.unattested) == (2, 1, 1)
    assert [speed.upload_id for speed in stored.speeds] == [believed.id]
    assert [change.upload_id for change in stored.changes] == [believed.id]
    assert list(stored.newest.values()) == [believed.bundle_sha256]


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("most", [1, 2, 1000])
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(checks=CHECKS)
def test_each_series_has_the_step_time_of_its_newest_base_on_the_branch(
    any_engine, monkeypatch, most, checks
):
    monkeypatch.setattr(quarter_queries, "MAX_IN_QUERY", most)
    with Session(any_engine) as session:
        store(session, checks)
        speeds = stored_quarter(session, start=START, end=END).speeds

    assert {speed.workload: speed.upload_id for speed in speeds} == newest_uploads(checks)
    assert [speed.workload for speed in speeds] == sorted(speed.workload for speed in speeds)
    for speed in speeds:
        number = int(speed.upload_id)
        low = float(number)
        assert speed.step_seconds == (low, low + 1, low + 2)
        assert (speed.commit, speed.machine) == (checks[number][1], "{}")


def newest_uploads(checks):
    """Return the upload of each series with a step time, by ranking all of its uploads."""
    newest = {}
    for number, (project, base, day, series, status, sender) in enumerate(checks):
        counts = status in COUNTED_STATUSES and sender == UploadSender.RUNNER
        if counts and day >= 0 and base in BRANCH:
            for one in series:
                rank = (BRANCH[base], day, f"{number:032}")
                workload = f"{project}:{one}"
                newest[workload] = max(newest.get(workload, rank), rank)
    return {workload: upload_id for workload, (_, _, upload_id) in newest.items()}


def store(session, checks):
    """Write checks and all that their rows refer to; the caller does not commit."""
    projects = (1, 2)
    add_rows(
        session,
        (
            ProjectRow(id=id_, repository=f"o/{id_}", repository_key=f"o/{id_}", created_at=START)
            for id_ in projects
        ),
    )
    add_rows(session, [EnvironmentRow(hash="e", machine_class="gpu", machine="{}")])
    add_rows(
        session,
        (
            BranchCommitRow(project_id=project, place=place, sha=sha)
            for project in projects
            for sha, place in BRANCH.items()
        ),
    )
    add_rows(
        session,
        (
            SeriesRow(
                id=10 * project + one,
                project_id=project,
                key=str(one),
                workload=f"{project}:{one}",
                metric=STEP_TIME.name,
                unit="s",
                worse="higher",
                machine_class="gpu",
                sample_type="f4",
            )
            for project in projects
            for one in range(3)
        ),
    )
    for number, (project, base, day, series, status, sender) in enumerate(checks):
        upload_id, measured_at = f"{number:032}", START + timedelta(days=day)
        add_rows(session, [BundleRow(sha256=upload_id, unpacked_bytes=0, content=b"")])
        add_rows(
            session,
            [
                UploadRow(
                    id=upload_id,
                    project_id=project,
                    bundle_sha256=upload_id,
                    environment_hash="e",
                    base_sha=base,
                    head_sha="head",
                    head_subject="",
                    status=status,
                    sender=sender,
                    created_at=measured_at,
                    measured_at=measured_at,
                )
            ],
        )
        add_rows(
            session,
            (
                ObservationRow(
                    series_id=10 * project + one,
                    position=position,
                    upload_id=upload_id,
                    side=side,
                    processes=4,
                    low=number + 10.0 * position,
                    center=number + 1.0 + 10.0 * position,
                    high=number + 2.0 + 10.0 * position,
                    samples=b"",
                )
                for one in series
                for position, side in enumerate((Side.BASE, Side.HEAD))
            ),
        )


def add_rows(session, rows):
    session.add_all(rows)
    session.flush()
