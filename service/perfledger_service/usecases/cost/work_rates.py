"""Computes the achieved FLOP/s and throughput of a bundle's workloads."""

from collections.abc import Sequence

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger_baselines.estimation.typical_range import typical_step_time_s
from perfledger_baselines.estimation.work_counts import work_change
from perfledger_baselines.judging.verdict import Verdict
from perfledger_profiles.hardware.device_lookup import match_hardware
from perfledger_profiles.hardware.device_peaks import peak_flops
from perfledger_profiles.hardware.device_state import DeviceState
from perfledger_service.usecases.trace.explain import device_at_timing
from perfledger_service.values.report import WorkRate

# The reference type of model FLOP utilization on accelerators, whatever types a step uses.
PEAK_DTYPE = "bfloat16"


def work_rates(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[WorkRate, ...]:
    """Return the achieved FLOP/s of every workload with counted work and a step time.

    FLOP/s = FLOP per step / typical step time; its share of the peak is the model FLOP utilization
    of Chowdhery et al. 2022, appendix B, against its devices' dense bfloat16 peak.
    """
    machines = bundle.machines()
    rates: list[WorkRate] = []
    for verdict in verdicts:
        estimate = verdict.estimate
        if verdict.metric.name != STEP_TIME.name or estimate is None:
            continue
        work = work_change(bundle, verdict.workload)
        if work is None or min(estimate.base, estimate.head) <= 0:
            continue
        rates.append(
            WorkRate(
                workload=verdict.workload,
                base_flops=work.base,
                head_flops=work.head,
                base_flops_per_second=work.base / estimate.base,
                head_flops_per_second=work.head / estimate.head,
                peak_flops_per_second=_peak(
                    machines[verdict.workload, Side.HEAD],
                    device_at_timing(bundle.runs, verdict.workload, Side.HEAD),
                ),
            )
        )
    return tuple(rates)


def throughput(
    bundle: Bundle, spec: WorkloadSpec, *, devices: int, side: Side = Side.HEAD
) -> tuple[float, float, float] | None:
    """Return a side's units of work per second of one device: low, typical, high."""
    step = typical_step_time_s(bundle.runs_of(spec.id, side))
    return None if step is None else units_per_second(spec.units_per_step, devices, step)


def units_per_second(
    units: float, devices: int, step_seconds: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the units of work per second of one device from a step's time: low, typical, high."""
    low, typical, high = (seconds * devices for seconds in step_seconds)
    return units / high, units / typical, units / low


def _peak(machine: Machine, state: DeviceState | None) -> float | None:
    """Return the peak of whole devices; None for a MIG slice, whose peak is not published.

    A power-limited board's peak is taken at the clock that it reached.
    """
    if machine.device is Device.CPU or machine.mig:
        return None
    hardware = match_hardware(
        machine.model,
        memory_bytes=machine.memory_bytes,
        power_limit_watts=machine.power_cap_w,
        clock_hz=state.clock_hertz if state else None,
    ).hardware
    peak = peak_flops(hardware, PEAK_DTYPE) if hardware else None
    return None if peak is None else peak * machine.count
