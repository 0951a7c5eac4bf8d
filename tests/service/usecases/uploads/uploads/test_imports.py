"""What becomes of another tool's results: series of their own, and nothing that a check is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from perfledger.metrics import WorseDirection
from perfledger.records import Revision
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_profiles.benchmark_histories.commit_order import CommitLine
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFormat,
)
from perfledger_service.errors import NotFoundError, TooManyRequestsError
from perfledger_service.settings.quotas import UploadQuota
from perfledger_service.store.confirmation_state import confirmation_state_of
from perfledger_service.store.database import read_session
from perfledger_service.store.events.events import due_searches, tracked_events
from perfledger_service.store.fleet.machines import project_machines
from perfledger_service.store.gate_checks import gate_uploads
from perfledger_service.store.page_queries import index_view, series_view
from perfledger_service.store.pages.compared_checks import upload_named
from perfledger_service.store.quarter_queries import stored_quarter
from perfledger_service.store.search_queries import search_hits
from perfledger_service.store.tables import ObservationRow, RevisionRow, UploadRow, VerdictRow
from perfledger_service.usecases.events.search import search_project
from perfledger_service.usecases.history.bundle_observations import observations_in
from perfledger_service.usecases.history.imported_bundles import imported_history
from perfledger_service.usecases.inputs.benchmark_histories import ToolResults
from perfledger_service.usecases.notices.notice import set_target
from perfledger_service.usecases.notices.queue import queue_notices
from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.notices.notice import NoticeChannel, NoticeTarget
from perfledger_service.values.people.person import Actor
from perfledger_service.values.service_views.search import SearchKind

TOKEN = "pl_0123abcd_" + "s" * 43
COMMITS = tuple(f"{number:040x}" for number in range(1, 31))
MOMENT = 1.76e9


def result(commit, value, **values):
    return BenchmarkResult(
        benchmark="fib",
        metric="time",
        unit="s",
        worse=WorseDirection.HIGHER,
        machine="box",
        commit=commit,
        value=value,
        time=MOMENT + 86_400 * COMMITS.index(commit),
        **values,
    )


def imported(*results):
    read = ToolResults(
        format=HistoryFormat.ASV, results=results, line=CommitLine(COMMITS), notes=()
    )
    return imported_history(read, repository="octo/models").bundles


@pytest.fixture
def stored(engine, judged):
    """Store the bundles of results as a trusted runner's, each in an upload of its own."""
    numbers = iter(range(1, 1000))

    def store(*results):
        return [
            judged(engine, bundle, upload_id=f"{next(numbers):032x}", trust_runners=True)
            for bundle in imported(*results)
        ]

    return store


def rows(engine, table):
    with read_session(engine) as session:
        return session.exec(select(table)).all()


def test_an_import_has_no_verdict_and_says_what_it_is(engine, stored):
    (upload,) = stored(result(COMMITS[0], 2.0))

    assert upload.conclusion == "neutral"
    assert upload.title == "Imported from asv, box"
    assert upload.headline == "Imported from asv, box: 1 workload, not judged"
    assert not rows(engine, VerdictRow)


def test_the_value_of_a_commit_is_the_median_of_its_readings():
    (bundle,) = imported(result(COMMITS[0], 2.0, samples=(1.0, 2.0, 9.0)))

    (observation,) = observations_in(bundle)

    assert observation.center == 2.0
    assert observation.samples == (1.0, 2.0, 9.0)


@pytest.mark.slow
def test_the_same_results_are_stored_once_and_new_ones_are_added(engine, stored):
    first = result(COMMITS[0], 2.0)
    stored(first)
    stored(first, result(COMMITS[1], 3.0))
    stored(first, replace(first, benchmark="sort"), result(COMMITS[1], 3.0))

    assert len(rows(engine, UploadRow)) == 3  # the file of the first commit has grown
    assert len(rows(engine, ObservationRow)) == 3


@pytest.mark.slow
def test_a_commit_that_was_measured_again_is_another_observation(engine, stored):
    first = result(COMMITS[0], 2.0)
    stored(first)
    stored(first, replace(first, value=2.5, time=first.time + 60))

    assert sorted(one.center for one in rows(engine, ObservationRow)) == [2.0, 2.5]


@pytest.mark.slow
def test_an_import_is_no_check_of_a_gate_a_machine_a_quarter_or_the_front_page(
    engine, stored, judged, make_bundle, now
):
    stored(result(COMMITS[0], 2.0))
    judged(engine, make_bundle(), upload_id="f" * 32)
    long = {"start": now - timedelta(days=3000), "end": now + timedelta(days=3000)}

    with read_session(engine) as session:
        assert [one.id for one in gate_uploads(session, 1)] == ["f" * 32]
        assert len(project_machines(session, 1)[0]) == 1
        assert stored_quarter(session, **long).checks == 1
        view = index_view(session)
    assert [one.id for one in view.uploads] == ["f" * 32]
    assert view.uploads_left_out == 0


