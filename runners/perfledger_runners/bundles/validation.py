"""Checks the values of a decoded bundle."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import cast

from perfledger.bundle import Bundle, Commitment, CostPolicy, KnownSpread, Plan, PricingConfig
from perfledger.compile_record import (
    MAX_COMPILATIONS,
    MAX_NAME,
    MAX_PROGRAMS,
    CompilePhase,
    CompileRecord,
)
from perfledger.metrics import CPU_TIME, METRICS, OPTIONAL_METRICS, STEP_TIME, Metric
from perfledger.package_code import MAX_COMPILED_MODULES, MAX_PACKAGES, LoadedPackage
from perfledger.profile import Profile
from perfledger.records import Device, Machine, Run, Side
from perfledger.registration.argument_faults import MAX_WORKLOAD_DEVICES
from perfledger.registration.variant_name import variants_fault
from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import typed
from perfledger.step_evidence import MAX_ANSWERS, MAX_STEPS_PER_READING, StepEvidence
from perfledger.step_work import CountedWork
from perfledger.time_units import HOURS_PER_YEAR, SECONDS_PER_WEEK
from perfledger_runners.bundles.canary_checks import check_canaries
from perfledger_runners.bundles.kernel_checks import check_kernel_plan, check_kernels
from perfledger_runners.bundles.option_checks import check_start_options, check_work_limits
from perfledger_runners.bundles.telemetry_checks import check_telemetry
from perfledger_runners.bundles.value_checks import BundleError, require
from perfledger_runners.checkouts.workload_overlay import MAX_FILES
from perfledger_runners.children.message_texts import MAX_LISTED_DEVICES
from perfledger_runners.children.protocol_parser import MAX_COUNTS, MAX_LIMITS
from perfledger_runners.children.reading_checks import (
    MAX_READING,
    are_places,
    are_possible,
    are_possible_memories,
    fit_together,
    is_possible,
    is_utc,
)

MAX_WORKLOADS = 2000  # of one check; pages show 100 at a time
MAX_METRICS = 100  # of one check
MAX_PAIRS = 10_000  # of one workload; the setting max_pairs allows 1,000
MAX_LOOKS = 100  # of one check
# Four metrics of the maximum number of workloads.
MAX_SPREADS = 10_000
# A history is worth at most two dozen degrees of freedom; a thousand is never written.
MAX_DEGREES = 1000
MAX_OPERATIONS = 20_000  # a profile keeps the 200 longest of each window
# Entries of each kind: more than a fleet's kinds of jobs, contracts or teams.
MAX_FLEET = 1000
MAX_TRANSFER_FACTOR = 100.0  # a wider projection says nothing
MAX_COMMITMENTS = 100  # in a repository's configuration
MAX_POLICIES = 100  # in a repository's configuration
MAX_APPROVERS = 50  # of a policy
MAX_FINDINGS = 100  # on the machine's fitness
MAX_CLASSES = 32  # machines that report on one pull request
MAX_CLASS_DEADLINE_S = float(SECONDS_PER_WEEK)  # a check that waits longer blocks its pull request
MAX_DEVICES = 100_000  # of one commitment; waits are computed device by device
MAX_DEPTH = 10_000_000  # ten times as many commits as Linux has
SHA = re.compile(r"[0-9a-f]{40}")
DIGEST = re.compile(r"([0-9a-f]{64})?")
BUNDLE_ID = re.compile(r"[0-9a-f]{32}")
REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+)?", re.ASCII)
UNDECIDED_CONCLUSIONS = ("action_required", "neutral")


def check_bundle(bundle: Bundle) -> None:
    """Raise BundleError unless the parts of the bundle are valid and consistent."""
    require(BUNDLE_ID.fullmatch(bundle.id), "id: not 32 hex digits")
    for name, revision in (("base", bundle.base), ("head", bundle.head)):
        require(SHA.fullmatch(revision.sha), f"{name}.sha: not 40 hex digits")
        is_possible_depth = revision.depth is None or 0 <= revision.depth < MAX_DEPTH
        require(is_possible_depth, f"{name}.depth: impossible")
        require(
            not revision.committed_at or is_utc(revision.committed_at),
            f"{name}.committed_at: not a UTC time in ISO 8601",
        )
    require(is_utc(bundle.created_at), "created_at: not a UTC time in ISO 8601")
    require(
        bundle.undecided in UNDECIDED_CONCLUSIONS,
        f"undecided: not one of {', '.join(UNDECIDED_CONCLUSIONS)}",
    )
    require(REPOSITORY.fullmatch(bundle.repository), "repository: not owner/name")
    require(bundle.pull_request is None or bundle.pull_request > 0, "pull_request: not positive")
    hashes = () if bundle.laid_over is None else tuple(bundle.laid_over.files.values())
    require(len(hashes) <= MAX_FILES, f"laid_over.files: more than {MAX_FILES}")
    require(all(map(SHA.fullmatch, hashes)), "laid_over.files: a hash that is not 40 hex digits")
    _check_plan(bundle.plan)
    check_kernel_plan(bundle)
    _check_own_rules(bundle)
    _check_machine(bundle.machine)
    if bundle.is_imported:
        _check_imported(bundle)
    check_canaries(bundle)
    require(len(bundle.host_findings) <= MAX_FINDINGS, f"host_findings: over {MAX_FINDINGS}")
    ids = _check_workloads(bundle)
    _check_runs(bundle.runs, ids, {metric.name: metric for metric in bundle.metrics})
    for name, profiles in (("profiles", bundle.profiles), ("repeats", bundle.repeats)):
        for index, profile in enumerate(profiles):
            check_profile(f"{name}[{index}]", profile, ids)
    check_kernels(bundle, ids)
    _check_work(bundle.work, ids)
    check_work_limits(bundle.fail_on)
    check_start_options(bundle.options)
    _check_pair_seconds(bundle.pair_seconds, ids)
    _check_pricing(bundle.pricing)


def check_profile(where: str, profile: Profile, ids: Collection[str]) -> None:
    """Raise BundleError unless the profile is valid and of one of the workloads `ids`."""
    require(profile.workload in ids, f"{where}.workload: not one of the bundle's workloads")
    require(profile.steps >= 1, f"{where}.steps: not positive")
    require(profile.step_seconds > 0, f"{where}.step_seconds: not positive")
    require(profile.dropped_events >= 0, f"{where}.dropped_events: negative")
    count = len(profile.operations)
    require(count <= MAX_OPERATIONS, f"{where}.operations: more than {MAX_OPERATIONS}")
    for operation in profile.operations:
        is_positive = operation.seconds >= 0 and operation.count >= 0
        require(is_positive, f"{where}.operations: {operation.name[:80]!r} is negative")
    kinds = profile.peak_tensors
    require(len(kinds) <= MAX_OPERATIONS, f"{where}.peak_tensors: more than {MAX_OPERATIONS}")
    are_positive = all(tensors.bytes > 0 and tensors.count > 0 for tensors in kinds)
    require(are_positive, f"{where}.peak_tensors: not positive")


def check_spreads(where: str, spreads: Collection[KnownSpread]) -> None:
    """Raise BundleError unless the spreads are possible."""
    require(len(spreads) <= MAX_SPREADS, f"{where}: more than {MAX_SPREADS}")
    for index, spread in enumerate(spreads):
        require(spread.variance >= 0, f"{where}[{index}].variance: negative")
        is_fine = 0 < spread.degrees <= MAX_DEGREES
        require(is_fine, f"{where}[{index}].degrees: not between 0 and {MAX_DEGREES}")
        require(spread.pairs >= 0, f"{where}[{index}].pairs: negative")


def _check_pair_seconds(times: Mapping[str, float], ids: Collection[str]) -> None:
    is_possible_time = all(name in ids and seconds > 0 for name, seconds in times.items())
    require(is_possible_time, "pair_seconds: not positive, or not of the bundle's workloads")


def _check_plan(plan: Plan) -> None:
    require(set(plan.order) <= set(Side), 'plan.order: not only "base" and "head"')
    require(len(plan.order) <= MAX_PAIRS, f"plan.order: more than {MAX_PAIRS} pairs")
    require(len(plan.looks) <= MAX_LOOKS, f"plan.looks: more than {MAX_LOOKS}")
    looks = (0, *plan.looks)
    is_rising = all(one < two for one, two in zip(looks, plan.looks, strict=False))
    require(is_rising, "plan.looks: not rising from 1")
    require(0 < plan.alpha < 1, "plan.alpha: not between 0 and 1")
    require(0 < plan.margin < 1, "plan.margin: not between 0 and 1")
    require(0 <= plan.floor < 1, "plan.floor: not between 0 and 1")
    require(plan.history is None or plan.history >= 0, "plan.history: negative")
    check_spreads("plan.spreads", plan.spreads)
    require(len(plan.machine_classes) <= MAX_CLASSES, "plan.machine_classes: more than the limit")
    is_near = 0 < plan.class_deadline_s <= MAX_CLASS_DEADLINE_S
    require(is_near, "plan.class_deadline_s: not between 0 and 7 days")


def _check_own_rules(bundle: Bundle) -> None:
    """Check the margins and the metrics of single workloads."""
    margins, metrics = bundle.plan.margins, bundle.plan.metrics
    is_short = max(len(margins), len(metrics)) <= MAX_WORKLOADS
    require(is_short, f"plan.margins, plan.metrics: more than {MAX_WORKLOADS}")
    are_shares = all(0 < margin < 1 for margin in margins.values())
    require(are_shares, "plan.margins: not between 0 and 1")
    names = {metric.name for metric in bundle.metrics}
    are_known = all(chosen and set(chosen) <= names for chosen in metrics.values())
    require(are_known, "plan.metrics: none, or not one of the bundle's metrics")


def _check_machine(machine: Machine) -> None:
    require(machine.count >= 1, "machine.count: not positive")
    require(machine.cores >= 1, "machine.cores: not positive")
    is_list = len(machine.more_uuids) <= MAX_LISTED_DEVICES
    require(is_list, f"machine.more_uuids: over {MAX_LISTED_DEVICES}")
    for name in ("memory_bytes", "clock_mhz", "power_cap_w"):
        value = cast("float | None", getattr(machine, name))
        require(value is None or value > 0, f"machine.{name}: not positive")


def _check_imported(bundle: Bundle) -> None:
    """Check that another tool's measurements hold only values of one commit."""
    require(bundle.base.sha == bundle.head.sha, "head.sha: an import has one commit")
    require(bundle.pull_request is None, "pull_request: an import is of the default branch")
    require(bundle.pricing == PricingConfig(), "pricing: an import has no prices")
    require(not bundle.plan.machine_classes, "plan.machine_classes: an import expects none")
    is_of_commit = all(run.side is Side.BASE and run.device is None for run in bundle.runs)
    require(is_of_commit, "runs: those of an import have no head and no device")
    names = {metric.name for metric in bundle.metrics}
    is_foreign = names.isdisjoint(METRICS.keys() | OPTIONAL_METRICS.keys())
    require(is_foreign, "metrics: an import has none that perfledger measures")
    bare = Bundle(
        id=bundle.id,
        created_at=bundle.created_at,
        base=bundle.base,
        head=bundle.base,
        machine=Machine(device=Device.IMPORTED, model=bundle.machine.model),
        plan=bundle.plan,
        workloads=bundle.workloads,
        metrics=bundle.metrics,
        runs=bundle.runs,
        repository=bundle.repository,
    )
    require(bundle == bare, "an import has runs of a named machine, and nothing else")


