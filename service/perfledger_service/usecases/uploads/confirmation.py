"""Confirms suspected changes of a project's default branch.

One deviating point raises no alert. It leads to a request for an A/B run of its commit, which a
runner measures like any check (`perfledger history suspects` prints the command); a change that the
run confirms is an alert.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta

from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Side
from perfledger_baselines.history.commits.ab_candidates import (
    CandidateSeries,
    ab_candidates,
    family_candidates,
)
from perfledger_baselines.history.commits.confirmation import (
    drop_answers,
    record_ab_result,
    request_ab_runs,
)
from perfledger_baselines.history.commits.confirmation_state import (
    AbRequest,
    Alert,
    ConfirmationLimits,
    ConfirmationState,
)
from perfledger_baselines.judging.verdict import Verdict
from perfledger_service.store.confirmation_state import (
    add_alerts,
    confirmation_state_of,
    save_confirmation_state,
)
from perfledger_service.store.default_branch import (
    MAX_COMMITS,
    BranchSeries,
    branch_series,
    claim_commits,
    commits_of_branch,
)
from perfledger_service.usecases.events.search import unexpected_candidates
from perfledger_service.usecases.history.kernels import recorded_families
from perfledger_service.usecases.history.observed_series import epochs_of
from perfledger_service.usecases.uploads.branch_places import BranchPlaces, store_places

# A request that stays unmeasured for this long is replaced by one of the newest commits.
MAX_REQUEST_AGE = timedelta(days=7)
# A shorter pair was not timed at all; requests are sorted by how much they detect per second.
_MIN_PAIR_SECONDS = 1e-3


def confirm_suspects(
    session: Session,
    bundle: Bundle,
    verdicts: Sequence[Verdict],
    *,
    places: BranchPlaces,
    project_id: int,
    upload_id: str,
    is_evidence: bool,
    now: datetime,
) -> None:
    """Add a judged upload's commits to the default branch, and update the confirmation state.

    The state counts commits, so it is reset if a new commit comes before an existing one. If the
    upload's two commits are a requested A/B run, its verdicts are the answer, except on a device in
    quarantine; `verdicts` include those on single kernel families. Then the series that it adds to
    are searched for suspects, and A/B runs requested, at most 200 pairs a day. The caller holds the
    project's lock and commits.
    """
    earlier = commits_of_branch(session, project_id)
    claim_commits(session, project_id, [one.sha for one in places.claimed])
    store_places(session, project_id, places)
    commits = commits_of_branch(session, project_id)
    is_same_order = commits[: len(earlier)] == earlier
    state = confirmation_state_of(session, project_id) if is_same_order else ConfirmationState()
    alerts = tuple[Alert, ...]()
    if is_evidence:
        state, alerts = _answer_requests(state, bundle, verdicts, commits)
    state = _without_stale(state, today=now.date())
    # No runner can measure on the machine of an import.
    series = () if bundle.is_imported else branch_series(session, project_id, upload_id=upload_id)
    seconds = _pair_seconds(bundle, {one.series.workload for one in series})
    candidates = ab_candidates([_watched_series(one, seconds) for one in series])
    for families in _watched_families(session, project_id, bundle, series, seconds):
        candidates += family_candidates(families)
    state, _ = request_ab_runs(
        state,
        unexpected_candidates(session, project_id, candidates, today=now.date()),
        window=now.date().isoformat(),
        limits=ConfirmationLimits(),
    )
    newest = max((one.positions[-1] for one in series), default=0)
    save_confirmation_state(session, project_id, drop_answers(state, before=newest - MAX_COMMITS))
    add_alerts(session, alerts, commits=commits, project_id=project_id, upload_id=upload_id)


def _answer_requests(
    state: ConfirmationState, bundle: Bundle, verdicts: Sequence[Verdict], commits: Sequence[str]
) -> tuple[ConfirmationState, tuple[Alert, ...]]:
    """Return the state without the requests that a bundle answers, and the new alerts."""
    alerts: list[Alert] = []
    for request in state.requests:
        if _is_answer(bundle, request, commits):
            of_workload = [one for one in verdicts if one.workload == request.workload]
            pairs = max((one.estimate.pairs for one in of_workload if one.estimate), default=0)
            state, new_alerts = record_ab_result(state, request, verdicts=of_workload, pairs=pairs)
            alerts += new_alerts
    return state, tuple(alerts)


def _is_answer(bundle: Bundle, request: AbRequest, commits: Sequence[str]) -> bool:
    """Return whether a bundle measured a request on the requested machine class.

    A workload that failed counts as measured on the bundle's machine. A pull request's bundle
    answers nothing: its code could choose the answer.
    """
    requested_commits = (commits[request.base], commits[request.head])
    machine = bundle.machines().get((request.workload, Side.HEAD), bundle.machine)
    return (
        bundle.pull_request is None
        and (bundle.base.sha, bundle.head.sha) == requested_commits
        and machine.machine_class == request.machine_class
        and request.workload in {spec.id for spec in bundle.workloads}
    )


def _without_stale(state: ConfirmationState, *, today: date) -> ConfirmationState:
    """Drop unanswered requests: without verdicts the answer is "not measured"."""
    for request in state.requests:
        if date.fromisoformat(request.window) < today - MAX_REQUEST_AGE:
            state, _ = record_ab_result(state, request, verdicts=(), pairs=0)
    return state


def _watched_families(
    session: Session,
    project_id: int,
    bundle: Bundle,
    series: Sequence[BranchSeries],
    seconds: Mapping[str, float],
) -> Iterator[list[CandidateSeries]]:
    """Yield the kernel families that a bundle adds to, of one workload and machine class each."""
    added = {(one.series.workload, one.series.machine_class) for one in series}
    for workload in sorted({windows.workload for windows in bundle.kernels}):
        for families in recorded_families(session, project_id, workload):
            if (workload, families[0].series.machine_class) in added:
                yield [_watched_series(one, seconds) for one in families]


def _watched_series(series: BranchSeries, seconds: Mapping[str, float]) -> CandidateSeries:
    return CandidateSeries(
        series=series.series,
        commits=series.positions,
        values=series.values,
        pair_seconds=seconds[series.series.workload],
        devices=series.devices,
        times=series.times,
        epochs=epochs_of(series),
    )


def _pair_seconds(bundle: Bundle, workloads: Collection[str]) -> dict[str, float]:
    """Return the step time of these workloads' pairs; set-up time is unknown and not included."""
    steps: dict[str, float] = {}
    pairs: dict[str, set[int]] = {}
    for run in bundle.runs:
        if run.workload not in workloads:
            continue
        steps_s = run.evidence.seconds_of(run.samples.get(STEP_TIME.name, ()))
        timed = sum(run.warmups_s) + steps_s
        steps[run.workload] = steps.get(run.workload, 0.0) + timed
        pairs.setdefault(run.workload, set()).add(run.pair)
    return {
        workload: max(seconds / len(pairs[workload]), _MIN_PAIR_SECONDS)
        for workload, seconds in steps.items()
    }
