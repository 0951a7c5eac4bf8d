"""Tests the view of a project's default branch, on a database."""

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Revision, Side
from perfledger_baselines.history.commits.confirmation_state import (
    AbPurpose,
    Bisection,
    BisectionStatus,
    ConfirmationState,
    PendingConfirmation,
)
from perfledger_service.store import default_branch
from perfledger_service.store.branch_commits import put_places
from perfledger_service.store.confirmation_state import save_confirmation_state
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import claim_commits
from perfledger_service.store.observations import Observation, add_observations
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import set_status
from perfledger_service.usecases.history.branch import (
    branch_view,
    requested_ab_runs,
    search_branch,
)
from perfledger_service.usecases.history.gate_health import ProjectGates
from perfledger_service.values.upload_views import UploadStatus
from tests.service.imported_bundle import copy_upload, imported
from tests.service.suspects import (
    SHAS,
    WORKLOAD,
    a_candidate,
    a_request,
    an_alert,
    store_suspect,
)


@pytest.fixture
def view(engine):
    """Return the view of a repository's default branch."""

    def view(repository="octo/models"):
        with read_session(engine) as session:
            return branch_view(session, project_named(session, repository), gates=ProjectGates())

    return view


@pytest.fixture
def suspect(engine, received, make_bundle):
    """Store a suspect and alerts of octo/models, as judging an upload would."""

    def suspect(**values):
        bundle = make_bundle(pull_request=None)
        upload = received(engine, bundle)
        store_suspect(engine, upload.id, bundle, **values)
        return upload

    return suspect


def store(engine, upload, state):
    with write_session(engine) as session:
        save_confirmation_state(session, upload.project_id, state)
        session.commit()


def requests_of(engine, upload):
    with read_session(engine) as session:
        return requested_ab_runs(session, upload.project_id)


def test_a_project_without_commits_has_an_empty_view(received, make_bundle, engine, view):
    received(engine, make_bundle())

    found_branch_view = view()

    assert found_branch_view.repository == "octo/models"
    assert (
        found_branch_view.search.commits,
        found_branch_view.alerts,
        found_branch_view.requests,
    ) == ((), (), ())
    assert found_branch_view.search.watched == 0
    assert found_branch_view.gates == ()


def test_commits_that_only_bundles_claim_are_counted_where_no_other_is(
    judged, make_bundle, engine, view
):
    judged(engine, make_bundle(pairs=1, samples=1, pull_request=None))

    assert view().unattested == 2
    assert view().search.commits == ()


def test_the_view_has_commits_requests_and_alerts(suspect, view):
    upload = suspect(alerts=(an_alert(),))

    found_branch_view = view()

    assert found_branch_view.search.commits == SHAS
    (request,) = found_branch_view.requests
    assert (request.base_sha, request.head_sha) == SHAS
    assert request.suspects == (a_candidate(),)
    assert [alert.upload_id for alert in found_branch_view.alerts] == [upload.id]


def test_another_project_has_nothing_of_it(suspect, view, received, engine, make_bundle):
    suspect(alerts=(an_alert(),))
    received(
        engine,
        make_bundle(repository="octo/other"),
        upload_id="2" * 32,
        token="pl_4567cdef_" + "t" * 43,
    )

    found_branch_view = view("octo/other")

    assert (
        found_branch_view.search.commits,
        found_branch_view.alerts,
        found_branch_view.requests,
    ) == ((), (), ())
    assert found_branch_view.search.watched == 0


def test_an_alert_that_a_later_one_narrows_down_is_not_in_the_view(suspect, view):
    suspect(alerts=(an_alert(narrowing=BisectionStatus.UNDER_WAY), an_alert()))

    assert [one.alert.narrowing for one in view().alerts] == [BisectionStatus.ONE_COMMIT]


def test_final_alerts_stay_and_so_do_those_of_other_changes(suspect, view):
    other = an_alert("vit:step", narrowing=BisectionStatus.UNDER_WAY)
    suspect(alerts=(an_alert(), other, an_alert()))

    assert [one.alert.workload for one in view().alerts] == [WORKLOAD, "vit:step", WORKLOAD]