def _check_workloads(bundle: Bundle) -> frozenset[str]:
    ids = [workload.id for workload in bundle.workloads]
    require(len(ids) <= MAX_WORKLOADS, f"workloads: more than {MAX_WORKLOADS}")
    require(len(set(ids)) == len(ids), "workloads: a duplicate id")
    for index, workload in enumerate(bundle.workloads):
        where = f"workloads[{index}]"
        require(workload.units_per_step > 0, f"{where}.units_per_step: not positive")
        is_share = workload.margin is None or 0 < workload.margin < 1
        require(is_share, f"{where}.margin: not between 0 and 1")
        is_possible_number = 1 <= workload.devices <= MAX_WORKLOAD_DEVICES
        require(is_possible_number, f"{where}.devices: not from 1 to {MAX_WORKLOAD_DEVICES}")
        is_variant = not workload.variant or not variants_fault([workload.variant])
        require(is_variant, f"{where}.variant: not a variant's name")
    unmeasured = set(ids) & bundle.skipped.keys() - {run.workload for run in bundle.runs}
    require(unmeasured.issuperset(bundle.same_code), "same_code: not a skipped workload")
    names = [metric.name for metric in bundle.metrics]
    require(len(names) <= MAX_METRICS, f"metrics: more than {MAX_METRICS}")
    require(len(set(names)) == len(names), "metrics: a duplicate name")
    return frozenset(ids)


