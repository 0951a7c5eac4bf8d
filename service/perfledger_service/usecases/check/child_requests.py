"""Requests that a check sends to its children: which checkout to measure, and with what effort."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from perfledger.metrics import ENERGY_PER_STEP, OPTIONAL_METRICS, Metric
from perfledger.protocol import BenchmarkSuite, ChildRequest, Command, MeasuringEffort
from perfledger.records import Device, Side
from perfledger_baselines.estimation.tail_quantiles import fewest_steps
from perfledger_profiles.hardware.efficiency_metrics import MIN_ENERGY_SECONDS
from perfledger_runners.machine.telemetry import EDGE_SECONDS
from perfledger_service.settings.check import CheckSettings

# Seconds of interleaved steps per side and pair. On a busy CPU processes differ by more than
# another second of turns would resolve: the time is better spent on another pair.
INTERLEAVED_SECONDS = 0.75
# Seconds of steps of one reading on an accelerator. Seconds of steps on an accelerator: short
# compared with a process's imports, compilation and context, which took 6 to 15 s on an H100; its
# counters are read every tenth of a second.
ACCELERATOR_SECONDS = 1.0


def request_for(checkout: Path, repository: Path, settings: CheckSettings) -> ChildRequest:
    """Return the request to list a checkout's workloads, which other requests extend."""
    return ChildRequest(
        command=Command.LIST,
        root=str(checkout),
        repository=str(repository),
        import_paths=settings.import_paths,
        paths=settings.own_paths,
        suite=BenchmarkSuite(settings.suite),
        params=settings.params,
        variants=settings.variants,
        device=settings.device,
        effort=_effort(settings),
    )


def optional_metrics(settings: CheckSettings) -> tuple[Metric, ...]:
    """Return the metrics that the settings ask for beside the usual ones."""
    return tuple(OPTIONAL_METRICS[name] for name in dict.fromkeys(settings.metrics))


def _effort(settings: CheckSettings) -> MeasuringEffort:
    """Return the default effort, raised to what the optional metrics need."""
    usual, metrics = MeasuringEffort(), optional_metrics(settings)
    needed = fewest_steps(metrics)
    seconds = MIN_ENERGY_SECONDS if ENERGY_PER_STEP in metrics else 0.0
    return replace(
        usual,
        min_steps=max(usual.min_steps, needed),
        max_steps=max(usual.max_steps, needed),
        min_seconds=max(usual.min_seconds, seconds),
        max_seconds=max(usual.max_seconds, seconds),
    )


def requests_for_device(
    requests: Mapping[Side, ChildRequest], device: Device
) -> Mapping[Side, ChildRequest]:
    """Return requests that interleave the sides' steps on a CPU, and take longer on a device.

    On a CPU the workloads run in forks of one process. An accelerator is quieter and holds one
    process at a time. If the effort on a CPU is raised, for example for tails, the time per process
    stays at its default.
    """
    adapted = _interleaved_request if device is Device.CPU else _on_accelerator
    return {side: adapted(request) for side, request in requests.items()}


def _interleaved_request(request: ChildRequest) -> ChildRequest:
    usual = MeasuringEffort()
    seconds = INTERLEAVED_SECONDS if request.effort == usual else usual.max_seconds
    return replace(
        request,
        is_interleaved=True,
        is_forking=True,
        effort=replace(request.effort, max_seconds=seconds),
    )


def _on_accelerator(request: ChildRequest) -> ChildRequest:
    effort = request.effort
    seconds = max(effort.min_seconds, ACCELERATOR_SECONDS)
    effort = replace(effort, min_seconds=seconds, edge_seconds=EDGE_SECONDS)
    return replace(request, effort=effort)
