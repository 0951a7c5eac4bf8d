import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger.metrics import CPU_ACTIVE, FLOPS_PER_STEP, PEAK_MEMORY, STEP_TIME, MetricKind
from perfledger.records import Device, Machine, Revision, Side
from perfledger_service.store import default_branch
from perfledger_service.store.branch_commits import put_places
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import (
    MAX_CENTER,
    MAX_COMMITS,
    branch_series,
    claim_commits,
    claimed_commits,
    commits_of_branch,
    searched_commits,
    unplaced_commits,
)
from perfledger_service.store.observations import Observation, add_observations
from perfledger_service.store.uploads import set_status
from perfledger_service.values.upload_views import UploadStatus
from tests.service.imported_bundle import imported

CPU = "cpu:Test CPU:1"
IMPORTED = "imported:asv:1"


def sha(commit):
    return f"{commit:040x}"


def observation(commit, center=1.0, *, processes=6, metric=STEP_TIME, machine_class=CPU):
    return Observation(
        workload="m:f",
        metric=metric,
        machine_class=machine_class,
        side=Side.BASE,
        sha=sha(commit),
        processes=processes,
        center=center,
        low=center,
        high=center,
        samples=(),
    )


class Branch:
    """A project's default branch, to which uploads add observations."""

    def __init__(self, engine, received, make_bundle):
        self.engine, self.received, self.make_bundle = engine, received, make_bundle
        self.uploads = 0

    def measure(
        self, *observations, commits=None, status=UploadStatus.JUDGED, is_import=False, **values
    ):
        """Store an upload with these observations, whose commits are on the branch."""
        self.uploads += 1
        bundle = self.make_bundle(seed=self.uploads, pairs=1, samples=1, **values)
        bundle = imported(bundle) if is_import else bundle
        upload = self.received(self.engine, bundle, upload_id=f"{self.uploads:032x}")
        shas = [one.sha for one in observations] if commits is None else list(map(sha, commits))
        with write_session(self.engine) as session:
            add_observations(session, observations, project_id=1, upload_id=upload.id)
            claim_commits(session, 1, shas)
            put_places(session, 1, {sha: int(sha, 16) for sha in shas})
            set_status(session, upload.id, status)
            session.commit()
        return upload.id

    @property
    def commits(self):
        with read_session(self.engine) as session:
            return commits_of_branch(session, 1)

    def series(self, upload_id=None):
        with read_session(self.engine) as session:
            return branch_series(session, 1, upload_id=upload_id)


@pytest.fixture
def branch(any_engine, received, make_bundle):
    return Branch(any_engine, received, make_bundle)


def test_commits_stand_in_the_order_of_the_branch_and_not_in_that_of_their_arrival(branch):
    branch.measure(observation(5), observation(9))
    branch.measure(observation(2), observation(7))

    assert branch.commits == (sha(2), sha(5), sha(7), sha(9))


def test_a_claimed_commit_without_a_place_is_on_no_branch(branch):
    upload_id = branch.measure(observation(0), observation(1), commits=(0,))
    with write_session(branch.engine) as session:
        claim_commits(session, 1, [sha(1)])
        session.commit()

    with read_session(branch.engine) as session:
        assert claimed_commits(session, 1) == (sha(1), sha(0))
        assert unplaced_commits(session, 1) == (sha(1),)
    (series,) = branch.series(upload_id)
    assert (branch.commits, series.values) == ((sha(0),), (1.0,))


def test_a_commit_without_measurements_has_no_place(branch):
    branch.measure(observation(0), commits=(0, 1))
    branch.measure(observation(2))

    assert branch.commits == (sha(0), sha(2))


def test_the_head_of_a_pull_request_is_no_commit_of_the_branch(any_engine, judged, make_bundle):
    for number, (base, head, pull_request) in enumerate(((0, 1, None), (1, 50, 7), (1, 2, None))):
        bundle = make_bundle(
            pairs=1,
            samples=1,
            seed=number,
            base=Revision(sha=sha(base), depth=base),
            head=Revision(sha=sha(head), depth=head),
            pull_request=pull_request,
        )
        judged(any_engine, bundle, upload_id=f"{number:032x}", trust_runners=True)

    with read_session(any_engine) as session:
        assert commits_of_branch(session, 1) == (sha(0), sha(1), sha(2))


def test_a_commit_has_the_time_of_its_measurement_unless_it_was_at_several_of_the_day(branch):
    branch.measure(observation(0), observation(1), created_at="2026-11-20T11:00:00+00:00")
    branch.measure(observation(0), created_at="2026-11-20T11:40:00+00:00")
    branch.measure(observation(1), created_at="2026-11-20T01:00:00+00:00")

    (series,) = branch.series()

    noon = datetime(2026, 11, 20, 11, tzinfo=UTC).timestamp()
    assert series.times == pytest.approx((noon, math.nan), nan_ok=True)


def test_a_commit_has_one_value_weighted_by_the_processes_of_its_uploads(branch):
    branch.measure(observation(0, 1.0), observation(1, 2.0, processes=3))
    branch.measure(observation(1, 5.0, processes=9))

    (series,) = branch.series()

    assert series.positions == (0, 1)
    assert series.values == (1.0, pytest.approx(4.25))
    assert (series.series.workload, series.series.metric.name) == ("m:f", "step_time_p50")


