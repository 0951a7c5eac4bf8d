"""Stores the canaries of devices, and reads the values that a new run is compared with."""

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, func
from sqlmodel import Session, col, select

from perfledger_baselines.judging.device_drift import DriftState
from perfledger_service.store.devices.quarantines import key_of, last_release, open_quarantines
from perfledger_service.store.devices.tables import (
    CanaryRateRow,
    CanaryRunRow,
    ProjectDeviceRow,
    QuarantineRow,
)
from perfledger_service.values.service_views.devices import (
    CanaryRate,
    CanaryRun,
    DeviceView,
    Quarantine,
)

# Most first runs, in one state of its machine, that a device is compared with: if the newest ones
# were used, a slow drift would move the reference.
MAX_EARLIER = 30
# For each sibling, the median of its newest runs, so that one outlier counts little.
RUNS_OF_SIBLING = 5
MAX_SIBLINGS = 200
MAX_PAST = 12  # runs on the page
MAX_DEVICES = 100  # on the page
# Runs of a device that was as expected, or whose state was not known yet.
IS_ACCEPTED: ColumnElement[bool] = and_(
    col(CanaryRunRow.state).in_((DriftState.STEADY, DriftState.UNKNOWN)),
    ~col(CanaryRunRow.is_disturbed),
)

RateKey = tuple[str, str, str]  # name, framework and setting of a canary

_RATE_DECODER = msgspec.json.Decoder(CanaryRate)


def rate_key(rate: CanaryRate) -> RateKey:
    """Return the fields that comparable rates have in common."""
    return rate.name, rate.framework, rate.setting


def stored_run(session: Session, device_id: int, bundle_id: str) -> CanaryRun | None:
    """Return the run of a bundle on a device, None if it is not stored."""
    query = select(CanaryRunRow).where(
        col(CanaryRunRow.device_id) == device_id, col(CanaryRunRow.bundle_id) == bundle_id
    )
    row = session.exec(query).first()
    return None if row is None else _run(session, row)


def newest_run(session: Session, device_id: int) -> CanaryRun | None:
    """Return a device's newest undisturbed run since its last release, None if there is none."""
    query = (
        select(CanaryRunRow)
        .where(*_since_release(session, device_id), ~col(CanaryRunRow.is_disturbed))
        .order_by(col(CanaryRunRow.id).desc())
        .limit(1)
    )
    row = session.exec(query).one_or_none()
    return None if row is None else _run(session, row)


def count_runs(session: Session, project_id: int, *, since: datetime) -> int:
    """Return how many runs of a project's devices arrived since a time."""
    return session.exec(
        select(func.count())
        .select_from(CanaryRunRow)
        .join(ProjectDeviceRow)
        .where(col(ProjectDeviceRow.project_id) == project_id, col(CanaryRunRow.stored_at) >= since)
    ).one()


def add_run(session: Session, device_id: int, run: CanaryRun) -> int:
    """Store a run with its rates, and return its number."""
    row = CanaryRunRow(
        device_id=device_id,
        bundle_id=run.bundle_id,
        epoch=run.epoch,
        is_disturbed=run.is_disturbed,
        state=run.state,
        reason=run.reason,
        measured_at=run.measured_at,
        stored_at=run.stored_at,
    )
    session.add(row)
    session.flush()
    run_id = row.id or 0
    session.add_all(
        CanaryRateRow(run_id=run_id, position=position, **_columns(rate))
        for position, rate in enumerate(run.rates)
    )
    session.flush()
    return run_id


def own_rates(session: Session, device_id: int, *, epoch: str) -> Mapping[RateKey, list[float]]:
    """Return the rates of a device's first accepted runs in a state of its machine.

    A release restarts the history: the device may have been repaired.
    """
    chosen = (
        *_since_release(session, device_id),
        col(CanaryRunRow.epoch) == epoch,
        IS_ACCEPTED,
    )
    query = select(CanaryRunRow.id).where(*chosen).order_by(col(CanaryRunRow.id))
    first_runs = session.exec(query.limit(MAX_EARLIER)).all()
    rates = defaultdict[RateKey, list[float]](list)
    for rate in _rates(session, [run_id or 0 for run_id in first_runs]):
        rates[rate_key(rate)].append(rate.per_second)
    return rates


