"""Measures a change on both checkouts, and returns a bundle."""

import os
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import (
    CPU_TIME,
    ENERGY_PER_STEP,
    KERNELS,
    METRICS,
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
)
from perfledger.records import Device, Machine, Side
from perfledger.step_work import CountedWork
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_baselines.significance.kernel_tests import KERNEL_PAIRS
from perfledger_baselines.significance.spread_prior import priors_of_plan
from perfledger_runners.checkouts.changed_lines import changed_lines
from perfledger_runners.children.harness import waiting_notes
from perfledger_runners.machine.core_reservation import CoreReservation
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_runners.machine.fingerprint import read_machine
from perfledger_runners.machine.fitness_gate import read_fitness, read_fitness_afterwards
from perfledger_runners.machine.nvml import Gpu
from perfledger_runners.machine.telemetry import GpuTelemetry
from perfledger_runners.measuring.changed_code import mark_changed_lines
from perfledger_runners.measuring.count_work import count_both
from perfledger_runners.measuring.discovery import Discovery
from perfledger_runners.measuring.kernel_windows import lost_window_notes, match_kernels
from perfledger_runners.measuring.pair_journal import JournalHeader, PairJournal
from perfledger_runners.measuring.paired_runs import PairedRuns, measure_pairs
from perfledger_runners.measuring.process_groups import Separation
from perfledger_runners.measuring.profile_runs import profile_both
from perfledger_runners.measuring.same_code import CodeWatch
from perfledger_service.errors import UsageError
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.change_profiles import with_profiles
from perfledger_service.usecases.check.checkouts import CheckProgress, CheckSite
from perfledger_service.usecases.check.child_requests import optional_metrics, requests_for_device
from perfledger_service.usecases.check.journal import CheckJournal
from perfledger_service.usecases.check.measuring_budget import (
    budget_notes,
    budget_shortage,
    measuring_allowance,
)
from perfledger_service.usecases.check.workloads.chosen_files import (
    discover_sides,
    no_workloads_message,
)
from perfledger_service.usecases.check.workloads.excluded_devices import refuse_excluded
from perfledger_service.usecases.check.workloads.measuring_order import find_first_workloads
from perfledger_service.usecases.check.workloads.moved_paths import with_moved_paths
from perfledger_service.usecases.check.workloads.new_workloads import (
    MAX_NAMES,
    comparison_advice,
    other_base_workloads,
)
from perfledger_service.usecases.check.workloads.plan import WorkloadPlan, plan_workloads
from perfledger_service.usecases.check.workloads.rules import WorkloadRules, workload_rules
from perfledger_service.usecases.check.workloads.same_code import begin_watch, without_same_code
from perfledger_service.usecases.check.workloads.work_limits import stop_over_limits
from perfledger_service.usecases.check.workloads.workload_files import workload_file_notes
from perfledger_service.usecases.inputs.known_spreads import KnownSpreads, find_known_spreads
from perfledger_service.usecases.inputs.upload_target import UploadTarget
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

