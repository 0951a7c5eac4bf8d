"""From one odd point to an alert: what uploads of the default branch make suspect, and answer."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.bundle import Plan
from perfledger.metrics import KERNELS
from perfledger.records import Device, Machine, Revision
from perfledger_baselines.history.commits.confirmation_state import BisectionStatus
from perfledger_baselines.planning.epochs import epoch_starts
from perfledger_service.store.confirmation_state import alerts_of, confirmation_state_of
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import branch_series
from perfledger_service.store.events.events import tracked_events
from perfledger_service.store.events.notices import add_target, notices_of
from perfledger_service.store.projects import projects
from perfledger_service.usecases.events.search import search_events
from perfledger_service.usecases.history.branch import branch_view
from perfledger_service.usecases.history.gate_health import ProjectGates
from perfledger_service.usecases.notices.queue import queue_notices
from perfledger_service.values.notices.notice import NoticeChannel, NoticeTarget
from tests.baselines.judging.example_kernels import (
    kernel,
    on_base,
    on_head,
    scaled,
    with_kernels,
    workload,
)
from tests.service.conftest import METRICS

COMMITS = 16
WORKLOAD = "gpt:step[batch=8]"


def sha(commit):
    return f"{commit:040x}"


class Branch:
    """A project whose commits are checked one after another, each against its parent."""

    def __init__(self, engine, judged, make_bundle, now, folder):
        self.engine, self.judged, self.make_bundle, self.now = engine, judged, make_bundle, now
        self.folder = folder  # of the databases of quiet commits
        self.uploads = 0
        self.project_id = 1
        self.is_trusted = True

    def check(self, base, head, *, ratio=1.0, level=1.0, later=timedelta(), **values):
        """Check `head` against `base`: both sides take `level` times as long as they used to."""
        self.uploads += 1
        bundle = self.make_bundle(
            **{
                "workloads": (WORKLOAD,),
                "ratio": ratio,
                "pairs": 4,
                "samples": 2,
                "seed": self.uploads,
                "base": Revision(sha=sha(base), depth=base),
                "head": Revision(sha=sha(head), depth=head),
                "plan": Plan(seed=1, order=("base",) * 4, looks=(4,)),
                "pull_request": None,
                **values,
            }
        )
        slower = tuple(
            replace(
                run,
                samples={
                    name: tuple(level * one for one in message)
                    for name, message in run.samples.items()
                },
            )
            for run in bundle.runs
        )
        upload_id = f"{self.uploads:032x}"
        bundle = replace(bundle, runs=slower)
        now = self.now + later
        return self.judged(
            self.engine, bundle, upload_id=upload_id, now=now, trust_runners=self.is_trusted
        )

    def quiet(self, commits=COMMITS, *, machines=()):
        """Check so many commits that change nothing, or take what another test stored of them."""
        file = self.folder / f"quiet-{commits}-{self.is_trusted}-{len(machines)}.db"
        is_new = not file.exists()
        if is_new:
            for commit in range(1, commits):
                on = {"machine": machines[commit % len(machines)]} if machines else {}
                self.check(commit - 1, commit, **on)
        with self.engine.connect() as connection, closing(sqlite3.connect(file)) as stored:
            own = connection.connection.driver_connection
            source, target = (own, stored) if is_new else (stored, own)
            source.backup(target)
        self.uploads = commits - 1

    @property
    def docket(self):
        with read_session(self.engine) as session:
            return confirmation_state_of(session, self.project_id)

    @property
    def alerts(self):
        with read_session(self.engine) as session:
            return alerts_of(session, self.project_id)

    @property
    def view(self):
        with read_session(self.engine) as session:
            [project] = projects(session)
            return branch_view(session, project, gates=ProjectGates())


@pytest.fixture(scope="module")
def quiet_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("quiet")


@pytest.fixture
def branch(engine, judged, make_bundle, now, quiet_folder):
    return Branch(engine, judged, make_bundle, now, quiet_folder)


@pytest.mark.slow(ci_only=True)
def test_commits_that_change_nothing_have_no_suspect(branch):
    branch.quiet()

    assert branch.docket.requests == ()
    assert branch.alerts == ()


@pytest.mark.slow(ci_only=True)
def test_a_backfill_of_old_commits_is_no_news_of_the_branch(branch):
    """Commits 1 to 8 were slow; they are measured after commits 9 to 24, which are not."""
    for commit in range(10, 25):
        branch.check(commit - 1, commit)
    for commit in range(2, 9):
        branch.check(commit - 1, commit, level=1.1)

    assert [name.lstrip("0") for name in branch.view.search.commits] == [
        f"{commit:x}" for commit in range(1, 25)
    ]
    assert all(request.base < 8 for request in branch.docket.requests)
    assert branch.alerts == ()


def test_two_pull_requests_with_merge_bases_in_another_order_keep_the_branchs(branch):
    branch.check(5, 101, pull_request=8)
    branch.check(2, 102, pull_request=7)
    branch.check(5, 6)

    assert branch.view.search.commits == (sha(2), sha(5), sha(6))


@pytest.mark.slow
def test_what_untrusted_runners_say_is_in_no_baseline(branch):
    branch.is_trusted = False
    branch.quiet(4)

    assert branch.view.search.commits == ()
    assert branch.view.search.watched == 0


@pytest.mark.slow(ci_only=True)
def test_the_state_begins_anew_where_a_commit_comes_before_another(branch):
    branch.quiet()
    branch.check(COMMITS + 9, COMMITS + 10, level=1.1)
    assert branch.docket.requests != ()

    branch.check(COMMITS, COMMITS + 1)

    commits = branch.view.search.commits
    for request in branch.view.requests:
        assert commits.index(request.base_sha) < commits.index(request.head_sha)


@pytest.mark.slow
def test_an_odd_newest_commit_leads_to_a_request_for_an_a_b(branch):
    branch.quiet()
    branch.check(COMMITS - 1, COMMITS, level=1.1)

    [request] = branch.docket.requests
    assert (request.workload, request.machine_class) == (WORKLOAD, "cpu:Test CPU:1")
    assert request.head == COMMITS
    assert request.base < COMMITS
    assert request.window == "2026-11-20"
    assert branch.alerts == ()


@pytest.fixture
def suspected(branch):
    """A branch whose newest commit is a tenth slower, and the request that it led to."""
    branch.quiet()
    branch.check(COMMITS - 1, COMMITS, level=1.1)
    [request] = branch.docket.requests
    return branch, request


@pytest.mark.slow
def test_a_change_of_the_driver_is_no_commits_fault(branch):
    """All later uploads are on the new driver, on which all is 30 % slower."""
    old = Machine(device=Device.CUDA, model="H100", uuid="GPU-1", driver="550.1")
    new = replace(old, driver="560.2")
    branch.quiet(machines=(old,))
    branch.check(COMMITS - 1, COMMITS, level=1.3, machine=new)
    branch.check(COMMITS, COMMITS + 1, level=1.3, machine=new)

    assert (branch.docket.requests, branch.docket.pending_confirmations) == ((), ())

    branch.check(COMMITS + 1, COMMITS + 2, machine=old)  # the old machine still reports

    with read_session(branch.engine) as session:
        epochs = {epoch_starts(one.environments) for one in branch_series(session, 1)}
    assert epochs == {()}


def test_the_a_b_that_confirms_a_suspect_is_an_alert(suspected):
    branch, request = suspected
    branch.check(request.base, request.head, ratio=1.1)

    [view] = branch.alerts
    assert view.upload_id == f"{branch.uploads:032x}"
    assert (view.alert.workload, view.alert.suspected_range.last) == (WORKLOAD, request.head)
    [change] = view.alert.changes
    assert change.estimate.change == pytest.approx(0.1, abs=0.01)
    assert request not in branch.docket.requests


@pytest.mark.slow
def test_a_confirmed_change_is_narrowed_down_to_its_commit(suspected):
    branch, request = suspected
    branch.check(request.base, request.head, ratio=1.1)
    while branch.docket.requests:
        [request] = branch.docket.requests
        branch.check(request.base, request.head, ratio=1.1 if request.head == COMMITS else 1.0)

    newest = branch.alerts[0].alert
    assert newest.narrowing is BisectionStatus.ONE_COMMIT
    assert newest.commits.first == COMMITS


@pytest.mark.slow
def test_an_a_b_that_finds_nothing_stays_silent_and_is_not_asked_again(suspected):
    branch, request = suspected
    branch.check(request.base, request.head)

    assert branch.alerts == ()
    assert branch.docket.requests == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"machine": Machine(device=Device.CPU, model="Another CPU")},
        {"head": 99},
        {"workloads": ("gpt:other",)},
        {"pull_request": 7},
    ],
    ids=["another class of machine", "another commit", "another workload", "a pull request's"],
)
def test_what_was_not_asked_for_is_no_answer(suspected, other):
    branch, request = suspected
    fields = {"head": request.head, "ratio": 1.1} | other
    branch.check(request.base, fields.pop("head"), **fields)

    assert request in branch.docket.requests
    assert branch.alerts == ()


@pytest.mark.slow
def test_a_request_that_nobody_answers_is_taken_back_after_a_week(suspected):
    branch, request = suspected
    branch.check(COMMITS, COMMITS + 1, level=1.1, later=timedelta(days=8))

    assert request not in branch.docket.requests
    assert [asked_request.window for asked_request in branch.docket.requests] == ["2026-11-28"]


GPUS = [
    Machine(device=Device.CUDA, model="Test GPU", uuid=f"GPU-{number}", driver="550")
    for number in range(2)
]


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(("witness", "is_other_device"), [(0, False), (1, True)])
def test_an_alert_says_whether_another_device_bore_it_out(branch, witness, is_other_device):
    branch.quiet(machines=GPUS)
    branch.check(COMMITS - 1, COMMITS, level=1.1, machine=GPUS[0])
    [request] = branch.docket.requests
    branch.check(request.base, request.head, ratio=1.1, machine=GPUS[witness])

    [view] = branch.alerts
    assert [change.candidate.devices for change in view.alert.changes] == [("GPU-0",)]
    assert view.is_other_device is is_other_device


def with_gelu(seed, *, base=1.0, head=1.0):
    """Return what a check holds that judges kernels, one of them at these levels."""
    windows = workload(seed, name=WORKLOAD, noise=0.002)
    gelu = kernel(windows, "gelu")
    gelu = on_base(gelu, scaled(gelu.base, base))
    gelu = on_head(gelu, scaled(gelu.head, head))
    plan = Plan(seed=1, order=("base",) * 6, looks=(6,), kernel_pairs=12, kernel_share=0.2)
    return {
        "pairs": 6,
        "plan": plan,
        "metrics": (*METRICS, KERNELS),
        "kernels": (with_kernels(windows, gelu=gelu),),
    }


@pytest.mark.slow(ci_only=True)
def test_a_kernel_family_that_became_slower_alerts_once_an_a_b_confirms_it(branch):
    """A tenth of 6 % of the step: the step's own timing shows nothing."""
    levels = [1.0] * 15 + [1.1] * 15
    for commit in range(1, 30):
        branch.check(
            commit - 1, commit, **with_gelu(commit, base=levels[commit - 1], head=levels[commit])
        )
    [request] = branch.docket.requests
    assert request.base < 15 <= request.head
    assert branch.alerts == ()

    branch.check(request.base, request.head, **with_gelu(99, head=1.1))

    changes = [change for view in branch.alerts for change in view.alert.changes]
    assert {change.candidate.series.metric.name for change in changes} == {"kernel:gelu"}
    assert changes[0].estimate.change == pytest.approx(0.1, abs=0.01)
    events = events_after_search(branch)
    assert [[one.metric for one in event.series] for event in events] == [["kernel:gelu"]]
    [notice] = notices_after_search(branch)
    assert (notice.event_id, notice.upload_id) == (events[0].id, branch.alerts[0].upload_id)


def events_after_search(branch):
    """Return the project's events after a search of its history."""
    search_events(branch.engine, now=branch.now)
    with read_session(branch.engine) as session:
        return tracked_events(session, branch.project_id, today=branch.now.date())


def notices_after_search(branch):
    """Return the notices that a new target gets of alerted events."""
    target = NoticeTarget(channel=NoticeChannel.MAIL, address="team@example.com", hourly=9)
    with write_session(branch.engine) as session:
        add_target(session, branch.project_id, target, now=branch.now)
        session.commit()
    queue_notices(branch.engine, now=branch.now)
    with read_session(branch.engine) as session:
        return notices_of(session, branch.project_id)