@pytest.mark.slow
def test_imports_and_checks_do_not_use_up_each_others_number(engine, stored, judged, make_bundle):
    quota = UploadQuota(uploads=1, imports=2)
    stored(result(COMMITS[0], 2.0), result(COMMITS[1], 2.0))

    judged(engine, make_bundle(), upload_id="f" * 32, quota=quota)

    (third,) = imported(result(COMMITS[2], 2.0))
    with pytest.raises(TooManyRequestsError, match="uploaded 2 bundles"):
        judged(engine, third, upload_id="d" * 32, quota=quota)
    with pytest.raises(TooManyRequestsError, match="uploaded 1 bundles"):
        judged(engine, make_bundle(seed=2), upload_id="e" * 32, quota=quota)


@pytest.mark.slow(ci_only=True)
def test_a_change_of_an_imported_series_is_an_event_without_a_request_or_a_notice(
    engine, stored, now
):
    add_project(engine, "octo/models", token=TOKEN, now=now, trust_runners=True)
    target = NoticeTarget(channel=NoticeChannel.WEBHOOK, address="chat", is_early=True)
    set_target(engine, "octo/models", target, actor=Actor(name="root"), now=now)
    stored(
        *(
            result(commit, (2.0 if number < 20 else 3.0) + 0.01 * (number % 3))
            for number, commit in enumerate(COMMITS)
        )
    )

    with read_session(engine) as session:
        (due,) = due_searches(session, today=now.date())
    assert search_project(engine, due, now=now)
    assert not queue_notices(engine, now=now)

    with read_session(engine) as session:
        (event,) = tracked_events(session, 1, today=now.date())
        assert event.harm is Harm.WORSE
        assert {one.machine_class for one in event.series} == {"imported:asv, box:1"}
        assert not confirmation_state_of(session, 1).requests
        assert [one.center for one in series_view(session, 1).points][:2] == [2.0, 2.01]


def test_the_commits_of_an_import_that_nobody_attests_are_shown_and_enter_no_history(
    engine, judged
):
    (bundle,) = imported(result(COMMITS[0], 2.0))
    judged(engine, replace(bundle, head=Revision(sha=COMMITS[0]), base=Revision(sha=COMMITS[0])))

    with read_session(engine) as session:
        (point,) = series_view(session, 1).points
    assert point.is_unattested


def test_the_check_of_a_commit_is_compared_and_never_its_import(
    engine, stored, judged, make_bundle
):
    (upload,) = stored(result(COMMITS[1], 2.0))
    own = make_bundle(pull_request=None, head=Revision(sha=COMMITS[1]))
    judged(engine, own, upload_id="f" * 32)

    with read_session(engine) as session:
        assert upload_named(session, 1, COMMITS[1]).id == "f" * 32
        with pytest.raises(NotFoundError, match="no judged check"):
            upload_named(session, 1, upload.id)


def test_a_commit_is_found_by_its_check_before_its_import(engine, stored, judged, make_bundle):
    (bundle,) = stored(result(COMMITS[1], 2.0, samples=(2.0,)))
    own = make_bundle(
        pull_request=None, head=Revision(sha=COMMITS[1]), created_at="2020-01-01T00:00:00+00:00"
    )
    judged(engine, own, upload_id="f" * 32)

    with read_session(engine) as session:
        (hit,) = search_hits(session, COMMITS[1], SearchKind.COMMIT)
    assert bundle.measured_at.year > 2020
    assert hit.upload_id == "f" * 32


def test_the_date_of_a_commit_is_gits_and_that_of_an_import_where_no_check_says_it(
    engine, stored, judged, make_bundle
):
    first, second = COMMITS[:2]
    stored(*(result(commit, 2.0, commit_time=MOMENT) for commit in (first, second)))
    by_git = Revision(sha=first, depth=0, committed_at="2026-11-01T00:00:00+00:00")
    judged(engine, make_bundle(pull_request=None, base=by_git), upload_id="f" * 32)
    stored(result(first, 3.0, commit_time=MOMENT + 60))

    dates = {one.sha: one.committed_at for one in rows(engine, RevisionRow)}
    assert dates[first] == datetime.fromisoformat(by_git.committed_at)
    assert dates[second] == datetime.fromtimestamp(MOMENT, UTC)


class AskedCommits:
    """GitHub, on whose branch no commit is: it counts for which it is asked."""

    def __init__(self):
        self.requests = []

    def default_branch(self, _repository):
        return "main"

    def is_ancestor(self, _repository, sha, _branch):
        self.requests.append(sha)
        return False


def test_an_import_asks_github_once_and_for_its_own_commit_alone(engine, judged):
    commits = AskedCommits()

    for number, bundle in enumerate(imported(*(result(one, 2.0) for one in COMMITS[:3]))):
        judged(engine, bundle, upload_id=f"{number:032x}", commits=commits)

    assert commits.requests == list(COMMITS[:3])
