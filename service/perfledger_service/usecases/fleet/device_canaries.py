"""Compares a device's canaries with its own history and its siblings', and stores them.

A device that drifts is put in quarantine until a maintainer releases it. Everything stays within
one project: an upload with its token says nothing about another project's devices.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import geometric_mean

from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.records import CanaryReading, FindingLevel, Machine
from perfledger.rounding import decimals
from perfledger_baselines.judging.device_drift import (
    CanaryComparison,
    CanaryDrift,
    DeviceDrift,
    DriftReference,
    DriftState,
    judge_drift,
)
from perfledger_baselines.planning.epochs import epoch_key
from perfledger_service.errors import TooManyRequestsError
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.store.devices.canary_runs import (
    RateKey,
    add_run,
    count_runs,
    newest_run,
    own_rates,
    rate_key,
    sibling_rates,
    stored_run,
)
from perfledger_service.store.devices.quarantines import (
    add_quarantine,
    device_for,
    find_device,
    open_quarantine,
)
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import Project
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.service_views.devices import CanaryRate, CanaryRun, DeviceKey

SET_BY_CANARIES = "canaries"
UNIDENTIFIED = (
    "it is unknown whether earlier canaries are from this device: identify its host by "
    "/etc/machine-id, or in a container by PERFLEDGER_HOST"
)
MAX_RUNS = 1000  # per project: a fleet's, every hour
QUOTA_PERIOD = timedelta(hours=1)
MAX_NAMED = 3  # of the slower canaries, in one reason


def store_canaries(
    session: Session, project: Project, bundle: Bundle, *, now: datetime
) -> CanaryRun:
    """Judge and store the canaries of a bundle, once; quarantine their device if it drifts.

    The caller holds the project's lock and commits. Raises TooManyRequestsError, and ConflictError
    if the project has too many devices.
    """
    earlier = stored_canaries(session, project, bundle)
    if earlier is not None:
        return earlier
    key = DeviceKey.from_machine(bundle.machine)
    device_id = device_for(session, project.id, key)
    if count_runs(session, project.id, since=now - QUOTA_PERIOD) >= MAX_RUNS:
        msg = f"{project.repository} uploaded canaries {MAX_RUNS} times within an hour: wait"
        raise TooManyRequestsError(msg)
    run = _judged_run(session, device_id, bundle, now=now)
    run_id = add_run(session, device_id, run)
    if run.state is DriftState.DRIFTING and open_quarantine(session, device_id) is None:
        add_quarantine(
            session,
            device_id,
            reason=run.reason,
            set_by=SET_BY_CANARIES,
            since=now,
            canary_run_id=run_id,
        )
        add_audit_entry(
            session,
            AuditAction.QUARANTINE_DEVICE,
            Actor(name=SET_BY_CANARIES),
            project_id=project.id,
            detail=f"{key.name}: {run.reason}",
            now=now,
        )
    return run


def stored_canaries(session: Session, project: Project, bundle: Bundle) -> CanaryRun | None:
    """Return the canaries of a bundle as judged, None if they are not stored."""
    device_id = find_device(session, project.id, DeviceKey.from_machine(bundle.machine))
    return None if device_id is None else stored_run(session, device_id, bundle.id)


def _judged_run(session: Session, device_id: int, bundle: Bundle, *, now: datetime) -> CanaryRun:
    epoch = epoch_key(bundle.machine)
    rates = [_rate(each, bundle.machine) for each in bundle.canaries]
    is_identified = bundle.machine.is_identified
    earlier: Mapping[RateKey, list[float]] = {}
    if is_identified:
        earlier = own_rates(session, device_id, epoch=epoch)
    siblings = sibling_rates(session, device_id)
    busy = [each for each in bundle.host_findings if each.level is FindingLevel.BUSY]
    before = newest_run(session, device_id)
    suspected = () if before is None else [one.title for one in before.rates if one.is_slower]
    drift = judge_drift(list(_comparisons(rates, earlier, siblings)), suspected=suspected)
    if busy:
        state = DriftState.UNKNOWN
        reason = f"other work ran ({busy[0].detail}): run the canaries on an idle machine"
    elif not is_identified:
        state, reason = DriftState.UNKNOWN, UNIDENTIFIED
    else:
        state = drift.state
        reason = _reason(drift, suspected=suspected)
    return CanaryRun(
        bundle_id=bundle.id,
        epoch=epoch,
        is_disturbed=bool(busy),
        state=state,
        reason=reason,
        measured_at=min(datetime.fromisoformat(bundle.created_at), now),
        stored_at=now,
        rates=tuple(_with_comparisons(rates, drift)),
    )


def _rate(reading: CanaryReading, machine: Machine) -> CanaryRate:
    version = machine.frameworks.get(reading.framework, "")
    mig = f", MIG {machine.mig}" if machine.mig else ""
    return CanaryRate(
        name=reading.name,
        framework=reading.framework,
        setting=f"{version}{mig}",
        unit=reading.unit,
        processes=len(reading.rates),
        per_second=geometric_mean(reading.rates),
        expected_per_second=reading.expected_per_second,
    )


def _comparisons(
    rates: Sequence[CanaryRate],
    earlier: Mapping[RateKey, Sequence[float]],
    siblings: Mapping[RateKey, Sequence[float]],
) -> Iterator[CanaryComparison]:
    """Yield two comparisons of each rate, in its order."""
    references = ((DriftReference.OWN_HISTORY, earlier), (DriftReference.SIBLINGS, siblings))
    for rate in rates:
        for reference, values in references:
            yield CanaryComparison(
                canary=rate.title,
                reference=reference,
                rate=rate.per_second,
                reference_rates=tuple(values.get(rate_key(rate), ())),
            )


def _with_comparisons(rates: Sequence[CanaryRate], drift: DeviceDrift) -> Iterator[CanaryRate]:
    """Yield the rates with their two comparisons."""
    pairs = zip(drift.canaries[::2], drift.canaries[1::2], strict=True)
    for rate, (past, sibling) in zip(rates, pairs, strict=True):
        yield replace(
            rate,
            own_count=len(past.comparison.reference_rates),
            own_change=past.change,
            own_detectable=past.smallest_detectable,
            sibling_count=len(sibling.comparison.reference_rates),
            sibling_change=sibling.change,
            sibling_detectable=sibling.smallest_detectable,
            is_slower=past.is_slower or sibling.is_slower,
        )


def _reason(drift: DeviceDrift, *, suspected: Collection[str]) -> str:
    """Return why a device's state is what it is, in words."""
    match drift.state:
        case DriftState.DRIFTING:
            confirmed = [each for each in drift.slower if each.comparison.canary in suspected]
            return f"{_slower_words(confirmed)}; slower in the run before, too"
        case DriftState.SUSPECTED:
            return f"{_slower_words(drift.slower)}: the next run confirms or refutes it"
        case DriftState.STEADY:
            judged = sum(each.change is not None for each in drift.canaries)
            return f"no canary is slower, by {quantity(judged, 'comparison')}"
        case DriftState.UNKNOWN:
            return _unknown_words(drift)