def sibling_rates(session: Session, device_id: int) -> Mapping[RateKey, list[float]]:
    """Return one typical rate of each sibling: another device of the same model, by its id.

    Devices that cannot be distinguished from others are not siblings. Those in quarantine are left
    out, and so are runs that are not accepted.
    """
    device = session.get(ProjectDeviceRow, device_id)
    if device is None or not device.has_id:
        return {}
    in_quarantine = select(QuarantineRow.device_id).where(col(QuarantineRow.released_at).is_(None))
    siblings = session.exec(
        select(ProjectDeviceRow.id)
        .where(
            col(ProjectDeviceRow.project_id) == device.project_id,
            col(ProjectDeviceRow.device) == device.device,
            col(ProjectDeviceRow.model) == device.model,
            col(ProjectDeviceRow.has_id),
            col(ProjectDeviceRow.id) != device_id,
            col(ProjectDeviceRow.id).not_in(in_quarantine),
        )
        .order_by(col(ProjectDeviceRow.id))
        .limit(MAX_SIBLINGS)
    ).all()
    newest = _newest_runs(
        session, [one or 0 for one in siblings], most=RUNS_OF_SIBLING, is_accepted=True
    )
    rates = defaultdict[RateKey, list[float]](list)
    for run_ids in newest.values():
        of_sibling = defaultdict[RateKey, list[float]](list)
        for rate in _rates(session, run_ids):
            of_sibling[rate_key(rate)].append(rate.per_second)
        for key, values in of_sibling.items():
            rates[key].append(statistics.median(values))
    return rates


def device_views(session: Session, project_id: int) -> tuple[tuple[DeviceView, ...], int]:
    """Return a project's devices with their newest canaries, and how many are omitted.

    Those in quarantine come first.
    """
    rows = session.exec(
        select(ProjectDeviceRow)
        .where(col(ProjectDeviceRow.project_id) == project_id)
        .order_by(col(ProjectDeviceRow.model), col(ProjectDeviceRow.name), col(ProjectDeviceRow.id))
    ).all()
    if not rows:
        return (), 0
    quarantines = {each.device: each for each in open_quarantines(session, project_id)}
    rows = sorted(rows, key=lambda row: key_of(row) not in quarantines)
    rows_on_page = rows[:MAX_DEVICES]
    newest = _newest_runs(session, [row.id or 0 for row in rows_on_page], most=MAX_PAST)
    views = [
        _device_view(session, row, newest.get(row.id or 0, []), quarantines.get(key_of(row)))
        for row in rows_on_page
    ]
    return tuple(views), len(rows) - len(rows_on_page)


def _since_release(session: Session, device_id: int) -> list[ColumnElement[bool]]:
    """Return the conditions of a device's runs since its last release: measured and stored."""
    conditions: list[ColumnElement[bool]] = [col(CanaryRunRow.device_id) == device_id]
    released_at = last_release(session, device_id)
    if released_at is not None:
        times = (col(CanaryRunRow.measured_at), col(CanaryRunRow.stored_at))
        conditions += [time > released_at for time in times]
    return conditions


def _device_view(
    session: Session, row: ProjectDeviceRow, run_ids: list[int], quarantine: Quarantine | None
) -> DeviceView:
    """Return a device with its newest runs, whose newest is first."""
    run = session.get(CanaryRunRow, run_ids[0]) if run_ids else None
    past = defaultdict[RateKey, list[float]](list)
    for rate in _rates(session, run_ids):
        past[rate_key(rate)].append(rate.per_second)
    newest = None if run is None else _run(session, run)
    return DeviceView(
        id=row.id or 0,
        key=key_of(row),
        newest=newest,
        past=() if newest is None else tuple(tuple(past[rate_key(one)]) for one in newest.rates),
        quarantine=quarantine,
    )


def _newest_runs(
    session: Session, device_ids: Collection[int], *, most: int, is_accepted: bool = False
) -> dict[int, list[int]]:
    """Return the numbers of each device's newest runs, newest first."""
    conditions: list[ColumnElement[bool]] = [col(CanaryRunRow.device_id).in_(device_ids)]
    if is_accepted:
        conditions.append(IS_ACCEPTED)
    newest_first = col(CanaryRunRow.id).desc()
    ranked = (
        select(
            CanaryRunRow.id,
            CanaryRunRow.device_id,
            func.row_number()
            .over(partition_by=col(CanaryRunRow.device_id), order_by=newest_first)
            .label("rank"),
        )
        .where(*conditions)
        .subquery()
    )
    runs = defaultdict[int, list[int]](list)
    query = select(ranked.c.id, ranked.c.device_id).where(ranked.c.rank <= most)
    for run_id, device_id in session.exec(query.order_by(ranked.c.id.desc())):
        runs[device_id].append(run_id)
    return runs


def _run(session: Session, row: CanaryRunRow) -> CanaryRun:
    return CanaryRun(
        bundle_id=row.bundle_id,
        epoch=row.epoch,
        is_disturbed=row.is_disturbed,
        state=DriftState(row.state),
        reason=row.reason,
        measured_at=row.measured_at,
        stored_at=row.stored_at,
        rates=tuple(_rates(session, [row.id or 0])),
    )


def _rates(session: Session, run_ids: Collection[int]) -> Iterable[CanaryRate]:
    """Yield the rates of runs, the oldest run first."""
    query = (
        select(CanaryRateRow)
        .where(col(CanaryRateRow.run_id).in_(run_ids))
        .order_by(col(CanaryRateRow.run_id), col(CanaryRateRow.position))
    )
    for row in session.exec(query):
        yield row.to_value(_RATE_DECODER)


def _columns(rate: CanaryRate) -> dict[str, Any]:
    return asdict(rate)
