"""Builds the view of a project's default branch: confirmed and suspected changes."""

from collections.abc import Sequence

from sqlmodel import Session

from perfledger_baselines.history.commits.attribution import CommitRange, ObservedSeries
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    AbRequest,
    ConfirmationState,
)
from perfledger_baselines.history.commits.family_events import family_group, with_family_changes
from perfledger_baselines.history.commits.grouping import GroupedChanges, group_changes
from perfledger_service.store.comments.acceptances import acceptances_of_project
from perfledger_service.store.confirmation_state import alerts_of, confirmation_state_of
from perfledger_service.store.default_branch import (
    branch_series,
    commits_of_branch,
    family_workloads,
    unplaced_commits,
)
from perfledger_service.store.events.events import newest_search
from perfledger_service.store.jobs.runner_jobs import ab_job_reasons
from perfledger_service.store.projects import Project
from perfledger_service.usecases.history.gate_health import ProjectGates
from perfledger_service.usecases.history.kernels import recorded_families
from perfledger_service.usecases.history.observed_series import observed_series
from perfledger_service.values.branch_views import (
    AbRequestView,
    AlertView,
    BranchSearch,
    BranchView,
)


def branch_view(session: Session, project: Project, *, gates: ProjectGates) -> BranchView:
    """Return the view of a project's default branch, with its newest search.

    A search of a long history takes seconds; the service runs it outside of requests.
    """
    stored = newest_search(session, project.id)
    search, is_due = stored or (search_branch(session, project.id)[0], False)
    return BranchView(
        repository=project.repository,
        search=search,
        is_search_due=is_due,
        alerts=_latest(alerts_of(session, project.id)),
        requests=requested_ab_runs(session, project.id),
        gates=gates.of_project(session, project.id),
        acceptances=acceptances_of_project(session, project.id),
        unattested=0 if search.commits else len(unplaced_commits(session, project.id)),
    )


def requested_ab_runs(session: Session, project_id: int) -> tuple[AbRequestView, ...]:
    """Return the A/B runs that would test a project's suspects, the most promising first."""
    state = confirmation_state_of(session, project_id)
    commits = commits_of_branch(session, project_id)
    waits = ab_job_reasons(session, project_id)
    return tuple(
        AbRequestView(
            request=request,
            base_sha=(base := commits[request.base]),
            head_sha=(head := commits[request.head]),
            suspects=_suspects(state, request),
            waits=waits.get((request.workload, request.machine_class, base, head), ""),
        )
        for request in sorted(state.requests, key=lambda request: -request.priority)
    )


def search_branch(
    session: Session, project_id: int
) -> tuple[BranchSearch, tuple[ObservedSeries, ...]]:
    """Search the history of a project's default branch; return its series, too.

    Imported series are searched separately: no event mixes the two kinds, and however many imported
    series there are, they hide no measured one and do not make its changes less significant. So are
    kernel families, whose changes then join the events of their workloads; they are returned with
    only those changes.
    """
    measured, imported = (
        observed_series(branch_series(session, project_id, is_imported=is_imported))
        for is_imported in (False, True)
    )
    groups = [
        family_group(observed_series(families))
        for workload in family_workloads(session, project_id)
        for families in recorded_families(session, project_id, workload)
    ]
    of_measured = with_family_changes(group_changes(measured), groups)
    of_imported = group_changes(imported)
    events = sorted((*of_measured.events, *of_imported.events), key=lambda one: one.commits)
    series = (*measured, *imported)
    search = BranchSearch(
        commits=commits_of_branch(session, project_id),
        grouped_changes=GroupedChanges(
            events=tuple(events),
            environment_changes=(
                *of_measured.environment_changes,
                *of_imported.environment_changes,
            ),
        ),
        watched=len(series),
    )
    return search, (*series, *(one for group in groups for one in group.counted_families))


def _suspects(state: ConfirmationState, request: AbRequest) -> tuple[AbCandidate, ...]:
    tried = (trial.candidates for trial in state.pending_confirmations if trial.request == request)
    searched = (
        tuple(change.candidate for change in search.changes)
        for search in state.bisections
        if search.request == request
    )
    return tuple(suspect for group in (*tried, *searched) for suspect in group)


def _latest(alerts: Sequence[AlertView]) -> tuple[AlertView, ...]:
    """Return the alerts that no later alert of the same change has narrowed down."""
    latest: list[AlertView] = []
    followed: set[tuple[str, str, CommitRange]] = set()
    for view in alerts:
        alert = view.alert
        change = (alert.workload, alert.machine_class, alert.suspected_range)
        if alert.is_final or change not in followed:
            latest.append(view)
        followed.add(change)
    return tuple(latest)