# Metrics expected of workloads on a device: the family of tests that the stopping rule assumes.
EXPECTED_METRICS = {
    Device.CPU: (STEP_TIME, PEAK_MEMORY, CPU_TIME),
    Device.CUDA: (STEP_TIME, PEAK_MEMORY, SM_ACTIVE),
    Device.TPU: (STEP_TIME, PEAK_MEMORY),
}
# Share of alpha for kernels. At the usual alpha of 5 %, 1 % of checks have any false finding in
# kernels, and the other tests hardly lose power.
KERNEL_SHARE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The revisions of a check; "" leaves the choice to perfledger."""

    base: str = ""
    head: str = ""
    choice: WorkloadChoice = field(default_factory=WorkloadChoice)
    workloads_from: str = ""  # a revision or a folder whose workloads replace those of both sides
    device: str = ""  # as the user named it, such as "cuda:1"; the setting has its kind alone
    is_resumed: bool = False  # go on with the interrupted check of these revisions
    repository: str = ""  # owner/name
    pull_request: int | None = None


def measure_change(
    site: CheckSite,
    request: CheckRequest,
    progress: CheckProgress,
    *,
    locks: DeviceLocks,
    cores: CoreReservation,
    history: UploadTarget | Path | None,
    journal: CheckJournal | None = None,
    machine_known: Callable[[Machine], None] = lambda _: None,
) -> Bundle:
    """Measure and profile both checkouts, taking turns with other checks; return the observations.

    The budget starts here; what still runs shortly before its end is stopped. Pairs are saved in
    `journal`, and those of an interrupted check are taken from it. Raises UsageError without a
    workload or price.
    """
    settings, overlay = site.configuration.settings, site.configuration.overlay
    began = site.harness.clock() - (journal.spent_s if journal else 0.0)
    site = site.within(settings.budget, began=began)
    progress.stage("finding workloads")
    site, watch, base, head = _discover(site, request.choice)
    workload_plan = plan_workloads(base, head, choice=request.choice, configured=settings.own_grids)
    if not (workload_plan.workloads or workload_plan.failures):
        raise UsageError(no_workloads_message(site.requests[Side.HEAD], request.choice))
    other_names, advice = _unmatched_on_base(site, workload_plan, base, request.choice)
    machine, gpu = _usable_machine(head, workload_plan, settings, machine_known)
    allowance = measuring_allowance(settings, machine, today=datetime.now(UTC).date())
    spent_s = site.harness.clock() - began
    locks.measure_on(machine)
    machine = cores.take(
        machine,
        fewest=workload_plan.devices,
        number=journal.resumed.machine.cores if journal and journal.resumed else None,
    )
    began = site.harness.clock() - spent_s  # waiting for other checks costs nothing
    site = site.within(allowance.seconds, began=began).for_workloads(workload_plan.to_measure)
    progress.stage("comparing the code of both sides")
    workload_plan = without_same_code(
        workload_plan, site, watch, (base, head), device=machine.device, journal=journal
    )
    if journal is not None:
        journal.check_machine(machine, workload_plan.to_measure)
    host_findings = (
        (*read_fitness(machine.device, gpu, devices=workload_plan.devices), locks.finding)
        if workload_plan.to_measure
        else ()
    )
    rules = workload_rules(base, workload_plan.to_measure, margin=settings.margin)
    plan, step_works, history_notes = _preparation(
        site,
        workload_plan,
        rules,
        machine,
        progress,
        history=history,
        resumed=journal.resumed if journal else None,
    )
    workload_plan = stop_over_limits(workload_plan, settings.fail_on, step_works, machine)
    paired_runs = _pairs(
        site,
        workload_plan,
        machine.device,
        plan=plan,
        gpu=gpu,
        budget_s=allowance.seconds,
        journal=journal.begin(machine, plan, step_works, workload_plan.to_measure)
        if journal
        else None,
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
        metrics=(*METRICS.values(), *optional_metrics(settings)),
        runs=paired_runs.runs,
        failures=workload_plan.failures + paired_runs.failures,
        new_workloads=tuple(spec.id for spec in workload_plan.new),
        skipped={**workload_plan.skipped, **paired_runs.skipped},
        same_code=tuple(spec.id for spec in workload_plan.same_code),
        code_differences=workload_plan.code_differences,
        fail_on=settings.fail_on,
        unchosen=workload_plan.unchosen,
        base_configuration=site.configuration.base_file,
        other_base_workloads=other_names,
        laid_over=overlay.record if overlay else None,
        accepted_work=settings.accepted_work,
        kernels=match_kernels(
            [spec.id for spec in workload_plan.to_measure] if plan.kernel_pairs else (),
            paired_runs.windows,
        ),
        work=step_works,
        pricing=settings.pricing,
        pull_request=request.pull_request,
        undecided=settings.undecided,
        settings=settings.in_force(),
        logs=paired_runs.logs,
        host_findings=(*host_findings, read_fitness_afterwards()) if host_findings else (),
        notes=site.code.notes(base, head)
        + workload_file_notes(
            site.code.origin.changed,
            workload_plan,
            requests=site.requests,
            base_revision=site.sides.base,
            harness=site.harness,
        )
        + advice
        + workload_plan.notes
        + rules.notes
        + (
            (*waiting_notes(os.environ, machine.device, workload_plan.to_measure), *cores.notes)
            if workload_plan.to_measure
            else ()
        )
        + allowance.notes
        + history_notes
        + (journal.notes() if journal else ()),
        pair_seconds=paired_runs.seconds,
        perfledger=version("perfledger"),
    )
    bundle = replace(
        bundle,
        notes=bundle.notes
        + paired_runs.separation.notes()
        + lost_window_notes(bundle.kernels, paired_runs.windows)
        + budget_notes(bundle, paired_runs),
    )
    bundle = _add_profiles(site, bundle, progress, separation=paired_runs.separation)
    return replace(bundle, held_s=site.harness.clock() - began)


def _usable_machine(
    head: Discovery,
    workload_plan: WorkloadPlan,
    settings: CheckSettings,
    machine_known: Callable[[Machine], None],
) -> tuple[Machine, Gpu | None]:
    """Return this machine and its GPU; raise ExcludedDeviceError if they must not be used."""
    machine, gpu = read_machine(head.facts, requested=settings.device, environment=os.environ)
    machine_known(machine)
    refuse_excluded(machine, workload_plan.to_measure, settings.excluded_devices)
    return machine, gpu


def _add_profiles(
    site: CheckSite, bundle: Bundle, progress: CheckProgress, *, separation: Separation
) -> Bundle:
    """Return the bundle with the profiles of its changed workloads, taken as the pairs were."""
    requests = requests_for_device(site.requests, bundle.machine.device)
    lines_of = partial(changed_lines, site.repository.root, bundle.base.sha, bundle.head.sha)
    return with_profiles(
        bundle,
        profile=lambda specs, memory_s: mark_changed_lines(
            profile_both(site.harness, requests, specs, separation=separation, memory_s=memory_s),
            lines_of,
        ),
        stage=progress.stage,
        has_time=lambda: site.harness.seconds_left() > 0,
    )


def _preparation(
    site: CheckSite,
    workload_plan: WorkloadPlan,
    rules: WorkloadRules,
    machine: Machine,
    progress: CheckProgress,
    *,
    history: UploadTarget | Path | None,
    resumed: JournalHeader | None,
) -> tuple[Plan, tuple[CountedWork, ...], tuple[str, ...]]:
    """Return plan, work of the steps, notes on the history; an interrupted check has its own."""
    if resumed is not None:
        return resumed.plan, resumed.work, ()
    names = [spec.id for spec in workload_plan.to_measure]
    known_spreads = find_known_spreads(history, machine, names)
    plan = _plan(site.configuration.settings, names, rules, known_spreads)
    progress.stage("counting the work of a step")
    step_works = count_both(
        site.harness,
        site.requests,
        workload_plan.to_measure,
        is_at_once=machine.device is Device.CPU,
    )
    return plan, step_works, known_spreads.notes


def _discover(
    site: CheckSite, choice: WorkloadChoice
) -> tuple[CheckSite, CodeWatch | None, Discovery, Discovery]:
    """Return the site that knows the files, the watch on head's code, and both sides' workloads."""
    watch, code = begin_watch(site)
    discoveries = discover_sides(code, site.harness, choice)
    head_paths = site.configuration.head_paths
    head = with_moved_paths(discoveries[Side.HEAD], head_paths=head_paths)
    site = site.with_files({side: each.files for side, each in discoveries.items()})
    return site, watch, discoveries[Side.BASE], head


def _unmatched_on_base(
    site: CheckSite, plan: WorkloadPlan, base: Discovery, choice: WorkloadChoice
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """If all of head's workloads are new, return what base registers instead, and advice."""
    if not plan.is_all_new:
        return (), ()
    configuration = site.configuration
    other_names = other_base_workloads(
        site.repository, site.sides.base.sha, base, paths=configuration.settings.paths
    )
    return other_names[:MAX_NAMES], comparison_advice(other_names, configuration, choice=choice)


