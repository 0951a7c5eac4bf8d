"""Checks a change: measures, judges, explains and prices it."""

import os
import secrets
import tempfile
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import (
    CPU_TIME,
    ENERGY_PER_STEP,
    METRICS,
    OPTIONAL_METRICS,
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    Metric,
)
from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import Device, Machine, Side
from perfledger_baselines.estimation.tail_quantiles import fewest_steps
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_baselines.significance.spread_prior import priors_of_plan
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.submodules import fill_submodules
from perfledger_runners.children.harness import ChildLimits, Harness, prepare_harness, waiting_notes
from perfledger_runners.children.interpreter import find_python
from perfledger_runners.machine.fingerprint import fingerprint, host_notes, read_host
from perfledger_runners.machine.nvml import Gpu, find_gpu, load_nvml
from perfledger_runners.machine.telemetry import ENERGY_SECONDS, GpuTelemetry
from perfledger_runners.measuring.count_work import count_both
from perfledger_runners.measuring.discovery import Discovery
from perfledger_runners.measuring.paired_runs import MeasuringProgress, PairedRuns, measure_pairs
from perfledger_runners.measuring.profile_runs import profile_both
from perfledger_service.errors import UsageError
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.measuring_budget import measuring_allowance
from perfledger_service.usecases.check.new_workloads import (
    MAX_NAMES,
    comparison_advice,
    other_base_workloads,
)
from perfledger_service.usecases.check.regression_profiles import with_profiles
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.check.revisions import (
    CheckConfiguration,
    RevisionPair,
    configuration_of,
    resolve_revisions,
)
from perfledger_service.usecases.check.side_code import SideCode, prepare_code
from perfledger_service.usecases.check.workload_plan import WorkloadPlan, plan_workloads
from perfledger_service.usecases.history.known_spreads import KnownSpreads, find_known_spreads
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.values.report import Report

# Metrics expected of workloads on a device: the family of tests that the stopping rule plans for.
EXPECTED_METRICS = {
    Device.CPU: (STEP_TIME, PEAK_MEMORY, CPU_TIME),
    Device.CUDA: (STEP_TIME, PEAK_MEMORY, SM_ACTIVE),
    Device.TPU: (STEP_TIME, PEAK_MEMORY),
}
# Seconds of interleaved steps per side and pair. On a busy CPU processes differ by more than
# another second of turns would resolve: the time is better spent on another pair.
INTERLEAVED_SECONDS = 0.75


class CheckProgress(MeasuringProgress, Protocol):
    """Receiver of a check's progress."""

    def stage(self, name: str) -> None:
        """Report that the next part of the check begins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The revisions of a check; "" leaves the choice to perfledger."""

    base: str = ""
    head: str = ""
    globs: tuple[str, ...] = ()
    repository: str = ""  # owner/name
    pull_request: int | None = None