def _slower_words(slower: Sequence[CanaryDrift]) -> str:
    """Name the canaries that are slower, the slowest first."""
    ordered = sorted(slower, key=lambda each: each.change or 0.0)
    named = [_slower_clause(each) for each in ordered[:MAX_NAMED]]
    more = len(ordered) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _slower_clause(drift: CanaryDrift) -> str:
    comparison, loss = drift.comparison, -100 * (drift.change or 0.0)
    count = len(comparison.reference_rates)
    match comparison.reference:
        case DriftReference.OWN_HISTORY:
            return (
                f"{comparison.canary} is {decimals(loss, 1)} % slower than in {count} earlier runs"
            )
        case DriftReference.SIBLINGS:
            return f"{comparison.canary} is {decimals(loss, 1)} % slower than on {count} siblings"


def _unknown_words(drift: DeviceDrift) -> str:
    """Return what would settle an unknown state."""
    most = {
        reference: max(
            (
                len(each.comparison.reference_rates)
                for each in drift.canaries
                if each.comparison.reference is reference
            ),
            default=0,
        )
        for reference in DriftReference
    }
    earlier, siblings = (most[reference] for reference in DriftReference)
    fewest, fewest_siblings = (reference.fewest for reference in DriftReference)
    missing = fewest - earlier
    advice = f"{quantity(missing, 'more run')} of canaries settle{'s' if missing == 1 else ''} it"
    counts = (
        f"{earlier} of {fewest} earlier runs in this state of the machine, {siblings} of "
        f"{fewest_siblings} siblings"
    )
    return f"too little to compare with: {counts}. {advice}, or those of siblings"
