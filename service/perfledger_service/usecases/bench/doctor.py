"""Examines how fit this machine is for measuring, and how small a change it can show."""

import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.protocol import BenchmarkSuite, ChildRequest
from perfledger.records import (
    Device,
    Failure,
    FailureReason,
    FindingLevel,
    HostFinding,
    Machine,
    Side,
    WorkloadSpec,
)
from perfledger.registration.workload_pattern import is_match
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_baselines.estimation.pairing import match_runs
from perfledger_baselines.judging.judge import judge_tests
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_runners.bundles.service_devices import FINDING, quarantine_finding
from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.children.harness import (
    Harness,
    for_workloads,
)
from perfledger_runners.children.protocol_parser import FactsMessage
from perfledger_runners.machine.core_reservation import CoreReservation
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_runners.machine.fingerprint import read_machine
from perfledger_runners.machine.fitness_gate import read_fitness, read_fitness_afterwards
from perfledger_runners.machine.nvml import Gpu
from perfledger_runners.machine.setting_fixes import read_setting_fixes
from perfledger_runners.machine.telemetry import GpuTelemetry
from perfledger_runners.measuring.discovery import Discovery, discover
from perfledger_runners.measuring.paired_runs import measure_pairs
from perfledger_runners.private_folder import private_folder
from perfledger_service.errors import NotFoundError, NotMeasuredError, UsageError
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.bench.power import (
    COUNTS,
    MAX_PAIRS,
    MIN_PAIRS,
    PowerRequest,
    spreads_of_pairs,
)
from perfledger_service.usecases.bench.repository_harness import repository_harness
from perfledger_service.usecases.check.checkouts import CheckProgress
from perfledger_service.usecases.check.child_requests import request_for, requests_for_device
from perfledger_service.usecases.check.measurement import EXPECTED_METRICS
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.repository_config import configured_table, root_of
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.values.doctor_views import DoctorView, MetricNoise, NoiseFloor