def _plan(
    settings: CheckSettings,
    workloads: Collection[str],
    rules: WorkloadRules,
    known_spreads: KnownSpreads,
) -> Plan:
    """Return how the workloads will be measured; the order of the pairs is added afterwards."""
    is_by_kernel = KERNELS in optional_metrics(settings)
    return Plan(
        seed=secrets.randbits(32),
        order=(),
        looks=known_spreads.looks(workloads, max_pairs=settings.max_pairs),
        alpha=settings.alpha,
        margin=settings.margin,
        floor=settings.floor,
        spreads=known_spreads.spreads,
        history=known_spreads.history,
        margins=rules.margins,
        metrics=rules.metrics,
        machine_classes=settings.machine_classes,
        class_deadline_s=settings.class_deadline,
        kernel_pairs=min(KERNEL_PAIRS, settings.max_pairs) if is_by_kernel else 0,
        kernel_share=KERNEL_SHARE if is_by_kernel else 0.0,
    )


def _pairs(
    site: CheckSite,
    workload_plan: WorkloadPlan,
    device: Device,
    *,
    plan: Plan,
    gpu: Gpu | None,
    budget_s: float,
    journal: PairJournal | None,
    progress: CheckProgress,
) -> PairedRuns:
    settings, harness = site.configuration.settings, site.harness
    rule = GroupSequentialStopping(
        looks=plan.looks,
        alpha=plan.alpha * (1 - plan.kernel_share),
        margin=plan.margin,
        floor=plan.floor,
        metrics=(*EXPECTED_METRICS[device], *optional_metrics(settings)),
        priors=priors_of_plan(plan),
        margins=plan.margins,
        chosen=plan.metrics,
        kernel_pairs=plan.kernel_pairs,
        kernel_alpha=plan.alpha * plan.kernel_share,
        device=device,
    )
    requests = requests_for_device(site.requests, device)
    calls = find_first_workloads(
        site, requests[Side.HEAD], workload_plan.to_measure, rule, progress=progress
    )
    shortage = budget_shortage(
        workload_plan.to_measure,
        requests[Side.HEAD],
        fewest_pairs=rule.fewest_pairs(),
        seconds_left=harness.seconds_left(),
    )
    progress.stage(f"measuring pairs of base and head{shortage}")
    with site.code.origin.pointers.watching():
        return measure_pairs(
            harness,
            requests,
            workload_plan.to_measure,
            rule,
            seed=plan.seed,
            max_pairs=settings.max_pairs,
            budget_s=budget_s,
            spent_s=budget_s - harness.seconds_left(),
            telemetry=None
            if gpu is None
            else GpuTelemetry(gpu, reads_energy=ENERGY_PER_STEP in optional_metrics(settings)),
            progress=progress,
            check_run=site.code.origin.failure,
            journal=journal,
            kernel_pairs=plan.kernel_pairs,
            calls=calls,
        )
