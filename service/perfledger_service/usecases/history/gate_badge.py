"""Reports the state of the gate of a project's default branch."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.store.events.events import MAX_TRACKED, events_of
from perfledger_service.store.gate_checks import BranchCheck, newest_branch_checks, uploads_with
from perfledger_service.store.projects import project_named
from perfledger_service.values.branch_views import GateBadge, GateState
from perfledger_service.values.report import Conclusion

# The slowest schedule is weekly, so after two weeks one run and its repetition were missed.
STALE_AFTER = timedelta(days=14)
# Events in one of these states need action.
UNRESOLVED = (EventState.OPEN, EventState.ACKNOWLEDGED)


def gate_badge(session: Session, repository: str, *, now: datetime) -> GateBadge:
    """Return the state of a project's gate; raise NotFoundError if there is no such project."""
    project = project_named(session, repository)
    checks = newest_branch_checks(session, project.id)
    if not checks:
        return GateBadge(repository=project.repository, state=GateState.UNKNOWN)
    regressions = _open_regressions(session, project.id)
    measured_at = min(check.measured_at for check in checks)
    return GateBadge(
        repository=project.repository,
        state=GateState.REGRESSED if regressions else _state(session, checks),
        open_regressions=regressions,
        measured_at=measured_at,
        is_stale=now - measured_at > STALE_AFTER,
    )


def _state(session: Session, checks: Sequence[BranchCheck]) -> GateState:
    """Return the joint result of one commit's checks: the worst of them."""
    failed = [one.upload_id for one in checks if one.conclusion == Conclusion.FAILURE]
    if failed:
        if uploads_with(session, failed, Outcome.REGRESSED):
            return GateState.REGRESSED
        is_unmeasured = uploads_with(session, failed, Outcome.NOT_MEASURED)
        return GateState.NOT_MEASURED if is_unmeasured else GateState.FAILING
    if all(one.conclusion == Conclusion.SUCCESS for one in checks):
        return GateState.PASSING
    undecided = uploads_with(session, [one.upload_id for one in checks], Outcome.UNDECIDED)
    return GateState.UNDECIDED if undecided else GateState.UNKNOWN


def _open_regressions(session: Session, project_id: int) -> int:
    """Return how many regressions of the branch's history need action."""
    views = events_of(session, project_id, states=UNRESOLVED, is_imported=False, most=MAX_TRACKED)
    events = [view.event for view in views]
    return sum(
        event.harm is Harm.WORSE and event.is_detected and bool(event.occurrences)
        for event in events
    )
