"""Checks what a run says about the devices that it used."""

from perfledger.device_telemetry import DeviceTelemetry
from perfledger.records import Run
from perfledger_runners.bundles.value_checks import require


def check_telemetry(run: Run) -> None:
    """Reject impossible telemetry; raise BundleError."""
    places = [each.place for each in run.telemetry]
    is_fine = len(set(places)) == len(places) <= run.devices and min(places, default=0) >= 0
    require(is_fine, "telemetry: more than one of a device, or of more devices than it used")
    is_used = not run.device_places or set(places) <= set(run.device_places)
    require(is_used, "telemetry: of a device that the run did not use")
    require(all(map(_is_possible, run.telemetry)), "telemetry: an impossible reading")


def _is_possible(telemetry: DeviceTelemetry) -> bool:
    amounts = (
        telemetry.clock_mhz,
        telemetry.power_w,
        telemetry.energy_per_step,
        telemetry.memory_bytes,
        telemetry.pcie_bytes_per_s,
        telemetry.nvlink_bytes_per_s,
    )
    return (
        0 <= telemetry.throttled <= telemetry.readings
        and all(amount is None or amount >= 0 for amount in amounts)
        and all(0 <= share <= 1 for share in telemetry.slowed.values())
    )