def _check_runs(runs: Iterable[Run], ids: Collection[str], metrics: dict[str, Metric]) -> None:
    for index, run in enumerate(runs):
        try:
            _check_run(run, ids, metrics)
        except BundleError as error:
            msg = f"runs[{index}].{error}"
            raise BundleError(msg) from error


def _check_run(run: Run, ids: Collection[str], metrics: dict[str, Metric]) -> None:
    require(run.workload in ids, "workload: not one of the bundle's workloads")
    require(0 <= run.pair < MAX_PAIRS, f"pair: not below {MAX_PAIRS}")
    require(run.position in (0, 1), "position: neither 0 nor 1")
    require(run.process >= 0, "process: negative")
    _check_devices(run)
    require(run.clock_mhz is None or run.clock_mhz > 0, "clock_mhz: not positive")
    is_share = all(0 <= share <= 1 for share in run.slowed.values())
    require(is_share, "slowed: not a share from 0 to 1")
    require(is_utc(run.started_at), "started_at: not a UTC time in ISO 8601")
    for name, values in (("warmups_s", run.warmups_s), ("left_out", run.left_out.values())):
        require(all(value >= 0 for value in values), f"{name}: negative")
    steps = len(run.samples.get(STEP_TIME.name, ()))
    is_whole = not run.turns or (min(run.turns) >= 1 and sum(run.turns) == steps)
    require(is_whole, "turns: not as many steps as there are samples")
    is_slowest = fit_together(run.rank_times_s, run.samples.get(STEP_TIME.name, ()))
    require(is_slowest, "rank_times_s: the slowest is not the step's time")
    _check_packages(run.packages)
    _check_evidence(run.evidence)
    is_fine = are_possible_memories(run.memory)
    require(is_fine, "memory: impossible, or not one reading for each number of steps")
    if run.compiled is not None:
        _check_compiled(run.compiled)
    for name, samples in run.samples.items():
        require(name in metrics, f"samples: {name!r} is not one of its metrics")
        is_fine = is_possible(metrics[name], samples)
        require(is_fine, f"samples.{name}: an impossible reading")
    readings = len(run.samples.get(CPU_TIME.name, ()))
    is_fine = are_possible(run.core_times, readings=readings, turns=len(run.turns))
    require(is_fine, "core_times: impossible, or not one for each CPU time or turn")


