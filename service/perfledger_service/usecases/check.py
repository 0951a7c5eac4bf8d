"""The way of a pull request: a change in, measured, judged, explained, priced; a report out."""

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
    ASKED,
    CPU_ACTIVE,
    ENERGY_PER_STEP,
    METRICS,
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    Metric,
)
from perfledger.protocol import Command, Effort, Request
from perfledger.records import Device, Machine, Side
from perfledger_baselines.prior import priors_of
from perfledger_baselines.sequential import PairedLooks
from perfledger_baselines.tails import fewest_steps
from perfledger_runners.counting import count_both
from perfledger_runners.discovery import Discovery, discover
from perfledger_runners.explain import profile_both
from perfledger_runners.harness import Harness, Limits, prepare_harness
from perfledger_runners.interpreter import find_python
from perfledger_runners.machine import fingerprint, host_notes, read_host
from perfledger_runners.nvml import Gpu, find_gpu, load_nvml
from perfledger_runners.pairs import Measured, Progress, measure_pairs
from perfledger_runners.repository import Repository
from perfledger_runners.submodules import fill_submodules
from perfledger_runners.telemetry import ENERGY_SECONDS, GpuTelemetry
from perfledger_service.errors import UsageError
from perfledger_service.report import Report
from perfledger_service.settings import CheckSettings, check_settings
from perfledger_service.usecases.affording import allowance_of
from perfledger_service.usecases.bundles import Target
from perfledger_service.usecases.planning import Planned, plan_workloads
from perfledger_service.usecases.profiling import with_profiles
from perfledger_service.usecases.recalling import Recalled, recall
from perfledger_service.usecases.reporting import report_on
from perfledger_service.usecases.revisions import Compared, compared, settings_of
from perfledger_service.usecases.setting_up import configured_table
from perfledger_service.usecases.translating import translated

# What workloads on a device are expected to tell: the family of tests that stopping pays for.
EXPECTED = {
    Device.CPU: (STEP_TIME, PEAK_MEMORY, CPU_ACTIVE),
    Device.CUDA: (STEP_TIME, PEAK_MEMORY, SM_ACTIVE),
    Device.TPU: (STEP_TIME, PEAK_MEMORY),
}
# Of steps of each side and pair that take turns. On a busy CPU process differs from process by more
# than what another second of turns would tell: the time is better spent on another pair.
TURNS_SECONDS = 0.75


class Watcher(Progress, Protocol):
    """Is told what the check is doing, from its beginning to its end."""

    def stage(self, name: str) -> None:
        """Hear that the next part of the check begins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a check is to find out; "" leaves the choice to perfledger."""

    base: str = ""
    head: str = ""
    globs: tuple[str, ...] = ()
    repository: str = ""  # owner/name
    pull_request: int | None = None


def check(
    folder: Path,
    question: Question,
    *,
    flags: Mapping[str, object],
    watcher: Watcher,
    history: Target | Path | None = None,
) -> tuple[Bundle, Report]:
    """Measure, judge, explain and price a change of the repository that `folder` is in.

    `history` is the service that knows how much earlier pairs differed, or a file with its answer:
    fewer pairs are then enough.
    Raises UsageError for what cannot be compared, SettingsError, and NotMeasuredError without a
    Python that can run the workloads. Whatever a workload does is a verdict, never an error.
    """
    with translated():
        repository = Repository.open(folder)
        sides = compared(repository, base=question.base, head=question.head)
        settings, notes = settings_of(repository, sides, flags=flags)
        with _laid_out(repository, sides, settings) as site:
            bundle = _measure(site, settings, question, watcher, history=history)
        bundle = replace(
            bundle,
            repository=question.repository or repository.origin_name(),
            notes=notes + site.notes + bundle.notes,
        )
        watcher.stage("judging, explaining and pricing")
        return bundle, report_on(bundle, today=datetime.now(UTC).date(), is_local=True)