def check(
    folder: Path,
    request: CheckRequest,
    *,
    flags: Mapping[str, object],
    progress: CheckProgress,
    history: UploadTarget | Path | None = None,
) -> tuple[Bundle, Report]:
    """Measure, judge, explain and price a change of the repository that `folder` is in.

    `history` is the service that knows the spread of earlier pairs, or a file with its answer: with
    it fewer pairs are enough. Raises UsageError for revisions that cannot be compared,
    SettingsError, and NotMeasuredError without a Python that can run the workloads. A workload that
    fails is a verdict, never an error.
    """
    with translate_errors():
        repository = Repository.open(folder)
        sides = resolve_revisions(repository, base=request.base, head=request.head)
        configuration = configuration_of(repository, sides, flags=flags)
        with _check_out_revisions(repository, sides, configuration, progress) as site:
            bundle = _measure(site, request, progress, history=history)
        bundle = replace(
            bundle,
            repository=request.repository or repository.origin_name(),
            notes=configuration.notes + site.notes + bundle.notes,
        )
        progress.stage("judging, explaining and pricing")
        return bundle, build_report(bundle, today=datetime.now(UTC).date(), is_local=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CheckSite:
    """The two checkouts of a check, and what children are started with."""

    repository: Repository
    sides: RevisionPair
    configuration: CheckConfiguration
    harness: Harness
    code: SideCode
    notes: tuple[str, ...]

    @property
    def requests(self) -> Mapping[Side, ChildRequest]:
        """Return the request that lists each side's workloads."""
        return self.code.requests


@contextmanager
def _check_out_revisions(
    repository: Repository,
    sides: RevisionPair,
    configuration: CheckConfiguration,
    progress: CheckProgress,
) -> Generator[_CheckSite]:
    """Check out and build both revisions side by side, and remove the checkouts at the end."""
    settings = configuration.settings
    interpreter = find_python(repository.root, settings.python)
    limits = ChildLimits(workload_s=settings.timeout, startup_s=settings.timeout)
    with (
        tempfile.TemporaryDirectory(prefix="perfledger-", ignore_cleanup_errors=True) as name,
        repository.worktree(sides.base.sha, Path(name) / "base") as base,
        repository.worktree(sides.head.sha, Path(name) / "head") as head,
        prepare_harness(interpreter, environment=os.environ, limits=limits) as harness,
    ):
        requests = {
            Side.BASE: request_for(base, repository.root, settings),
            Side.HEAD: request_for(head, repository.root, settings),
        }
        submodule_notes = (
            *fill_submodules(repository.root, base, sides.base.sha),
            *fill_submodules(repository.root, head, sides.head.sha),
        )
        with prepare_code(
            repository,
            sides,
            requests,
            settings,
            interpreter=interpreter,
            environment=os.environ,
            stage=progress.stage,
        ) as code:
            yield _CheckSite(
                repository=repository,
                sides=sides,
                configuration=configuration,
                harness=harness,
                code=code,
                notes=tuple(dict.fromkeys(submodule_notes)),
            )


def request_for(checkout: Path, repository: Path, settings: CheckSettings) -> ChildRequest:
    """Return the request that lists a checkout's workloads; other requests extend it."""
    return ChildRequest(
        command=Command.LIST,
        root=str(checkout),
        repository=str(repository),
        import_paths=settings.import_paths,
        paths=settings.paths,
        params=settings.params,
        device=settings.device,
        effort=_effort(settings),
    )


def _optional_metrics(settings: CheckSettings) -> tuple[Metric, ...]:
    return tuple(OPTIONAL_METRICS[name] for name in dict.fromkeys(settings.metrics))


def _effort(settings: CheckSettings) -> MeasuringEffort:
    """Return the default effort, raised to what the optional metrics need."""
    usual, metrics = MeasuringEffort(), _optional_metrics(settings)
    needed = fewest_steps(metrics)
    seconds = ENERGY_SECONDS if ENERGY_PER_STEP in metrics else 0.0
    return replace(
        usual,
        min_steps=max(usual.min_steps, needed),
        max_steps=max(usual.max_steps, needed),
        min_seconds=max(usual.min_seconds, seconds),
        max_seconds=max(usual.max_seconds, seconds),
    )


def _measure(
    site: _CheckSite,
    request: CheckRequest,
    progress: CheckProgress,
    *,
    history: UploadTarget | Path | None,
) -> Bundle:
    settings = site.configuration.settings
    progress.stage("finding workloads")
    base, head = (site.code.discover(site.harness, side) for side in (Side.BASE, Side.HEAD))
    workload_plan = plan_workloads(base, head, globs=request.globs, params=settings.params)
    if not (workload_plan.workloads or workload_plan.failures):
        raise UsageError(_no_workloads_message(settings, request))
    other_names, advice = _unmatched_on_base(site, workload_plan, base, request.globs)
    machine, gpu, notes = _machine(head, settings)
    allowance = measuring_allowance(settings, machine, today=datetime.now(UTC).date())
    names = [spec.id for spec in workload_plan.to_measure]
    known_spreads = find_known_spreads(history, machine, names)
    plan = _plan(settings, names, known_spreads)
    progress.stage("counting the work of a step")
    step_works = count_both(
        site.harness,
        site.requests,
        workload_plan.to_measure,
        is_at_once=machine.device is Device.CPU,
    )
    progress.stage("measuring pairs of base and head")
    paired_runs = _pairs(
        site,
        settings,
        workload_plan,
        machine.device,
        plan=plan,
        gpu=gpu,
        budget_s=allowance.seconds,
        progress=progress,
    )
    bundle = Bundle(
        id=secrets.token_hex(16),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        base=site.sides.base,
        head=site.sides.head,
        machine=machine,
        plan=replace(plan, order=paired_runs.order),
        workloads=workload_plan.workloads,
        metrics=(*METRICS.values(), *_optional_metrics(settings)),
        runs=paired_runs.runs,
        failures=workload_plan.failures + paired_runs.failures,
        new_workloads=tuple(spec.id for spec in workload_plan.new),
        base_configuration=site.configuration.base_file,
        other_base_workloads=other_names,
        accepted_work=settings.accepted_work,
        work=step_works,
        pricing=settings.pricing,
        pull_request=request.pull_request,
        undecided=settings.undecided,
        settings=settings.in_force(),
        logs=paired_runs.logs,
        notes=site.code.notes(base, head)
        + advice
        + workload_plan.notes
        + notes
        + allowance.notes
        + known_spreads.notes,
        perfledger=version("perfledger"),
    )
    requests = _interleaved_requests(site.requests, machine.device)
    return with_profiles(
        bundle, profile=partial(profile_both, site.harness, requests), stage=progress.stage
    )


def _unmatched_on_base(
    site: _CheckSite, plan: WorkloadPlan, base: Discovery, globs: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what base registers instead where all of head's workloads are new, and advice."""
    if not plan.is_all_new:
        return (), ()
    configuration = site.configuration
    other_names = other_base_workloads(
        site.repository, site.sides.base.sha, base, paths=configuration.settings.paths
    )
    return other_names[:MAX_NAMES], comparison_advice(other_names, configuration, globs=globs)


def _plan(settings: CheckSettings, workloads: Collection[str], known_spreads: KnownSpreads) -> Plan:
    """Return how the workloads will be measured; the order of the pairs is added afterwards."""
    return Plan(
        seed=secrets.randbits(32),
        order=(),
        looks=known_spreads.looks(workloads, max_pairs=settings.max_pairs),
        alpha=settings.alpha,
        margin=settings.margin,
        floor=settings.floor,
        spreads=known_spreads.spreads,
        history=known_spreads.history,
    )


def _pairs(
    site: _CheckSite,
    settings: CheckSettings,
    workload_plan: WorkloadPlan,
    device: Device,
    *,
    plan: Plan,
    gpu: Gpu | None,
    budget_s: float,
    progress: CheckProgress,
) -> PairedRuns:
    rule = GroupSequentialStopping(
        looks=plan.looks,
        alpha=plan.alpha,
        margin=plan.margin,
        floor=plan.floor,
        metrics=(*EXPECTED_METRICS[device], *_optional_metrics(settings)),
        priors=priors_of_plan(plan),
    )
    return measure_pairs(
        site.harness,
        _interleaved_requests(site.requests, device),
        workload_plan.to_measure,
        rule,
        seed=plan.seed,
        max_pairs=settings.max_pairs,
        budget_s=budget_s,
        telemetry=_telemetry(gpu, settings),
        progress=progress,
        check_run=site.code.origin.failure,
    )


def _telemetry(gpu: Gpu | None, settings: CheckSettings) -> GpuTelemetry | None:
    if gpu is None:
        return None
    return GpuTelemetry(gpu, reads_energy=ENERGY_PER_STEP in _optional_metrics(settings))


def _interleaved_requests(
    requests: Mapping[Side, ChildRequest], device: Device
) -> Mapping[Side, ChildRequest]:
    """Return requests that interleave the sides' steps on a CPU; others unchanged.

    An accelerator is quieter and holds one process at a time. With a raised effort, as for tails,
    the time per process stays at its default.
    """
    if device is not Device.CPU:
        return requests
    usual = MeasuringEffort()
    return {
        side: replace(
            request,
            is_interleaved=True,
            effort=replace(
                request.effort,
                max_seconds=INTERLEAVED_SECONDS if request.effort == usual else usual.max_seconds,
            ),
        )
        for side, request in requests.items()
    }


def _machine(
    head: Discovery, settings: CheckSettings
) -> tuple[Machine, Gpu | None, tuple[str, ...]]:
    host = read_host()
    machine = fingerprint(head.facts, requested=settings.device, host=host)
    gpu, facts = None, None
    if machine.device is Device.CUDA:
        nvml = load_nvml()
        gpu = nvml and find_gpu(nvml, uuid=machine.uuid, environment=os.environ)
        facts = gpu.facts() if gpu else None
        machine = fingerprint(head.facts, requested=settings.device, host=host, gpu=facts)
    return machine, gpu, host_notes(host, facts) + waiting_notes(os.environ, machine.device)


def _no_workloads_message(settings: CheckSettings, request: CheckRequest) -> str:
    where = ", ".join(settings.paths)
    if request.globs:
        globs = ", ".join(request.globs)
        return f"no workload in {where} matches {globs}: perfledger bench list lists them"
    return f"no workload is registered in {where}: run perfledger init, or set `paths`"