def test_the_most_promising_request_comes_first_with_its_own_suspects(suspect, engine):
    upload = suspect()
    trials = tuple(
        PendingConfirmation(
            a_request(workload, priority=priority), (a_candidate(workload, (workload,)),)
        )
        for workload, priority in (("a:step", 1.0), ("b:step", 3.0), ("c:step", 2.0))
    )
    store(engine, upload, ConfirmationState(pending_confirmations=trials, window="2026-11-20"))

    requests = requests_of(engine, upload)

    assert [one.request.workload for one in requests] == ["b:step", "c:step", "a:step"]
    assert [one.suspects[0].devices for one in requests] == [
        ("b:step",),
        ("c:step",),
        ("a:step",),
    ]


def test_the_series_of_judged_checks_are_watched(judged, engine, make_bundle, view):
    base, head = (Revision(sha=sha, depth=place) for place, sha in enumerate(SHAS))
    bundle = make_bundle(pull_request=None, base=base, head=head)
    judged(engine, bundle, trust_runners=True)

    found_branch_view = view()

    assert found_branch_view.search.commits == SHAS
    assert found_branch_view.search.watched == 2  # the step time and the memory of one workload


def test_a_bisections_request_has_the_suspects_that_were_confirmed(suspect, engine):
    upload = suspect()
    alert = an_alert(devices=("GPU-0",))
    request = a_request(purpose=AbPurpose.BISECT)
    bisection = Bisection(
        workload=alert.workload,
        machine_class=alert.machine_class,
        suspected_range=alert.suspected_range,
        good=0,
        bad=1,
        changes=alert.changes,
        pairs=8,
        request=request,
    )
    store(engine, upload, ConfirmationState(bisections=(bisection,), window="2026-11-20"))

    (ab_request_view,) = requests_of(engine, upload)

    assert ab_request_view.request == request
    assert ab_request_view.suspects == (a_candidate(devices=("GPU-0",)),)


IMPORTED, CPU = "imported:asv, box:1", "cpu:Test CPU:1"


@pytest.fixture
def search(engine, received, make_bundle):
    """Search a branch on which an imported series and a measured one rise at the same commit."""
    upload = received(engine, make_bundle())
    shas = [f"{number:040x}" for number in range(30)]
    first = received(engine, imported(make_bundle(pairs=1, samples=1)), upload_id="2" * 32)
    for one in (upload, first):
        copy_upload(engine, one.id, shas)
    observations = [
        Observation(
            workload="m:f",
            metric=STEP_TIME,
            machine_class=machine_class,
            side=Side.BASE,
            sha=sha,
            processes=1,
            center=(1.0 if number < 15 else 2.0) + 0.01 * (number % 3),
            low=1.0,
            high=2.0,
            samples=(),
        )
        for machine_class in (IMPORTED, CPU)
        for number, sha in enumerate(shas)
    ]
    with write_session(engine) as session:
        add_observations(session, observations, project_id=1, upload_id=upload.id)
        claim_commits(session, 1, shas)
        put_places(session, 1, {sha: place for place, sha in enumerate(shas)})
        set_status(session, upload.id, UploadStatus.JUDGED)
        session.commit()

    def search():
        with read_session(engine) as session:
            return search_branch(session, 1)

    return search


def test_no_event_has_imported_and_measured_series(search):
    series, _ = search()

    classes = [
        [member.change.series.machine_class for member in event.members]
        for event in series.grouped_changes.events
    ]
    assert classes == [[CPU], [IMPORTED]]
    assert {event.observed_series for event in series.grouped_changes.events} == {1}
    assert not any(event.changed_elsewhere for event in series.grouped_changes.events)


def test_no_number_of_imported_series_hides_one_that_is_measured(search, monkeypatch):
    monkeypatch.setattr(default_branch, "MAX_SERIES", 1)

    _, series = search()

    assert [one.series.machine_class for one in series] == [CPU, IMPORTED]
