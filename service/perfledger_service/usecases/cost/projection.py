"""Projects the speed and cost of a workload onto other devices."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from perfledger.bundle import Bundle
from perfledger.records import WorkloadSpec
from perfledger.rounding import typed
from perfledger_cost_models.prices.accelerator_names import accelerator_of
from perfledger_cost_models.prices.price_sheet import PriceSheet, PricingModel
from perfledger_cost_models.projection.error import (
    Calibration,
    calibrate,
    residuals_of,
)
from perfledger_cost_models.projection.projection import Projection, project, projected_costs
from perfledger_cost_models.projection.published_results import packaged_ratios
from perfledger_cost_models.projection.workload_descriptor import (
    WorkloadDescriptor,
    packaged_descriptors,
)
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.hourly_rates import rate_of, standard_rates
from perfledger_cost_models.tco.unit_cost import Throughput
from perfledger_profiles.hardware.device_peaks import HardwareSpec, known_hardware
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.cost.device_efficiency import known_roofs, roofs_of
from perfledger_service.usecases.cost.work_rates import PEAK_DTYPE, throughput
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import current_sheet
from perfledger_service.usecases.trace.workload_descriptor import (
    machine_of,
    measured_descriptor,
    measured_hardware,
)
from perfledger_service.values.projection_views import ProjectionRow, ProjectionView

# Targets of a projection that names none of its own.
DEFAULT_TARGETS = ("A100-80GB", "H100-80GB", "TPU-v4")
# Relative to a board's power: the lowest among published boards of one design, H100 PCIe to H100
# SXM.
MIN_POWER_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionSource:
    """A workload, the device it runs on, and its speed on one such device if known."""

    descriptor: WorkloadDescriptor
    hardware: HardwareSpec
    units_per_second: Throughput | None
    is_measured: bool = False


def project_bundle(bundle: Bundle, *, today: date) -> tuple[ProjectionView, ...]:
    """Project each counted and measured workload of a bundle onto DEFAULT_TARGETS.

    The counts do not say which data type operations use, so PEAK_DTYPE is assumed. Workloads that
    cannot be projected are left out.
    """
    views: list[ProjectionView] = []
    for spec in bundle.workloads:
        # Most ran on a CPU, or were not counted.
        with suppress(UsageError):
            subject = measured_work(bundle, spec, dtype=PEAK_DTYPE)
            views.append(project_costs(subject, targets=(), today=today))
    return tuple(views)


def project_costs(
    subject: ProjectionSource,
    *,
    targets: Sequence[str],
    today: date,
    sheet: PriceSheet | None = None,
    power_limit_w: float | None = None,
) -> ProjectionView:
    """Project a workload onto devices by roofline, and price a unit of its work there.

    The defaults are DEFAULT_TARGETS without the source device, the current sheet and each board's
    own power. Raises NotFoundError for an unknown device, and UsageError for an invalid limit.
    """
    all_targets = [
        _with_power_limit(hardware_named(name), power_limit_w)
        for name in targets or DEFAULT_TARGETS
    ]
    sheet = sheet or current_sheet(today=today)
    hardware_targets = [each for each in all_targets if targets or each.key != subject.hardware.key]
    return ProjectionView(
        descriptor=subject.descriptor,
        source=hardware_name(subject.hardware),
        units_per_second=subject.units_per_second,
        is_measured=subject.is_measured,
        rows=tuple(
            replace(row, device=f"{row.device}{_power_label(power_limit_w)}")
            for hardware in hardware_targets
            for row in (_row(subject, hardware, sheet=sheet, today=today),)
        ),
        published=len(packaged_ratios()),
    )


def measured_work(bundle: Bundle, spec: WorkloadSpec, *, dtype: str) -> ProjectionSource:
    """Return the head of a workload that a bundle measured; raises NotFoundError and UsageError."""
    speed = throughput(bundle, spec, devices=machine_of(bundle, spec).count)
    if speed is None or not min(speed) > 0:
        msg = f"the head of {spec.id} was not measured in {bundle.id}"
        raise NotFoundError(msg)
    with translate_errors():
        descriptor = measured_descriptor(bundle, spec, units_per_second=speed, dtype=dtype)
    return ProjectionSource(
        descriptor=descriptor,
        hardware=measured_hardware(bundle, spec),
        units_per_second=speed,
        is_measured=True,
    )


def hardware_named(name: str) -> HardwareSpec:
    """Return a device by its key, its own name or its name on the price sheet.

    Raises NotFoundError.
    """
    key = " ".join(name.split()).casefold()
    for hardware in known_hardware():
        names = (hardware.key, *hardware.names, hardware_name(hardware))
        if key in {each.casefold() for each in names}:
            return hardware
    msg = f"no device {name!r} in the hardware table: choose from {known_devices()}"
    raise NotFoundError(msg)


def known_devices() -> str:
    """Return the keys of all devices in the hardware table, joined by commas."""
    return ", ".join(hardware.key for hardware in known_hardware())


def hardware_name(hardware: HardwareSpec) -> str:
    """Return a device's name on the price sheet, else its key."""
    accelerator = accelerator_of(hardware.names[0], hardware.memory_bytes)
    return accelerator or hardware.key


