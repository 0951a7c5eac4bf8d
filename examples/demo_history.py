"""Stores a history of checks for `make demo SERVE=1`, the screenshots and the browser tests.

An invented repository's default branch on three machines, with pull requests, events, an accepted
regression and imported files. All checks are made from recorded ones (`recorded_checks.py`), and
judged, explained and priced by the service like any other.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import product

from demo_commits import (
    A100,
    CPU,
    DECISIONS,
    EFFECTS,
    FIRST_PULL_REQUEST,
    GPT,
    H100,
    NEW_DRIVER,
    NEW_DRIVER_AT,
    PULLS,
    SUBJECTS,
    Effect,
    PullRequest,
)
from demo_machines import seed_machines
from demo_repository import EXAMPLES, REPOSITORY
from recorded_checks import (
    CheckedCommits,
    ShownMachine,
    made_check,
    moved_check,
    recorded_check,
    reverted_check,
    with_kernels,
)
from sqlalchemy import Engine

from perfledger.bundle import Bundle
from perfledger.records import Revision, Side
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.store.comments.acceptances import add_acceptance, set_merged
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import Project, lock_project
from perfledger_service.store.uploads import set_posted, upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.events.event import list_events, set_event
from perfledger_service.usecases.events.search import search_events
from perfledger_service.usecases.history.branch import requested_ab_runs
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.inputs.imports import import_file
from perfledger_service.usecases.server.project import add_project, project_of_name
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.uploads import judge_upload, receive_bundle
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.branch_views import AbRequestView
from perfledger_service.values.fleet_views import ImportKind
from perfledger_service.values.people.person import Actor

COMMITS, PULL_REQUESTS = 60, 12
MAINTAINER = "lead"
BETWEEN_COMMITS = timedelta(hours=11)
SEARCHED_EVERY = 10  # commits
# Requests to confirm a change that no runner has measured yet when the history ends.
UNANSWERED_COMMITS = 4


def seed_history(
    engine: Engine,
    *,
    token: str,
    now: datetime,
    commits: int = COMMITS,
    pull_requests: int = PULL_REQUESTS,
) -> None:
    """Store a project with a default branch of `commits` commits that ends now."""
    add_project(engine, REPOSITORY, token=token, now=now, trust_runners=True)
    project = project_of_name(engine, REPOSITORY)
    history = _History(engine, project, commits=commits, now=now)
    for commit in range(1, commits):
        history.measure_commit(commit)
    first = commits - pull_requests
    for index, pull in enumerate(PULLS[:pull_requests]):
        history.measure_pull_request(FIRST_PULL_REQUEST + index, pull, base=first + index)
    search_events(engine, now=now)
    _decide_on_events(engine, now=now)
    seed_machines(engine, project, commit=_sha(str(commits - 1)), now=now)
    _import_files(engine, now=now)


class _History:
    """The generated history while it is stored."""

    def __init__(self, engine: Engine, project: Project, *, commits: int, now: datetime) -> None:
        self._engine = engine
        self._project = project
        self._commits = commits
        self._end = now
        self._reports = UploadReports(build_report)
        self._recorded = recorded_check("resnet-names")
        self._explained = recorded_check("attention-maps")
        self._profile = next(
            one for one in self._explained.profiles if (one.workload, one.side) == (GPT, Side.BASE)
        )

    def measure_commit(self, commit: int) -> None:
        """Measure a commit against its parent on the machines whose turn it is, and what is due."""
        for shown_machine, every in ((H100, 1), (A100, 2), (CPU, 3)):
            if commit % every == 0:
                self._measure(shown_machine, base=commit - every, head=commit)
        if commit % SEARCHED_EVERY == 0:
            search_events(self._engine, now=self._time(commit) + timedelta(minutes=25))
        if commit < self._commits - UNANSWERED_COMMITS:
            for request in self._due_requests():
                self._measure_request(request, at=commit)

    def measure_pull_request(self, number: int, pull: PullRequest, *, base: int) -> None:
        """Measure each push of a pull request on its machines."""
        for push, shown_machine in product(range(pull.pushes), pull.machines):
            head, at = self._pushed(number, pull, push=push, base=base)
            base_levels = _levels(shown_machine, base)
            pairs = CheckedCommits(
                base=self._revision(base),
                head=head,
                base_levels=base_levels,
                head_levels=_changed(base_levels, pull.effect, shown_machine),
                measured_at=at + timedelta(minutes=9),
                pull_request=number,
                machine_classes=pull.expects,
            )
            seed = f"{number}/{push}/{shown_machine.machine.model}"
            explained = reverted_check(self._explained) if pull.is_undone else self._explained
            bundle = (
                moved_check(explained, pairs, seed=seed)
                if pull.has_profiles
                else made_check(self._recorded, _machine_at(shown_machine, base), pairs, seed=seed)
            )
            self._store(bundle)
        if pull.accepted and pull.effect is not None:
            head, _ = self._pushed(number, pull, push=pull.pushes - 1, base=base)
            self._accept(number, head, pull.effect.workload, reason=pull.accepted)

    def _pushed(
        self, number: int, pull: PullRequest, *, push: int, base: int
    ) -> tuple[Revision, datetime]:
        """Return a head of a pull request, and when it was pushed."""
        at = self._time(base) + timedelta(hours=1 + 3 * push, minutes=11)
        sha = _sha(f"{number}/{push}")
        return Revision(sha=sha, subject=pull.subject, committed_at=at.isoformat()), at

    def _measure(
        self, shown_machine: ShownMachine, *, base: int, head: int, suffix: str = ""
    ) -> None:
        commits = CheckedCommits(
            base=self._revision(base),
            head=self._revision(head),
            base_levels=_levels(shown_machine, base),
            head_levels=_levels(shown_machine, head),
            measured_at=self._time(head) + timedelta(minutes=20),
        )
        seed = f"{base}..{head}/{shown_machine.machine.model}{suffix}"
        machine = _machine_at(shown_machine, head)
        bundle = made_check(self._recorded, machine, commits, seed=seed)
        if shown_machine is H100:
            bundle = with_kernels(bundle, self._profile, machine, commits, seed=seed)
        self._store(bundle)

    def _due_requests(self) -> tuple[AbRequestView, ...]:
        with read_session(self._engine) as session:
            return requested_ab_runs(session, self._project.id)[:1]

    def _measure_request(self, view: AbRequestView, *, at: int) -> None:
        """Answer a request for an A/B run, as a runner would."""
        place = {_sha(str(commit)): commit for commit in range(self._commits)}
        classes = {
            shown_machine.machine.machine_class: shown_machine
            for shown_machine in (H100, A100, CPU)
        }
        self._measure(
            classes[view.request.machine_class],
            base=place[view.base_sha],
            head=place[view.head_sha],
            suffix=f"/requested at {at}",
        )

    def _store(self, bundle: Bundle) -> None:
        bundle = replace(bundle, repository=self._project.repository)
        now = datetime.fromisoformat(bundle.created_at) + timedelta(minutes=2)
        data = bundle.to_json().encode()
        upload = receive_bundle(
            self._engine, data, project=self._project, upload_id=bundle.id, now=now
        )
        judge_upload(self._engine, upload.id, reports=self._reports, now=now)
        if bundle.pull_request is None:
            return
        with write_session(self._engine) as session:
            judged = upload_by_id(session, upload.id)
            set_posted(
                session,
                judged,
                conclusion=judged.conclusion,
                title=judged.title,
                headline=judged.headline,
            )
            session.commit()

    def _accept(self, number: int, head: Revision, workload: str, *, reason: str) -> None:
        at = datetime.fromisoformat(head.committed_at) + timedelta(hours=5)
        acceptance = Acceptance(
            pull_request=number,
            head_sha=head.sha,
            login=MAINTAINER,
            workload=workload,
            reason=reason,
            accepted_at=at,
            until=(at + timedelta(days=90)).date(),
        )
        with write_session(self._engine) as session:
            lock_project(session, self._project.id)
            add_acceptance(session, self._project.id, acceptance, comment_id=number)
            set_merged(session, self._project.id, number, _sha("merged"))
            session.commit()
        for view in list_events(self._engine, self._project).events:
            if view.event.pull_request == number:
                set_event(
                    self._engine,
                    self._project,
                    view.event.id,
                    EventState.EXPECTED,
                    actor=Actor(name=acceptance.login),
                    reason=reason,
                    owner=acceptance.login,
                    until=acceptance.until,
                    now=at,
                )

    def _revision(self, commit: int) -> Revision:
        return Revision(
            sha=_sha(str(commit)),
            subject=SUBJECTS[commit % len(SUBJECTS)],
            depth=commit,
            committed_at=self._time(commit).isoformat(),
        )

    def _time(self, commit: int) -> datetime:
        return self._end - (self._commits - commit) * BETWEEN_COMMITS


def _machine_at(shown_machine: ShownMachine, commit: int) -> ShownMachine:
    """Return the machine as of a commit: the A100's driver was updated."""
    if shown_machine is A100 and commit >= NEW_DRIVER_AT:
        return replace(shown_machine, machine=replace(shown_machine.machine, driver=NEW_DRIVER))
    return shown_machine


