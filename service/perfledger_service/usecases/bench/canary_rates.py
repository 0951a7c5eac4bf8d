"""Computes the rate that a device should reach in a canary, from the packaged device table."""

from perfledger.records import Machine, Run, WorkloadSpec
from perfledger.rounding import decimals
from perfledger_profiles.hardware.device_lookup import match_hardware
from perfledger_profiles.hardware.device_peaks import (
    ACHIEVABLE_BANDWIDTH_FRACTION,
    ACHIEVABLE_INTERCONNECT_FRACTION,
    HardwareSpec,
    achievable_fraction,
    peak_flops,
)
from perfledger_profiles.timeline.bus_bandwidth import CollectiveOperation, bus_factor
from perfledger_service.values.doctor_views import CanaryState, ExpectedRate

ALL_REDUCE = "all_reduce"
# Relative to the best known program on the device. A canary is one shape in a stock library: the
# best shape reaches 0.73 to 0.87 of the peak depending on the device, and another shape loses up to
# a tenth more.
SLOW_SHARE = 0.75


def units_on_each_link(spec: WorkloadSpec) -> float:
    """Return a step's units of work; for an all-reduce, the bytes that each link carries."""
    if spec.function != ALL_REDUCE:
        return spec.units_per_step
    return spec.units_per_step * bus_factor(CollectiveOperation.ALL_REDUCE, spec.devices)


def expected_rate(spec: WorkloadSpec, machine: Machine, run: Run) -> ExpectedRate:
    """Return the rate that the part of a machine used by a run should reach in a canary."""
    part = machine.part_used_by(run)
    match = match_hardware(
        part.model,
        memory_bytes=part.memory_bytes,
        mig=part.mig,
        power_limit_watts=part.power_cap_w,
        clock_hz=run.clock_mhz * 1e6 if run.clock_mhz else None,
    )
    if match.hardware is None:
        return ExpectedRate(per_second=None, basis=match.reason)
    return _of_hardware(spec, match.hardware)


def state_of(low: float, high: float, expected: ExpectedRate) -> CanaryState:
    """Return how a rate's interval compares with the expected rate; unknown if it straddles it."""
    if expected.per_second is None:
        return CanaryState.UNKNOWN
    limit = SLOW_SHARE * expected.per_second
    if high < limit:
        return CanaryState.SLOW
    return CanaryState.AS_EXPECTED if low >= limit else CanaryState.UNKNOWN


def _of_hardware(spec: WorkloadSpec, hardware: HardwareSpec) -> ExpectedRate:
    match spec.function:
        case "matmul":
            dtype = str(spec.params["dtype"])
            peak, fraction = peak_flops(hardware, dtype), achievable_fraction(hardware, dtype)
            what = hardware.unreachable_reason or f"peak of {dtype}"
        case "memory_copy":
            peak, fraction = hardware.memory_bytes_per_second, ACHIEVABLE_BANDWIDTH_FRACTION
            what = "memory bandwidth"
        case "all_reduce":
            peak, fraction = (
                hardware.interconnect_bytes_per_second,
                ACHIEVABLE_INTERCONNECT_FRACTION,
            )
            what = "interconnect one way"
        case _:
            return ExpectedRate(
                per_second=None, basis="no published figure says what a device reaches in it"
            )
    if peak is None:
        return ExpectedRate(per_second=None, basis=f"{hardware.key}: no known {what}")
    return ExpectedRate(
        per_second=peak * fraction, basis=f"{decimals(fraction, 2)} of the {what} of {hardware.key}"
    )
