"""Assesses how far a project's checks can be trusted, from the stored results."""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import islice
from threading import Lock

import msgspec
from sqlmodel import Session

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_baselines.judging.explanation import MAX_PAIRS
from perfledger_baselines.judging.shadow_checks import ShadowCheck, shadow_check
from perfledger_baselines.planning.gate_health import GateSettings, gate_health, is_too_noisy
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_service.store.gate_checks import (
    GateUpload,
    StoredGate,
    gate_uploads,
    stored_gates,
    undecided_checks,
)
from perfledger_service.store.uploads import StoredUpload
from perfledger_service.usecases.cost.price_of_check import usd_per_device_hour
from perfledger_service.usecases.inputs.stored_bundles import read_fields
from perfledger_service.values.branch_views import GateView
from perfledger_service.values.report import Report

MAX_PROJECTS = 100  # projects whose gates are cached
MAX_CONCLUSIONS = 10  # of a gate's newest checks


class StoredGateSettings(msgspec.Struct):
    """The settings that a stored bundle's check used."""

    settings: dict[str, object] = {}


_SETTINGS = msgspec.json.Decoder(StoredGateSettings)


def shadow_of(report: Report) -> ShadowCheck | None:
    """Judge a report's pairs again with their sides swapped at random."""
    priors = {
        (verdict.workload, verdict.metric.name): verdict.prior
        for verdict in report.verdicts
        if verdict.prior is not None
    }
    return shadow_check(
        report.tests,
        report.verdicts,
        rule=DecisionRule.from_plan(report.plan),
        priors=priors,
        seed=report.bundle_id,
    )


class ProjectGates:
    """Health of projects' gates, computed once per set of uploads; safe across threads."""

    def __init__(self) -> None:
        self._gates: OrderedDict[tuple[GateUpload, ...], tuple[GateView, ...]] = OrderedDict()
        self._lock = Lock()

    def of_project(self, session: Session, project_id: int) -> tuple[GateView, ...]:
        """Return the health of a project's gates, by machine class."""
        uploads = gate_uploads(session, project_id)
        with self._lock:
            recent = self._gates.get(uploads)
        if recent is not None:
            return recent
        gates = tuple(_gate_view(session, gate, uploads) for gate in stored_gates(session, uploads))
        with self._lock:
            self._gates[uploads] = gates
            while len(self._gates) > MAX_PROJECTS:
                self._gates.popitem(last=False)
        return gates


def priced_gates(gates: Sequence[GateView], *, today: date) -> tuple[GateView, ...]:
    """Return gates with the cost of their checks, if the price of a device-hour is known."""
    return tuple(replace(gate, usd=_usd(gate, today=today)) for gate in gates)


def _usd(gate: GateView, *, today: date) -> Decimal | None:
    """Return the cost of the time for which a gate's checks held their machine's devices."""
    device, _, devices = gate.machine_class.rpartition(":")
    _, _, model = device.partition(":")
    per_hour = usd_per_device_hour(gate.device_price, accelerator_of(model, None), today=today)
    if per_hour is None or gate.held_s is None or not devices.isdecimal():
        return None
    return per_hour * int(devices) * Decimal(gate.held_s) / Decimal(SECONDS_PER_HOUR)


def gate_notes(session: Session, upload: StoredUpload) -> tuple[str, ...]:
    """Return a sentence for an upload's report if its gate was too noisy to be required."""
    undecided, checks = undecided_checks(session, upload)
    if not is_too_noisy(undecided=undecided, checks=checks):
        return ()
    note = (
        f"this gate is too noisy to be required: {undecided} of its last {checks} checks on this "
        "machine class were undecided; the project's page says which settings would help"
    )
    return (note,)


def _gate_view(session: Session, gate: StoredGate, uploads: Sequence[GateUpload]) -> GateView:
    settings = read_fields(session, gate.newest_bundle, _SETTINGS).settings
    times_s = [check.held_s for check in gate.checks if check.held_s is not None]
    mine = (one for one in uploads if one.machine_class == gate.machine_class)
    return GateView(
        machine_class=gate.machine_class,
        health=gate_health(gate.checks, _settings(settings)),
        conclusions=tuple((one.id, one.conclusion) for one in islice(mine, MAX_CONCLUSIONS)),
        held_s=sum(times_s) if times_s else None,
        timed=len(times_s),
        device_price=str(settings.get("device_price", "")),
    )


def _settings(settings: Mapping[str, object]) -> GateSettings | None:
    """Return a check's margin, budget and number of pairs; None if it lacks one."""
    margin, budget_s = settings.get("margin"), settings.get("budget")
    pairs = settings.get("max_pairs")
    if not isinstance(margin, float) or not isinstance(budget_s, int | float):
        return None
    if not (0 < margin < 1 and math.isfinite(budget_s) and budget_s > 0):
        return None
    if not isinstance(pairs, int) or not 0 < pairs <= MAX_PAIRS:
        return None
    return GateSettings(margin=margin, budget_s=budget_s, max_pairs=pairs)