def test_values_stand_in_the_order_of_the_branch_and_not_in_that_of_the_uploads(branch):
    branch.measure(observation(0), observation(2, 2.0), observation(1, 1.0), commits=(0, 1, 2))

    (series,) = branch.series()

    assert (series.positions, series.values) == ((0, 1, 2), (1.0, 1.0, 2.0))


@pytest.mark.parametrize(
    "status", [UploadStatus.REFUSED, UploadStatus.FAILED, UploadStatus.RECEIVED]
)
def test_uploads_that_do_not_count_and_commits_off_the_branch_are_left_out(branch, status):
    branch.measure(observation(0))
    branch.measure(observation(0, 9.0), status=status)
    branch.measure(observation(7, 9.0), commits=())

    (series,) = branch.series()

    assert (series.positions, series.values) == ((0,), (1.0,))


@pytest.mark.parametrize("center", [1e291, -1e291, 2 * MAX_CENTER])
def test_a_value_whose_sums_would_overflow_is_left_out(branch, center):
    branch.measure(observation(0), observation(1, center))

    (series,) = branch.series()

    assert series.values == (1.0,)


@pytest.mark.parametrize("metric", [FLOPS_PER_STEP, CPU_ACTIVE])
def test_what_only_explains_is_stored_and_never_judged(branch, metric):
    explaining = observation(0, metric=metric)
    branch.measure(observation(0), explaining, observation(0, metric=PEAK_MEMORY))

    assert {each.series.metric.name for each in branch.series()} == {"step_time_p50", "peak_memory"}


def test_a_metric_of_a_later_version_counts_as_a_speed(branch):
    branch.measure(observation(0, metric=replace(STEP_TIME, name="of_tomorrow")))

    (series,) = branch.series()

    assert (series.series.metric.name, series.series.metric.kind) == (
        "of_tomorrow",
        MetricKind.SPEED,
    )


def test_an_upload_is_asked_for_the_series_that_it_adds_to(branch):
    first = branch.measure(observation(0))
    second = branch.measure(observation(0, metric=PEAK_MEMORY))

    assert [each.series.metric.name for each in branch.series(first)] == ["step_time_p50"]
    assert [each.series.metric.name for each in branch.series(second)] == ["peak_memory"]
    assert len(branch.series()) == 2


def test_the_device_of_each_commit_is_known_for_workloads_that_ran_on_it(branch):
    gpu = "cuda:Test GPU:1"
    for number in range(2):
        machine = Machine(device=Device.CUDA, model="Test GPU", uuid=f"GPU-{number}")
        branch.measure(observation(number, machine_class=gpu), observation(number), machine=machine)

    devices = {each.series.machine_class: each.devices for each in branch.series()}

    assert devices == {gpu: ("GPU-0", "GPU-1"), CPU: ("", "")}


def test_another_driver_is_another_environment(branch):
    for number, driver in enumerate(("550", "550", "560")):
        machine = Machine(device=Device.CUDA, model="Test GPU", driver=driver)
        branch.measure(observation(number), machine=machine)

    (series,) = branch.series()

    first, second, third = series.environments
    assert first == second != third


def test_only_the_newest_commits_are_read(branch):
    branch.measure(*(observation(number, 1.0 + number) for number in range(MAX_COMMITS + 3)))

    (series,) = branch.series()

    assert series.positions == tuple(range(3, MAX_COMMITS + 3))
    assert series.values[0] == 4.0


def measure_check(branch, number):
    base, head = (Revision(sha=sha(one), subject="") for one in (number, number + 100))
    branch.measure(observation(number), base=base, head=head)


def import_commit(branch, number):
    branch.measure(
        observation(number, machine_class=IMPORTED),
        is_import=True,
        base=Revision(sha=sha(number), subject=""),
    )


@pytest.mark.parametrize("commits_at_a_time", [1, 2, 400])
def test_commits_of_imports_take_no_place_of_measured_ones(branch, monkeypatch, commits_at_a_time):
    monkeypatch.setattr(default_branch, "MAX_COMMITS", 2)
    monkeypatch.setattr(default_branch, "COMMITS_AT_A_TIME", commits_at_a_time)
    for number in (0, 1, 2, 6):
        measure_check(branch, number)
    for number in (3, 4, 5):
        import_commit(branch, number)
    positions = {one.series.machine_class: one.positions for one in branch.series()}

    assert positions == {CPU: (2, 6), IMPORTED: (4, 5)}


def test_a_commit_that_was_imported_and_measured_is_one_of_both(branch, monkeypatch):
    monkeypatch.setattr(default_branch, "MAX_COMMITS", 2)
    for number in (0, 1, 2):
        measure_check(branch, number)
        import_commit(branch, number)
    positions = {one.series.machine_class: one.positions for one in branch.series()}

    assert positions == {CPU: (1, 2), IMPORTED: (1, 2)}


def test_what_is_searched_is_the_newest_of_checks_and_of_imports(branch):
    for number in (0, 1):
        measure_check(branch, number)
    for number in (2, 3):
        import_commit(branch, number)

    with read_session(branch.engine) as session:
        assert searched_commits(session, 1, most=1) == {sha(1), sha(3)}