def _check_devices(run: Run) -> None:
    require(run.device is not Device.IMPORTED, "device: not one that a step runs on")
    require(run.devices >= 1, "devices: not positive")
    is_list = len(run.device_places) <= MAX_LISTED_DEVICES
    require(is_list, f"device_places: more than {MAX_LISTED_DEVICES}")
    is_fine = are_places(run.device_places, devices=run.devices)
    require(is_fine, "device_places: negative, or not one for each device")
    check_telemetry(run)


def _check_packages(packages: Collection[LoadedPackage]) -> None:
    # A step may run a package of the checkout, and start a program that imports a copy of it.
    places = {(package.name, package.folder) for package in packages}
    is_short = len(places) == len(packages) <= MAX_PACKAGES
    require(is_short, f"packages: a duplicate name and folder, or more than {MAX_PACKAGES}")
    for index, package in enumerate(packages):
        at = f"packages[{index}]"
        require(package.modules >= 1, f"{at}.modules: not positive")
        is_short = len(package.compiled) <= MAX_COMPILED_MODULES
        require(is_short, f"{at}.compiled: more than {MAX_COMPILED_MODULES}")
        for digest in (package.digest, *(each.digest for each in package.compiled)):
            require(DIGEST.fullmatch(digest), f"{at}: a digest is not 64 hex digits")
        are_sizes = all(each.size_bytes >= 0 for each in package.compiled)
        require(are_sizes, f"{at}.compiled: a negative size")


