"""Measures the canaries: built-in workloads that show whether a device is as fast as expected."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from perfledger.metrics import STEP_TIME
from perfledger.protocol import BenchmarkSuite, ChildRequest
from perfledger.records import Device, Failure, Framework, Machine, Param, Run, WorkloadSpec
from perfledger.registration.workload_pattern import is_match
from perfledger_baselines.estimation.estimators import point_estimates
from perfledger_baselines.estimation.typical_range import typical_step_time_s
from perfledger_runners.children.harness import (
    Harness,
    for_workloads,
)
from perfledger_runners.children.protocol_parser import FactsMessage
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_runners.machine.fingerprint import KINDS, read_machine
from perfledger_runners.machine.fitness_gate import read_fitness, read_fitness_afterwards
from perfledger_runners.machine.telemetry import GpuTelemetry, NoTelemetry, Telemetry
from perfledger_runners.measuring.discovery import Discovery, discover
from perfledger_runners.measuring.single_runs import measure_processes
from perfledger_runners.private_folder import private_folder
from perfledger_service.errors import NotFoundError, NotMeasuredError, UsageError
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.settings.check import CheckSettings
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.bench.canary_rates import (
    ALL_REDUCE,
    expected_rate,
    state_of,
    units_on_each_link,
)
from perfledger_service.usecases.bench.repository_harness import repository_harness
from perfledger_service.usecases.check.child_requests import request_for
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.repository_config import configured_table, root_of
from perfledger_service.values.doctor_views import CanaryResult, CanaryState, CanaryView

MIN_PROCESSES, MAX_PROCESSES = 2, 20
MAX_DETAIL = 400
MODULES = {Framework.TORCH: "torch_canaries", Framework.JAX: "jax_canaries"}
# Steps per process are few: processes differ by more than another second of steps would resolve.
CANARY_SECONDS = 0.5
_Values = Mapping[str, tuple[Param, ...]]
# Large enough that the work, not the launch, takes an accelerator's time.
ACCELERATOR_SIZES: Mapping[str, _Values] = {
    "matmul": {"dtype": ("float32", "bfloat16", "float16"), "size": (8192,)},
    "attention": {"dtype": ("bfloat16",), "tokens": (4096,)},
    "layer_norm": {"rows": (262_144,)},
    "embedding": {"tokens": (524_288,)},
    "memory_copy": {"mebibytes": (1024,)},
    "gpt_block": {"tokens": (4096,)},
    "resnet_block": {"images": (256,)},
    "decode_step": {"sequences": (256,)},
}
ALL_REDUCE_MEBIBYTES = 1024
WIDE_INTERVAL = (
    "its interval is on both sides of slow: measure on a quiet machine, more --processes"
)


class CanaryProgress(Protocol):
    """A listener to the progress of the canaries."""

    def stage(self, name: str) -> None:
        """Report what is done next."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRequest:
    """Which canaries are measured, in how many processes; "" is all of them."""

    pattern: str = ""
    processes: int = 3
    device: str | None = None  # None: as configured

    def __post_init__(self) -> None:
        if not MIN_PROCESSES <= self.processes <= MAX_PROCESSES:
            msg = f"--processes {self.processes}: give {MIN_PROCESSES} to {MAX_PROCESSES}"
            raise UsageError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CanarySite:
    """What measuring a machine's canaries needs."""

    harness: Harness
    request: ChildRequest
    machine: Machine
    telemetry: Telemetry
    processes: int


def measure_canaries(
    folder: Path, request: CanaryRequest, *, progress: CanaryProgress
) -> CanaryView:
    """Measure the canaries with the configured Python of the repository that `folder` is in.

    They wait for their turn among the machine's checks. Raises NotFoundError without a canary of
    that name, and NotMeasuredError where neither torch nor JAX can be imported.
    """
    with translate_errors(), ExitStack() as stack:
        root = root_of(folder).resolve()
        name, table = configured_table(root) or ("", None)
        settings, _ = check_settings(flags={"device": request.device}, table=table, table_name=name)
        locks = stack.enter_context(
            DeviceLocks(folder=settings.lock_folder, waiting=progress.stage)
        )
        harness = stack.enter_context(repository_harness(root, settings))
        child_request = _request(stack.enter_context(private_folder()), settings)
        progress.stage("finding canaries")
        discovery = discover(harness, child_request)
        machine, gpu = read_machine(
            discovery.facts, requested=settings.device, environment=os.environ
        )
        sizes = _sizes(discovery.facts, machine)
        if sizes:
            child_request = replace(child_request, params=sizes)
            discovery = discover(harness, child_request)
        chosen = _chosen_canaries(discovery, machine, request.pattern)
        locks.measure_on(machine)
        progress.stage("looking at the machine")
        devices = max((spec.devices for spec in chosen), default=1)
        findings = (*read_fitness(machine.device, gpu, devices=devices), locks.finding)
        site = _CanarySite(
            harness=for_workloads(harness, chosen),
            request=child_request,
            machine=machine,
            telemetry=NoTelemetry() if gpu is None else GpuTelemetry(gpu),
            processes=request.processes,
        )
        results: list[CanaryResult] = []
        for number, spec in enumerate(chosen, 1):
            progress.stage(f"measuring {spec.id} ({number} of {len(chosen)})")
            results.append(_measure(site, spec))
    return CanaryView(
        machine=machine,
        results=tuple(results),
        findings=(*findings, read_fitness_afterwards()),
        notes=tuple(_notes(discovery, machine)),
    )


