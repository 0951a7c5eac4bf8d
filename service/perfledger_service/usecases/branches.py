"""A project's name in, what its default branch did out: confirmed, suspected and put together."""

from collections.abc import Sequence

from sqlmodel import Session

from perfledger_baselines.alarms import AlarmRate, alarm_rate
from perfledger_baselines.history.attribution import CommitRange, Observed
from perfledger_baselines.history.detect import detect_many
from perfledger_baselines.history.docket import Docket, Request, Suspicion
from perfledger_baselines.history.events import find_events
from perfledger_service.store.branch import BranchSeries, branch_series, commits_of_branch
from perfledger_service.store.dockets import alerts_of, docket_of
from perfledger_service.store.gate import false_alarms
from perfledger_service.store.projects import Project
from perfledger_service.views import AlertView, AskedView, BranchView


def branch_view(session: Session, project: Project) -> BranchView:
    """Return what a project's page shows of its default branch."""
    series = branch_series(session, project.id)
    return BranchView(
        repository=project.repository,
        commits=commits_of_branch(session, project.id),
        alerts=_latest(alerts_of(session, project.id)),
        asked=asked_for(session, project.id),
        happenings=find_events(_searched(series)),
        watched=len(series),
        gate=_gate(session, project.id),
    )


def asked_for(session: Session, project_id: int) -> tuple[AskedView, ...]:
    """Return the A/Bs that a project's suspicions ask for, the most promising first."""
    docket = docket_of(session, project_id)
    commits = commits_of_branch(session, project_id)
    return tuple(
        AskedView(
            request=request,
            base_sha=commits[request.base],
            head_sha=commits[request.head],
            suspicions=_suspicions(docket, request),
        )
        for request in sorted(docket.requests, key=lambda request: -request.priority)
    )


def _suspicions(docket: Docket, request: Request) -> tuple[Suspicion, ...]:
    tried = (trial.suspicions for trial in docket.trials if trial.request == request)
    searched = (
        tuple(change.suspicion for change in search.changes)
        for search in docket.searches
        if search.request == request
    )
    return tuple(suspicion for group in (*tried, *searched) for suspicion in group)


def _searched(series: Sequence[BranchSeries]) -> list[Observed]:
    histories = detect_many([one.values for one in series])
    return [
        Observed(
            series=one.series,
            commits=one.places,
            changes=history.changes,
            environments=one.environments,
        )
        for one, history in zip(series, histories, strict=True)
    ]


def _latest(alerts: Sequence[AlertView]) -> tuple[AlertView, ...]:
    """Return the alerts without those that a later one of the same change has narrowed down."""
    kept: list[AlertView] = []
    followed: set[tuple[str, str, CommitRange]] = set()
    for view in alerts:
        alert = view.alert
        change = (alert.workload, alert.machine_class, alert.suspected)
        if alert.is_final or change not in followed:
            kept.append(view)
        followed.add(change)
    return tuple(kept)


def _gate(session: Session, project_id: int) -> AlarmRate | None:
    false, checks = false_alarms(session, project_id)
    return alarm_rate(false=false, checks=checks) if checks else None
