"""A suspect of one step time, the A/B request that tests it, and its alert; all made up."""

from dataclasses import replace

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import CommitRange, Series
from perfledger_baselines.history.commits.confirmation_state import (
    AbCandidate,
    AbPurpose,
    AbRequest,
    Alert,
    BisectionStatus,
    ConfirmationState,
    ConfirmedChange,
    PendingConfirmation,
)
from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_service.store.branch_commits import put_places
from perfledger_service.store.confirmation_state import add_alerts, save_confirmation_state
from perfledger_service.store.database import write_session
from perfledger_service.store.default_branch import claim_commits
from perfledger_service.store.observations import add_observations
from perfledger_service.usecases.history.bundle_observations import observations_in

WORKLOAD = "gpt:step"
MACHINE = "cpu:Test CPU:1"
SHAS = ("a" * 40, "b" * 40)


def a_request(workload=WORKLOAD, **values):
    request = AbRequest(
        workload=workload,
        machine_class=MACHINE,
        base=0,
        head=1,
        max_pairs=8,
        purpose=AbPurpose.CONFIRM,
        priority=1.0,
        window="2026-11-20",
    )
    return replace(request, **values)


def a_candidate(workload=WORKLOAD, devices=()):
    return AbCandidate(
        series=Series(workload, STEP_TIME, MACHINE),
        good=0,
        bad=1,
        newest=1,
        change=0.05,
        strength=5.0,
        pair_seconds=1.0,
        devices=devices,
    )


def an_alert(workload=WORKLOAD, narrowing=BisectionStatus.ONE_COMMIT, *, devices=()):
    estimate = EffectEstimate(
        base=1.0,
        head=1.05,
        change=0.05,
        low=0.04,
        high=0.06,
        narrow_low=0.04,
        narrow_high=0.06,
        pairs=8,
        p_value=0.001,
        smallest_detectable=float("inf"),
    )
    return Alert(
        workload=workload,
        machine_class=MACHINE,
        suspected_range=CommitRange(1, 1),
        commits=CommitRange(1, 1),
        changes=(ConfirmedChange(a_candidate(workload, devices), estimate),),
        narrowing=narrowing,
        pairs=8,
    )


def store_suspect(engine, upload_id, bundle, *, workload=WORKLOAD, alerts=(), devices=()):
    """Store a suspect and alerts of project 1, as judging an upload of a bundle would."""
    trial = PendingConfirmation(a_request(workload), (a_candidate(workload, devices),))
    state = ConfirmationState(pending_confirmations=(trial,), window="2026-11-20")
    with write_session(engine) as session:
        add_observations(session, observations_in(bundle), project_id=1, upload_id=upload_id)
        claim_commits(session, 1, SHAS)
        put_places(session, 1, {sha: place for place, sha in enumerate(SHAS)})
        save_confirmation_state(session, 1, state)
        add_alerts(session, alerts, commits=SHAS, project_id=1, upload_id=upload_id)
        session.commit()