def _check_evidence(evidence: StepEvidence) -> None:
    require(len(evidence.answer) <= MAX_ANSWERS, f"evidence.answer: more than {MAX_ANSWERS}")
    require(0 <= evidence.tolerance < 1, "evidence.tolerance: not a share below 1")
    is_possible_number = 1 <= evidence.steps_per_reading <= MAX_STEPS_PER_READING
    require(is_possible_number, f"evidence.steps_per_reading: not 1 to {MAX_STEPS_PER_READING}")
    require(len(evidence.outline) <= MAX_ANSWERS, f"evidence.outline: more than {MAX_ANSWERS}")
    for name in ("empty_step_s", "paused_cores", "leftover_s", "start_cpu_s"):
        value = cast("float | None", getattr(evidence, name))
        require(value is None or value >= 0, f"evidence.{name}: negative")
    for cost in filter(None, (evidence.end_cost, evidence.short_end_cost)):
        is_possible_cost = cost.steps >= 1 and min(cost.cpu_s, cost.tasks, cost.asleep_s) >= 0
        require(is_possible_cost, "evidence: an impossible end cost")


def _check_compiled(compiled: CompileRecord) -> None:
    phases, programs = compiled.phases_s, compiled.programs
    require(set(phases) <= set(CompilePhase), "compiled.phases_s: an unknown phase")
    require(len(programs) <= MAX_PROGRAMS, f"compiled.programs: more than {MAX_PROGRAMS}")
    is_short = max((len(each.name) for each in programs), default=0) <= MAX_NAME
    require(is_short, f"compiled.programs: a name of more than {MAX_NAME} characters")
    all_s = (*phases.values(), *(each.seconds for each in programs))
    require(all(0 <= each <= MAX_READING for each in all_s), "compiled: an impossible time")
    is_counted = all(1 <= each.count <= MAX_COMPILATIONS for each in programs)
    require(is_counted, "compiled.programs: an impossible count")


def _check_work(counted: Collection[CountedWork], ids: Collection[str]) -> None:
    sides = {(each.workload, each.side) for each in counted}
    require(len(sides) == len(counted), "work: a duplicate side of a workload")
    for index, each in enumerate(counted):
        where = f"work[{index}]"
        require(each.workload in ids, f"{where}.workload: not one of the bundle's workloads")
        names = {count.name for count in each.work.counts}
        texts = max(len(each.work.limits), len(each.work.variant_remarks))
        is_short = len(each.work.counts) <= MAX_COUNTS and texts <= MAX_LIMITS
        require(is_short, f"{where}.work: more than {MAX_COUNTS} counts or {MAX_LIMITS} limits")
        require(len(names) == len(each.work.counts), f"{where}.work.counts: a duplicate name")
        for count in each.work.counts:
            is_count = 0 <= count.value <= MAX_READING
            require(is_count, f"{where}.work.counts: {count.name[:80]!r} is not a count")