# Fewer pairs give no spread of their own; more than a thousand is a study, not an examination.
MIN_MEASURED, MAX_MEASURED = 5, 1000
MINUTES = (1, 5, 10)  # of a check, whose pairs are counted; the default budget is the last
MAX_DETAIL = 400
BUILT_IN_FILE = "built_in.py"
# The repository's own configuration would not find the file.
BUILT_IN_SETTINGS: Mapping[str, object] = {
    "paths": (BUILT_IN_FILE,),
    "import_paths": CheckSettings.model_fields["import_paths"].default,
    "suite": BenchmarkSuite.PERFLEDGER.value,
    "params": {},
}
# About ten milliseconds of pure Python: a step that no framework or device disturbs.
BUILT_IN_STEP = """
import math

import perfledger


@perfledger.workload()
def square_roots():
    numbers = [float(number) for number in range(200_000)]
    return lambda: sum(map(math.sqrt, numbers))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorRequest:
    """The workload to measure against itself, "" for the first one that is registered."""

    workload: str = ""
    pairs: int = 10  # 0: examine without measuring
    budget_s: float = 120.0
    device: str | None = None  # None: as configured
    has_fixes: bool = False  # also list what an administrator should set

    def __post_init__(self) -> None:
        if self.pairs and not MIN_MEASURED <= self.pairs <= MAX_MEASURED:
            msg = (
                f"--pairs {self.pairs}: give {MIN_MEASURED} to {MAX_MEASURED}, or 0 to measure "
                "nothing"
            )
            raise UsageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """What is measured against itself, and with what; `facts` are the repository's child's."""

    harness: Harness
    request: ChildRequest
    facts: FactsMessage | None
    settings: CheckSettings
    workload: WorkloadSpec | None  # None: unknown, and the notes say why
    is_built_in: bool
    notes: tuple[str, ...]


def examine_machine(
    folder: Path,
    request: DoctorRequest,
    *,
    service: UploadTarget | None = None,
    progress: CheckProgress,
) -> DoctorView:
    """Examine this machine, and measure a workload of the working folder against itself.

    Waits for its turn among the machine's checks, and measures on the cores of a check. Without a
    registered workload it measures a built-in step. A service is asked whether the device is in
    quarantine. Raises UsageError, NotFoundError without the named workload, and NotMeasuredError
    without a Python that can run it.
    """
    with translate_errors():
        root = root_of(folder)
        name, table = configured_table(root) or ("", None)
        flags = {"device": request.device}
        settings, _ = check_settings(flags=flags, table=table, table_name=name)
        locks = DeviceLocks(folder=settings.lock_folder, waiting=progress.stage)
        is_stored = service is not None or bool(os.environ.get("CI"))
        with (
            locks,
            CoreReservation(settings.core_choice(is_stored=is_stored)) as cores,
            _site(root, settings, request, progress) as site,
        ):
            machine, gpu = read_machine(
                site.facts, requested=settings.device, environment=os.environ
            )
            locks.measure_on(machine)
            progress.stage("looking at the machine")
            quarantine = () if service is None else (_quarantine_finding(service, machine),)
            findings = (*quarantine, *read_fitness(machine.device, gpu), locks.finding)
            noise = None
            if request.pairs:
                fewest = 1 if site.workload is None else site.workload.devices
                machine = cores.take(machine, fewest=fewest)  # as a check does
                device = Device.CPU if site.is_built_in else machine.device
                noise = _noise_floor(site, request, device, gpu=gpu, progress=progress)
                findings += (read_fitness_afterwards(),)
            fixes = read_setting_fixes(machine.device, gpu) if request.has_fixes else None
    return DoctorView(
        machine=machine,
        findings=findings,
        noise=noise,
        notes=(*site.notes, *cores.notes),
        fixes=fixes,
    )


def _quarantine_finding(service: UploadTarget, machine: Machine) -> HostFinding:
    try:
        return quarantine_finding(service.url, service.credential(), machine)
    except ServiceRequestError as error:  # of GitHub, which gives the token
        return HostFinding(name=FINDING, level=FindingLevel.UNKNOWN, detail=str(error))


@contextmanager
def _site(
    root: Path, settings: CheckSettings, request: DoctorRequest, progress: CheckProgress
) -> Generator[_Site]:
    """Find the workload to measure; if none is registered, write one into its own folder."""
    progress.stage("finding workloads")
    with (
        private_folder() as folder,
        repository_harness(root, settings, launch=settings.launch) as harness,
    ):
        child_request = request_for(root, root, settings)
        discovery = discover(harness, child_request)
        child_request = replace(child_request, files=discovery.files)
        chosen = _chosen_workloads(discovery, request.workload)
        facts, notes = discovery.facts, tuple[str, ...]()
        if not chosen:
            notes = (_built_in_note(discovery, settings),)
            (folder / BUILT_IN_FILE).write_text(BUILT_IN_STEP, encoding="utf-8")
            own_settings = settings.model_copy(update=BUILT_IN_SETTINGS)
            child_request = request_for(folder, folder, own_settings)
            chosen = discover(harness, child_request).workloads
        yield _Site(
            harness=for_workloads(harness, chosen),
            request=child_request,
            facts=facts,
            settings=settings,
            workload=next(iter(chosen), None),
            is_built_in=bool(notes),
            notes=notes,
        )


def _chosen_workloads(discovery: Discovery, pattern: str) -> tuple[WorkloadSpec, ...]:
    """Return the workloads with this name, or all of them; raise NotFoundError if there is none."""
    if not pattern:
        return discovery.workloads
    names = (pattern, f"{pattern}[*")  # a function with parameters is several workloads
    chosen = tuple(
        spec for spec in discovery.workloads if any(is_match(name, spec.id) for name in names)
    )
    if not chosen:
        msg = f"no workload {clean(pattern)}: perfledger bench list lists them"
        raise NotFoundError(msg)
    return chosen


def _built_in_note(discovery: Discovery, settings: CheckSettings) -> str:
    where = clean(", ".join(settings.paths), limit=MAX_DETAIL)
    broken = discovery.broken[0].detail if discovery.broken else ""
    reason = f" ({clean(broken, limit=MAX_DETAIL)})" if broken else ""
    return (
        f"no workload is registered in {where}{reason}: a built-in step of Python was measured, "
        "which says nothing about a device"
    )


def _noise_floor(
    site: _Site,
    request: DoctorRequest,
    device: Device,
    *,
    gpu: Gpu | None,
    progress: CheckProgress,
) -> NoiseFloor:
    """Measure the workload in pairs, with the same code on both sides."""
    if site.workload is None:
        msg = "not measured: the built-in step could not be started; does this Python work?"
        raise NotMeasuredError(msg)
    settings, metrics = site.settings, EXPECTED_METRICS[device]
    margin = settings.margin if site.workload.margin is None else site.workload.margin
    rule = DecisionRule(
        looks=(request.pairs,), alpha=settings.alpha, margin=margin, floor=settings.floor
    )
    began = site.harness.clock()
    paired_runs = measure_pairs(
        replace(site.harness, ends_at=site.harness.clock() + request.budget_s),
        requests_for_device(dict.fromkeys(Side, site.request), device),
        [site.workload],
        GroupSequentialStopping(
            looks=rule.looks,
            alpha=rule.alpha,
            margin=rule.margin,
            floor=rule.floor,
            metrics=metrics,
        ),
        seed=secrets.randbits(32),
        max_pairs=request.pairs,
        budget_s=request.budget_s,
        telemetry=None if gpu is None else GpuTelemetry(gpu),
        progress=progress,
    )
    skipped = (
        Failure(workload=name, side=Side.HEAD, why=FailureReason.SKIPPED, detail=why)
        for name, why in paired_runs.skipped.items()
    )
    pairs = len(paired_runs.order)
    seconds = (site.harness.clock() - began) / max(pairs, 1)
    check_pairs = min(settings.max_pairs, int(settings.budget / seconds))
    power = PowerRequest(
        counts=_counts(seconds, check_pairs),
        tests=len(metrics),
        alpha=settings.alpha,
        floor=settings.floor,
    )
    spreads = spreads_of_pairs(match_runs(paired_runs.runs), metrics, power)
    verdicts = judge_tests([test for test, _ in spreads], rule=rule)
    return NoiseFloor(
        workload=site.workload.id,
        pairs=pairs,
        seconds_per_pair=seconds,
        margin=margin,
        max_pairs=settings.max_pairs,
        check_pairs=check_pairs,
        metrics=tuple(
            MetricNoise(test=test, verdict=verdict, spread=spread)
            for (test, spread), verdict in zip(spreads, verdicts, strict=True)
        ),
        failures=tuple(map(_failure, (*paired_runs.failures, *skipped))),
    )


def _counts(seconds_per_pair: float, check_pairs: int) -> tuple[int, ...]:
    """Return the usual numbers of pairs, a check's number, and those that fit into MINUTES."""
    fitting = (
        check_pairs,
        *(int(SECONDS_PER_MINUTE * minutes / seconds_per_pair) for minutes in MINUTES),
    )
    return tuple(sorted({*COUNTS, *(n for n in fitting if MIN_PAIRS <= n <= MAX_PAIRS)}))


def _failure(failure: Failure) -> str:
    detail = clean(failure.detail, limit=MAX_DETAIL)
    return f"{clean(failure.workload)} {vocabulary.failure_reason_phrase(failure.why)}: {detail}"
