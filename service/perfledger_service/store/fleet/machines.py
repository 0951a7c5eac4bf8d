"""Reads a project's machines, and what its newest checks show about each."""

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import numpy as np
from sqlmodel import Session, col, select

from perfledger.metrics import STEP_TIME
from perfledger.records import Machine
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.epochs import epoch_key
from perfledger_service.store.gate_checks import MAX_CHECKS, uploads_with
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.page_queries import COUNTED_STATUSES
from perfledger_service.store.tables import (
    EnvironmentRow,
    GateCheckRow,
    PairSpreadRow,
    SeriesRow,
    UploadRow,
)
from perfledger_service.values.fleet_views import MachineView

# A check with fewer differences has no standard deviation.
MIN_PAIRS = 2
_PAIR = np.dtype("<f4")  # as the store packs a pair's difference


_MACHINE_DECODER = msgspec.json.Decoder(Machine)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    upload_id: str
    machine: Machine
    measured_at: datetime


def machines_by_hash(session: Session, hashes: Collection[str]) -> dict[str, Machine]:
    """Return machines by the hash of their fingerprint."""
    rows = session.exec(
        select(EnvironmentRow.hash, EnvironmentRow.machine).where(
            col(EnvironmentRow.hash).in_(hashes)
        )
    )
    return {key: _MACHINE_DECODER.decode(machine) for key, machine in rows}


def project_machines(session: Session, project_id: int) -> tuple[tuple[MachineView, ...], int]:
    """Return the machines of a project's newest checks, by class, and the number of checks."""
    checks = _newest_checks(session, project_id)
    upload_ids = [check.upload_id for check in checks]
    undecided = uploads_with(session, upload_ids, Outcome.UNDECIDED)
    held_s = _held_seconds(session, upload_ids)
    spreads = _pair_spreads(session, upload_ids)
    of_machine: defaultdict[tuple[str, str, str, int], list[_Check]] = defaultdict(list)
    for check in checks:
        of_machine[_identity(check.machine)].append(check)
    views = [
        _view(group, undecided=undecided, held_s=held_s, spreads=spreads)
        for _, group in sorted(of_machine.items())
    ]
    return tuple(views), len(checks)


def _newest_checks(session: Session, project_id: int) -> tuple[_Check, ...]:
    """Return a project's newest checks, the newest first."""
    rows = session.exec(
        select(UploadRow.id, UploadRow.environment_hash, UploadRow.measured_at)
        .where(
            col(UploadRow.project_id) == project_id,
            col(UploadRow.status).in_(COUNTED_STATUSES),
            ~IS_IMPORTED,
        )
        .order_by(col(UploadRow.measured_at).desc(), col(UploadRow.id))
        .limit(MAX_CHECKS)
    ).all()
    machines = machines_by_hash(session, {key for _, key, _ in rows})
    return tuple(
        _Check(upload_id=upload_id, machine=machines[key], measured_at=measured_at)
        for upload_id, key, measured_at in rows
    )


def _identity(machine: Machine) -> tuple[str, str, str, int]:
    """Return what identifies a machine: the device's or the host's id, or else the kind of host."""
    if machine.is_identified:
        return machine.machine_class, machine.device_name, "", 0
    return machine.machine_class, "", machine.cpu_model, machine.cores


def _held_seconds(session: Session, upload_ids: Sequence[str]) -> dict[str, float]:
    """Return how many seconds checks held their machine, among those that record it."""
    rows = session.exec(
        select(GateCheckRow.upload_id, GateCheckRow.held_s).where(
            col(GateCheckRow.upload_id).in_(upload_ids), col(GateCheckRow.held_s).is_not(None)
        )
    )
    return {upload_id: seconds for upload_id, seconds in rows if seconds is not None}


def _pair_spreads(session: Session, upload_ids: Sequence[str]) -> dict[str, list[float]]:
    """Return the standard deviations of each check's pairs, one per workload's step time."""
    rows = session.exec(
        select(PairSpreadRow.upload_id, PairSpreadRow.differences)
        .join(SeriesRow)
        .where(
            col(PairSpreadRow.upload_id).in_(upload_ids), col(SeriesRow.metric) == STEP_TIME.name
        )
    )
    of_length: defaultdict[tuple[str, int], list[bytes]] = defaultdict(list)
    for upload_id, packed in rows:
        of_length[upload_id, len(packed) // _PAIR.itemsize].append(packed)
    spreads: defaultdict[str, list[float]] = defaultdict(list)
    for (upload_id, pairs), series in of_length.items():
        if pairs >= MIN_PAIRS:
            spreads[upload_id] += _deviations(series)
    return spreads


def _deviations(series: Sequence[bytes]) -> list[float]:
    """Return the standard deviations of series that have equally many differences.

    They are computed together: a check may have a thousand workloads, and the page shows a hundred
    checks.
    """
    differences = np.frombuffer(b"".join(series), _PAIR).reshape(len(series), -1)
    deviations: list[float] = differences.std(axis=1, ddof=1, dtype=np.float64).tolist()
    return deviations


def _view(
    checks: Sequence[_Check],
    *,
    undecided: Collection[str],
    held_s: Mapping[str, float],
    spreads: Mapping[str, Iterable[float]],
) -> MachineView:
    """Return what one machine's checks, newest first, show about it."""
    newest = checks[0]
    times_s = [held_s[check.upload_id] for check in checks if check.upload_id in held_s]
    noises = [spread for check in checks for spread in spreads.get(check.upload_id, ())]
    return MachineView(
        machine_class=newest.machine.machine_class,
        uuid=newest.machine.uuid,
        newest=newest.machine,
        newest_check=newest.upload_id,
        checks=len(checks),
        undecided=sum(check.upload_id in undecided for check in checks),
        held_s=sum(times_s) if times_s else None,
        noise=statistics.median(noises) if noises else None,
        states=len({epoch_key(check.machine) for check in checks}),
        first_at=checks[-1].measured_at,
        last_at=newest.measured_at,
    )
