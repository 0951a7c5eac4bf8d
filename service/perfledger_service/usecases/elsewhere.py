"""A measured bundle or a described workload in, its projected speed and cost elsewhere out."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache

from perfledger.bundle import Bundle
from perfledger.records import WorkloadSpec
from perfledger_cost_models.accelerator import accelerator_of
from perfledger_cost_models.calibration import (
    Calibration,
    calibrate,
    packaged_ratios,
    residuals_of,
)
from perfledger_cost_models.descriptor import Descriptor, packaged_descriptors
from perfledger_cost_models.projection import Projection, project, projected_costs
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.rates import rate_of, standard_rates
from perfledger_cost_models.sheet import PriceSheet, PricingModel
from perfledger_cost_models.unit_cost import Throughput
from perfledger_profiles.hardware import Hardware, known_hardware
from perfledger_service.cost_views import ProjectedRow, ProjectionView
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.describing import (
    machine_of,
    measured_descriptor,
    measured_hardware,
)
from perfledger_service.usecases.device_roofs import known_roofs, roofs_of
from perfledger_service.usecases.price_books import current_sheet
from perfledger_service.usecases.translating import translated
from perfledger_service.usecases.work_rates import PEAK_DTYPE, throughput

# What a team has or could have, where it does not say what to project onto.
DEFAULT_TARGETS = ("A100-80GB", "H100-80GB", "TPU-v4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A workload, the device it runs on and how fast one of them does it, where that is known."""

    descriptor: Descriptor
    hardware: Hardware
    units_per_second: Throughput | None
    is_measured: bool = False


def projected_elsewhere(bundle: Bundle, *, today: date) -> tuple[ProjectionView, ...]:
    """Project each workload that a bundle counted and measured onto what a team could have.

    The counts do not say in which type operations run: PEAK_DTYPE is taken. A workload that cannot
    be projected is left out.
    """
    found: list[ProjectionView] = []
    for spec in bundle.workloads:
        # Most are on a processor, or were not counted: nobody has asked for those.
        with suppress(UsageError):
            subject = measured_work(bundle, spec, dtype=PEAK_DTYPE)
            found.append(project_costs(subject, targets=(), today=today))
    return tuple(found)


def project_costs(
    subject: Subject, *, targets: Sequence[str], today: date, sheet: PriceSheet | None = None
) -> ProjectionView:
    """Project a workload onto devices by roofline, and price a unit of its work there.

    Without targets: DEFAULT_TARGETS but the device itself; without a sheet the current one. Raises
    NotFoundError for a device that is not known.
    """
    wanted = [hardware_named(name) for name in targets or DEFAULT_TARGETS]
    kept = [each for each in wanted if targets or each.key != subject.hardware.key]
    return ProjectionView(
        descriptor=subject.descriptor,
        source=_name(subject.hardware),
        units_per_second=subject.units_per_second,
        is_measured=subject.is_measured,
        rows=tuple(
            _row(subject, hardware, sheet=sheet or current_sheet(), today=today)
            for hardware in kept
        ),
        published=len(packaged_ratios()),
    )


def measured_work(bundle: Bundle, spec: WorkloadSpec, *, dtype: str) -> Subject:
    """Return the head of a workload that a bundle measured; raises NotFoundError and UsageError."""
    speed = throughput(bundle, spec, devices=machine_of(bundle, spec).count)
    if speed is None or not min(speed) > 0:
        msg = f"the head of {spec.id} was not measured in {bundle.id}"
        raise NotFoundError(msg)
    with translated():
        descriptor = measured_descriptor(bundle, spec, units_per_second=speed, dtype=dtype)
    return Subject(
        descriptor=descriptor,
        hardware=measured_hardware(bundle, spec),
        units_per_second=speed,
        is_measured=True,
    )


def hardware_named(name: str) -> Hardware:
    """Return a device by its key, what it calls itself or what the price sheet calls it.

    Raises NotFoundError.
    """
    wanted = " ".join(name.split()).casefold()
    for hardware in known_hardware():
        names = (hardware.key, *hardware.names, _name(hardware))
        if wanted in {each.casefold() for each in names}:
            return hardware
    msg = f"no facts on a device {name!r}: there are {known_devices()}"
    raise NotFoundError(msg)


def known_devices() -> str:
    """Return the keys of the devices there are facts on, in words."""
    return ", ".join(hardware.key for hardware in known_hardware())


def _name(hardware: Hardware) -> str:
    """Return what the price sheet calls a device; what it does not know keeps its own name."""
    accelerator = accelerator_of(hardware.names[0], hardware.memory_bytes)
    return accelerator or hardware.key


@cache
def _calibration() -> Calibration:
    return calibrate(residuals_of(packaged_ratios(), packaged_descriptors(), known_roofs()))


def _row(subject: Subject, hardware: Hardware, *, sheet: PriceSheet, today: date) -> ProjectedRow:
    speed = subject.units_per_second
    with translated():
        found = project(
            subject.descriptor,
            source=roofs_of(subject.hardware),
            target=roofs_of(hardware),
            calibration=_calibration(),
            measured_seconds=None if speed is None else 1 / speed[1],
        )
        if speed is None or not isinstance(found, Projection):
            return ProjectedRow(device=_name(hardware), projection=found)
        rates = _rates(_name(hardware), sheet=sheet, today=today)
        costs = projected_costs(found, units_per_second=speed, rates=rates)
    return ProjectedRow(device=_name(hardware), projection=found, costs=costs)


def _rates(accelerator: str, *, sheet: PriceSheet, today: date) -> tuple[Rate, ...]:
    """Return the standard rates of an accelerator, else those on demand wherever it is sold."""
    standard = (rate for rate in standard_rates(sheet, today=today))
    if found := tuple(rate for rate in standard if rate.accelerator == accelerator):
        return found
    options: dict[tuple[str, str], str] = {}
    for price in sheet.prices:
        is_on_demand = price.pricing_model is PricingModel.ON_DEMAND and price.is_trusted
        if price.accelerator == accelerator and is_on_demand:
            region = f"@{price.region}" if price.region else ""
            option = f"{price.provider}:{price.option}"
            options.setdefault((price.provider, price.option), f"{option}{region}")
    return tuple(rate_of(sheet, option, today=today) for option in options.values())
