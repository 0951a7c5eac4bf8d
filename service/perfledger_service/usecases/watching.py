"""A judged upload in, what it answers and what it makes suspect out, on the project's docket.

Nobody is called for one odd point. It leads to a request for an A/B of its commit, which a runner
measures as any check (`perfledger suspects` prints the command); what that bears out is an alert.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Side
from perfledger_baselines.history.confirmation import answer, ask, forget
from perfledger_baselines.history.docket import Alert, Docket, Limits, Request
from perfledger_baselines.history.suspicions import Watched, suspicions_of
from perfledger_baselines.verdict import Verdict
from perfledger_service.store.branch import (
    MOST_COMMITS,
    BranchSeries,
    add_to_branch,
    branch_series,
    commits_of_branch,
)
from perfledger_service.store.dockets import add_alerts, docket_of, save_docket
from perfledger_service.usecases.histories import is_of_branch

# A request that nobody measured for so long is asked anew, of the commits that are newest then.
PATIENCE = timedelta(days=7)
# A pair that took less was not timed at all; requests are sorted by what they find a second.
_SHORTEST_PAIR_SECONDS = 1e-3


def watch(
    session: Session,
    bundle: Bundle,
    verdicts: Sequence[Verdict],
    *,
    project_id: int,
    upload_id: str,
    now: datetime,
) -> None:
    """Take a judged upload's commits onto the default branch, and see what follows from them.

    If its two commits are an A/B that was asked for, its verdicts are the answer. The series that
    it added to are then looked at, and A/Bs asked for: of at most 200 pairs a day. The caller holds
    the project's lock and commits.
    """
    head = (bundle.head.sha,) if is_of_branch(bundle) else ()
    add_to_branch(session, project_id, (bundle.base.sha, *head))
    docket = docket_of(session, project_id)
    docket, alerts = _answered(docket, bundle, verdicts, commits_of_branch(session, project_id))
    docket = _without_stale(docket, today=now.date())
    series = branch_series(session, project_id, upload_id=upload_id)
    seconds = _pair_seconds(bundle)
    watched = [_watched(one, seconds[one.series.workload]) for one in series]
    window = now.date().isoformat()
    docket, _ = ask(docket, suspicions_of(watched), window=window, limits=Limits())
    newest = max((one.places[-1] for one in series), default=0)
    save_docket(session, project_id, forget(docket, before=newest - MOST_COMMITS))
    add_alerts(session, alerts, project_id=project_id, upload_id=upload_id)


def _answered(
    docket: Docket, bundle: Bundle, verdicts: Sequence[Verdict], commits: Sequence[str]
) -> tuple[Docket, tuple[Alert, ...]]:
    """Return the docket without the requests that a bundle answers, and what there is to say."""
    alerts: list[Alert] = []
    for request in docket.requests:
        if _is_answer(bundle, request, commits):
            of_workload = [one for one in verdicts if one.workload == request.workload]
            pairs = max((one.estimate.pairs for one in of_workload if one.estimate), default=0)
            docket, said = answer(docket, request, verdicts=of_workload, pairs=pairs)
            alerts += said
    return docket, tuple(alerts)


def _is_answer(bundle: Bundle, request: Request, commits: Sequence[str]) -> bool:
    """Tell whether a bundle measured what was asked for, on the class of machine it was asked of.

    A workload that failed was measured on the bundle's own machine.
    """
    asked = (commits[request.base], commits[request.head])
    machine = bundle.machines().get((request.workload, Side.HEAD), bundle.machine)
    return (
        (bundle.base.sha, bundle.head.sha) == asked
        and machine.device_class == request.machine_class
        and request.workload in {spec.id for spec in bundle.workloads}
    )


def _without_stale(docket: Docket, *, today: date) -> Docket:
    """Take back the requests that nobody answered: no verdict is the answer "not measured"."""
    for request in docket.requests:
        if date.fromisoformat(request.window) < today - PATIENCE:
            docket, _ = answer(docket, request, verdicts=(), pairs=0)
    return docket


def _watched(one: BranchSeries, pair_seconds: float) -> Watched:
    return Watched(
        series=one.series,
        commits=one.places,
        values=one.values,
        pair_seconds=pair_seconds,
        devices=one.devices,
    )


def _pair_seconds(bundle: Bundle) -> dict[str, float]:
    """Return what the steps of a workload's pair take; setting up is not told, and left out."""
    steps: dict[str, float] = {}
    pairs: dict[str, set[int]] = {}
    for run in bundle.runs:
        timed = sum(run.warmups_s) + sum(run.samples.get(STEP_TIME.name, ()))
        steps[run.workload] = steps.get(run.workload, 0.0) + timed
        pairs.setdefault(run.workload, set()).add(run.pair)
    return {
        workload: max(seconds / len(pairs[workload]), _SHORTEST_PAIR_SECONDS)
        for workload, seconds in steps.items()
    }
