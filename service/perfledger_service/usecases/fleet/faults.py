"""Estimates the fault rate of a fleet from counted faults."""

from perfledger_cost_models.tco.fault_rate import (
    FaultEstimate,
    estimate_faults,
    observed_device_days,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors


@translate_errors()
def observed_faults(
    faults: int, *, devices: int, days: float, fleet_devices: int, confidence_percent: float
) -> FaultEstimate:
    """Return what counted faults say about a fleet; raises UsageError."""
    return estimate_faults(
        faults,
        device_days=observed_device_days(devices, days),
        devices=fleet_devices,
        confidence=confidence_percent / 100,
    )