def weights_problem(pattern: str, weights: Mapping[str, float]) -> str:
    """Return what is wrong with the weights of a fleet entry with this pattern, "" if nothing."""
    stray = next((name for name in weights if not is_match(pattern, name)), None)
    if stray is not None:
        return f"{stray!r} does not match {pattern!r}"
    if len(weights) > MAX_WORKLOADS:
        return f"more than {MAX_WORKLOADS}"
    is_split = not weights or (min(weights.values()) >= 0 and sum(weights.values()) > 0)
    return "" if is_split else "not 0 or above, with one above 0"


def _check_pricing(pricing: PricingConfig) -> None:
    require(len(pricing.fleet) <= MAX_FLEET, f"pricing.fleet: more than {MAX_FLEET}")
    for index, use in enumerate(pricing.fleet):
        low = use.device_hours_per_year if use.low is None else use.low
        high = use.device_hours_per_year if use.high is None else use.high
        is_ordered = 0 <= low <= use.device_hours_per_year <= high
        require(is_ordered, f"pricing.fleet[{index}]: not 0 <= low <= hours <= high")
        problem = weights_problem(use.workload, use.weights)
        require(not problem, f"pricing.fleet[{index}].weights: {problem}")
        factor = use.transfer_factor
        is_factor = factor is None or 1 <= factor <= MAX_TRANSFER_FACTOR
        limits = f"not between 1 and {typed(MAX_TRANSFER_FACTOR)}"
        require(is_factor, f"pricing.fleet[{index}].transfer_factor: {limits}")
    for index, declared in enumerate(pricing.declared):
        where = f"pricing.declared[{index}].units_per_second"
        require(declared.units_per_second > 0, f"{where}: not positive")
    _check_commitments(pricing.commitments)
    _check_policies(pricing.policies)


def _check_commitments(commitments: Collection[Commitment]) -> None:
    options = {each.where for each in commitments}
    is_short = len(commitments) == len(options) <= MAX_COMMITMENTS
    require(is_short, f"pricing.commitments: a duplicate, or more than {MAX_COMMITMENTS}")
    for index, each in enumerate(commitments):
        where = f"pricing.commitments[{index}]"
        is_pool = 1 <= each.devices_per_job <= each.devices <= MAX_DEVICES
        require(is_pool, f"{where}: not 1 <= devices_per_job <= devices <= {MAX_DEVICES}")
        hours = each.devices * HOURS_PER_YEAR
        is_busy = 0 <= each.busy_hours_per_year <= hours
        require(is_busy, f"{where}.busy_hours_per_year: not between 0 and {hours}")
        require(each.job_hours is None or each.job_hours > 0, f"{where}.job_hours: not positive")


def _check_policies(policies: Collection[CostPolicy]) -> None:
    require(len(policies) <= MAX_POLICIES, f"pricing.policies: more than {MAX_POLICIES}")
    for index, each in enumerate(policies):
        where = f"pricing.policies[{index}]"
        require(each.workloads, f"{where}.workloads: none")
        is_short = len(each.approvers) <= MAX_APPROVERS
        require(is_short, f"{where}.approvers: more than {MAX_APPROVERS}")
        limits = (each.ask_above_usd_per_year, each.fail_above_usd_per_year)
        set_limits = [limit for limit in limits if limit is not None]
        is_ordered = bool(set_limits) and set_limits[0] >= 0 and set_limits == sorted(set_limits)
        require(is_ordered, f"{where}: not 0 <= ask_above_usd_per_year <= fail_above_usd_per_year")