@cache
def projection_calibration() -> Calibration:
    """Return the error of projections, measured on the packaged published results."""
    return calibrate(residuals_of(packaged_ratios(), packaged_descriptors(), known_roofs()))


def _with_power_limit(hardware: HardwareSpec, watts: float | None) -> HardwareSpec:
    """Return a device under a power limit, which gives results of its own."""
    if watts is None:
        return hardware
    if hardware.tdp_w is None or not 0 < watts <= hardware.tdp_w:
        power = "unknown" if hardware.tdp_w is None else f"{typed(hardware.tdp_w)} W"
        msg = f"a limit of {typed(watts)} W: the power of {hardware.key} is {power}, give less"
        raise UsageError(msg)
    if watts < MIN_POWER_SHARE * hardware.tdp_w:
        msg = (
            f"a limit of {typed(watts)} W: no published board shows what {hardware.key} does at "
            "less "
            f"than half of its {typed(hardware.tdp_w)} W"
        )
        raise UsageError(msg)
    return replace(hardware, key=f"{hardware.key}{_power_label(watts)}", tdp_w=watts)


def _power_label(watts: float | None) -> str:
    return "" if watts is None else f" at {typed(watts)} W"


def _row(
    subject: ProjectionSource, hardware: HardwareSpec, *, sheet: PriceSheet, today: date
) -> ProjectionRow:
    speed = subject.units_per_second
    with translate_errors():
        projection = project(
            subject.descriptor,
            source=roofs_of(subject.hardware),
            target=roofs_of(hardware),
            calibration=projection_calibration(),
            measured_seconds=None if speed is None else 1 / speed[1],
        )
        if speed is None or not isinstance(projection, Projection):
            return ProjectionRow(device=hardware_name(hardware), projection=projection)
        rates = _rates(hardware_name(hardware), sheet=sheet, today=today)
        costs = projected_costs(projection, units_per_second=speed, rates=rates)
    return ProjectionRow(device=hardware_name(hardware), projection=projection, costs=costs)


def _rates(accelerator: str, *, sheet: PriceSheet, today: date) -> tuple[HourlyRate, ...]:
    """Return an accelerator's standard rates, else its on-demand rates in any region."""
    standard = (rate for rate in standard_rates(sheet, today=today))
    if matching := tuple(rate for rate in standard if rate.accelerator == accelerator):
        return matching
    options: dict[tuple[str, str], str] = {}
    for price in sheet.prices:
        is_on_demand = price.pricing_model is PricingModel.ON_DEMAND and price.is_trusted
        if price.accelerator == accelerator and is_on_demand:
            region = f"@{price.region}" if price.region else ""
            option = f"{price.provider}:{price.option}"
            options.setdefault((price.provider, price.option), f"{option}{region}")
    return tuple(rate_of(sheet, option, today=today) for option in options.values())