def _request(folder: Path, settings: CheckSettings) -> ChildRequest:
    """Write the canaries into their own folder; return the request that lists them."""
    source = files("perfledger.canaries")
    for module in MODULES.values():
        (folder / f"{module}.py").write_bytes(source.joinpath(f"{module}.py").read_bytes())
    own_settings = settings.model_copy(
        update={
            "paths": tuple(f"{module}.py" for module in MODULES.values()),
            "import_paths": (".",),
            "suite": BenchmarkSuite.PERFLEDGER.value,
            "params": {},
            "metrics": (),
        }
    )
    child_request = request_for(folder, folder, own_settings)
    effort = replace(child_request.effort, max_seconds=CANARY_SECONDS)
    return replace(child_request, effort=effort)


def _sizes(facts: FactsMessage | None, machine: Machine) -> dict[str, _Values]:
    """Return the canary sizes for the accelerator, for each framework that can use it."""
    if facts is None or machine.device is Device.CPU:
        return {}
    kinds = {Framework.TORCH: facts.device.kind, Framework.JAX: facts.device.platform}
    several: dict[str, _Values] = {}
    if machine.count > 1:
        devices = {"devices": (machine.count,), "mebibytes": (ALL_REDUCE_MEBIBYTES,)}
        several = {ALL_REDUCE: devices}
    return {
        f"{MODULES[framework]}:{name}": values
        for framework, kind in kinds.items()
        if kind in KINDS
        for name, values in {**ACCELERATOR_SIZES, **several}.items()
    }


def _chosen_canaries(
    discovery: Discovery, machine: Machine, pattern: str
) -> tuple[WorkloadSpec, ...]:
    """Return the canaries with this name that the machine can run."""
    if not discovery.workloads:
        broken = "; ".join(f"{each.path}: {each.detail}" for each in discovery.broken)
        msg = f"not measured: no canary could be imported: {clean(broken, limit=MAX_DETAIL)}"
        raise NotMeasuredError(msg)
    names = (pattern, f"{pattern}[*", f"*:{pattern}", f"*:{pattern}[*")
    chosen = tuple(
        spec
        for spec in discovery.workloads
        if not _left_out_reason(spec, machine)
        and (not pattern or any(is_match(name, spec.id) for name in names))
    )
    if not chosen:
        functions = ", ".join(dict.fromkeys(spec.function for spec in discovery.workloads))
        msg = f"no canary {clean(pattern)} on this machine: choose from {functions}"
        raise NotFoundError(msg)
    return chosen


def _left_out_reason(spec: WorkloadSpec, machine: Machine) -> str:
    if spec.device == Device.CUDA and machine.device is not Device.CUDA:
        return "needs a GPU"
    is_alone = machine.device is not Device.CPU and machine.count == 1
    return "needs two devices" if spec.devices > 1 and is_alone else ""


def _notes(discovery: Discovery, machine: Machine) -> Iterator[str]:
    for each in discovery.broken:
        yield f"not available: {each.path}: {clean(each.detail, limit=MAX_DETAIL)}"
    for spec in discovery.workloads:
        if reason := _left_out_reason(spec, machine):
            yield f"left out: {spec.id} {reason}"


def _measure(site: _CanarySite, spec: WorkloadSpec) -> CanaryResult:
    runs: list[Run] = []
    for answer in measure_processes(
        site.harness, site.request, spec.id, processes=site.processes, telemetry=site.telemetry
    ):
        if isinstance(answer, Failure):
            reason = vocabulary.failure_reason_phrase(answer.why)
            return _not_measured(spec, clean(f"{reason}: {answer.detail}", limit=MAX_DETAIL))
        runs.append(answer)
    interval = typical_step_time_s(runs)
    if interval is None:
        return _not_measured(spec, "a reading is zero or not a number")
    units = units_on_each_link(spec)
    high, rate, low = (units / seconds for seconds in interval)
    expected = expected_rate(spec, site.machine, runs[0])
    state = state_of(low, high, expected)
    is_wide = state is CanaryState.UNKNOWN and expected.per_second is not None
    return replace(
        _not_measured(spec, WIDE_INTERVAL if is_wide else expected.basis),
        device=site.machine.part_used_by(runs[0]).model,
        per_second=rate,
        low_per_second=low,
        high_per_second=high,
        expected_per_second=expected.per_second,
        state=state,
        rates=tuple(units / each for each in point_estimates(runs, STEP_TIME) if each),
    )


def _not_measured(spec: WorkloadSpec, reason: str) -> CanaryResult:
    return CanaryResult(
        name=spec.id.partition(":")[2],
        framework=spec.framework,
        params=spec.params,
        unit=spec.unit,
        devices=spec.devices,
        device="",
        per_second=None,
        low_per_second=None,
        high_per_second=None,
        expected_per_second=None,
        state=CanaryState.NOT_MEASURED,
        basis=reason,
    )