def _levels(shown_machine: ShownMachine, commit: int) -> Mapping[tuple[str, str], float]:
    levels: dict[tuple[str, str], float] = {}
    for effect in EFFECTS:
        if effect.commit <= commit:
            levels = _changed(levels, effect, shown_machine)
    return levels


def _changed(
    levels: Mapping[tuple[str, str], float], effect: Effect | None, shown_machine: ShownMachine
) -> dict[tuple[str, str], float]:
    """Return the levels after an effect."""
    if effect is None or shown_machine not in effect.machines:
        return dict(levels)
    key = effect.workload, effect.metric
    return {**levels, key: levels.get(key, 1.0) * effect.factor}


def _decide_on_events(engine: Engine, *, now: datetime) -> None:
    """Set the states of two events, as maintainers would."""
    project = project_of_name(engine, REPOSITORY)
    for view in list_events(engine, project).events:
        series = view.event.series[0]
        is_regression = view.is_regression and view.event.pull_request is None
        decision = DECISIONS.get((series.workload, series.metric)) if is_regression else None
        if decision is not None and len(view.event.series) == decision.series:
            set_event(
                engine,
                project,
                view.event.id,
                decision.state,
                actor=Actor(name=MAINTAINER),
                reason=decision.reason,
                owner=MAINTAINER,
                until=(now + timedelta(days=60)).date() if decision.has_end else None,
                now=now,
            )


def _import_files(engine: Engine, *, now: datetime) -> None:
    """Import the example files about a fleet."""
    for kind, path in (
        (ImportKind.ACTIVITY, EXAMPLES / "commands" / "activity.csv"),
        (ImportKind.USAGE, EXAMPLES / "review" / "usage.csv"),
        (ImportKind.JOBS, EXAMPLES / "review" / "jobs.csv"),
    ):
        file = NamedBytes(path.name, path.read_bytes())
        import_file(engine, file, kind=kind, source="cluster", now=now)


def _sha(name: str) -> str:
    """Return the hash of an invented commit."""
    return sha256(f"{REPOSITORY} {name}".encode()).hexdigest()[:40]