def list_workloads(folder: Path) -> Discovery:
    """Return what the working folder registers, as it is now."""
    with translated():
        repository = Repository.open(folder)
        name, table = configured_table(repository.root) or ("", None)
        settings, _ = check_settings(flags={}, table=table, table_name=name)
        with prepare_harness(
            find_python(repository.root, settings.python), environment=os.environ
        ) as harness:
            return discover(harness, request_for(repository.root, repository.root, settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """Where a check works: two checkouts and all that children are started with."""

    sides: Compared
    harness: Harness
    requests: Mapping[Side, Request]
    notes: tuple[str, ...]


@contextmanager
def _laid_out(repository: Repository, sides: Compared, settings: CheckSettings) -> Generator[_Site]:
    """Check both revisions out beside each other, and clear everything away at the end."""
    interpreter = find_python(repository.root, settings.python)
    limits = Limits(workload_s=settings.timeout, startup_s=settings.timeout)
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
        filled = (
            *fill_submodules(repository.root, base, sides.base.sha),
            *fill_submodules(repository.root, head, sides.head.sha),
        )
        notes = tuple(dict.fromkeys(filled))
        yield _Site(sides=sides, harness=harness, requests=requests, notes=notes)


def request_for(checkout: Path, repository: Path, settings: CheckSettings) -> Request:
    """Return the request that lists a checkout's workloads, which others begin with."""
    return Request(
        command=Command.LIST,
        root=str(checkout),
        repository=str(repository),
        import_paths=settings.import_paths,
        paths=settings.paths,
        params=settings.params,
        device=settings.device,
        effort=_effort(settings),
    )


def _asked(settings: CheckSettings) -> tuple[Metric, ...]:
    return tuple(ASKED[name] for name in dict.fromkeys(settings.metrics))


def _effort(settings: CheckSettings) -> Effort:
    """Return the usual effort, or as many steps and seconds as what was asked for needs."""
    usual, asked = Effort(), _asked(settings)
    needed = fewest_steps(asked)
    seconds = ENERGY_SECONDS if ENERGY_PER_STEP in asked else 0.0
    return replace(
        usual,
        min_steps=max(usual.min_steps, needed),
        max_steps=max(usual.max_steps, needed),
        min_seconds=max(usual.min_seconds, seconds),
        max_seconds=max(usual.max_seconds, seconds),
    )


def _measure(
    site: _Site,
    settings: CheckSettings,
    question: Question,
    watcher: Watcher,
    *,
    history: Target | Path | None,
) -> Bundle:
    watcher.stage("finding workloads")
    base, head = (discover(site.harness, site.requests[side]) for side in (Side.BASE, Side.HEAD))
    planned = plan_workloads(base, head, globs=question.globs, params=settings.params)
    if not (planned.workloads or planned.failures):
        raise UsageError(_nothing_found(settings, question))
    machine, gpu, notes = _machine(head, settings)
    allowance = allowance_of(settings, machine, today=datetime.now(UTC).date())
    names = [spec.id for spec in planned.measured]
    recalled = recall(history, machine, names)
    plan = _plan(settings, names, recalled)
    watcher.stage("counting the work of a step")
    counted = count_both(
        site.harness,
        site.requests,
        planned.measured,
        is_at_once=machine.device is Device.CPU,
    )
    watcher.stage("measuring pairs of base and head")
    measured = _pairs(
        site,
        settings,
        planned,
        machine.device,
        plan=plan,
        gpu=gpu,
        budget_s=allowance.seconds,
        watcher=watcher,
    )
    bundle = Bundle(
        id=secrets.token_hex(16),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        base=site.sides.base,
        head=site.sides.head,
        machine=machine,
        plan=replace(plan, order=measured.order),
        workloads=planned.workloads,
        metrics=(*METRICS.values(), *_asked(settings)),
        runs=measured.runs,
        failures=planned.failures + measured.failures,
        new_workloads=tuple(spec.id for spec in planned.new),
        work=counted,
        pricing=settings.pricing,
        pull_request=question.pull_request,
        undecided=settings.undecided,
        settings=settings.in_force(),
        logs=measured.logs,
        notes=planned.notes + notes + allowance.notes + recalled.notes,
        perfledger=version("perfledger"),
    )
    requests = _in_turns(site.requests, machine.device)
    return with_profiles(
        bundle, profile=partial(profile_both, site.harness, requests), stage=watcher.stage
    )


def _plan(settings: CheckSettings, workloads: Collection[str], recalled: Recalled) -> Plan:
    """Return how the workloads will be measured; in which order the pairs were, they will tell."""
    return Plan(
        seed=secrets.randbits(32),
        order=(),
        looks=recalled.looks(workloads, max_pairs=settings.max_pairs),
        alpha=settings.alpha,
        margin=settings.margin,
        floor=settings.floor,
        spreads=recalled.spreads,
        history=recalled.history,
    )


def _pairs(
    site: _Site,
    settings: CheckSettings,
    planned: Planned,
    device: Device,
    *,
    plan: Plan,
    gpu: Gpu | None,
    budget_s: float,
    watcher: Watcher,
) -> Measured:
    rule = PairedLooks(
        looks=plan.looks,
        alpha=plan.alpha,
        margin=plan.margin,
        floor=plan.floor,
        metrics=(*EXPECTED[device], *_asked(settings)),
        priors=priors_of(plan),
    )
    return measure_pairs(
        site.harness,
        _in_turns(site.requests, device),
        planned.measured,
        rule,
        seed=plan.seed,
        max_pairs=settings.max_pairs,
        budget_s=budget_s,
        telemetry=_telemetry(gpu, settings),
        progress=watcher,
    )


def _telemetry(gpu: Gpu | None, settings: CheckSettings) -> GpuTelemetry | None:
    if gpu is None:
        return None
    return GpuTelemetry(gpu, reads_energy=ENERGY_PER_STEP in _asked(settings))


def _in_turns(requests: Mapping[Side, Request], device: Device) -> Mapping[Side, Request]:
    """Return the requests in turns on a CPU; tails need all the steps that they can have.

    An accelerator is quieter, and holds one process at a time.
    """
    if device is not Device.CPU:
        return requests
    usual = Effort()
    return {
        side: replace(
            request,
            takes_turns=True,
            effort=replace(
                request.effort,
                max_seconds=TURNS_SECONDS if request.effort == usual else usual.max_seconds,
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
    return machine, gpu, host_notes(host, facts)


def _nothing_found(settings: CheckSettings, question: Question) -> str:
    where = ", ".join(settings.paths)
    if question.globs:
        globs = ", ".join(question.globs)
        return f"no workload in {where} matches {globs}: perfledger workloads lists them"
    return f"no workload is registered in {where}: run perfledger init, or set `paths`"
