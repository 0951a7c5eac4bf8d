"""Projects the speeds that a quarter's checks measured onto other devices."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.procurement.plan import ProcurementPlan
from perfledger_cost_models.projection.published_results import packaged_ratios
from perfledger_cost_models.projection.validation import (
    ProjectionCheck,
    check_of,
    leave_one_out,
    model_of,
)
from perfledger_cost_models.projection.workload_descriptor import packaged_descriptors
from perfledger_cost_models.review.measured_changes import MeasuredSpeed, ProjectedSpeed
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.cost.device_efficiency import known_roofs
from perfledger_service.usecases.cost.projection import (
    DEFAULT_TARGETS,
    hardware_named,
    measured_work,
    project_costs,
)
from perfledger_service.usecases.cost.work_rates import PEAK_DTYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionTargets:
    """Accelerators to project onto, and the prices to use."""

    accelerators: tuple[str, ...]
    sheet: PriceSheet
    today: date


def projection_targets(
    plan: ProcurementPlan, *, sheet: PriceSheet, today: date
) -> ProjectionTargets:
    """Return the accelerators that a plan names, and DEFAULT_TARGETS."""
    named = (plan.demand.accelerator, *(one.accelerator for one in plan.speed), *DEFAULT_TARGETS)
    accelerators: list[str] = []
    for name in dict.fromkeys(named):
        with suppress(NotFoundError):  # it has a price, but its peaks are unknown
            hardware_named(name)
            accelerators.append(name)
    return ProjectionTargets(accelerators=tuple(accelerators), sheet=sheet, today=today)


def projected_speeds(
    measured: Iterable[tuple[MeasuredSpeed, Bundle]],
    speeds: Sequence[MeasuredSpeed],
    target_devices: ProjectionTargets,
) -> tuple[ProjectedSpeed, ...]:
    """Project the default branch's workloads onto devices that they did not run on.

    `speeds` are all measured speeds; a workload is never projected onto a device that it ran on.
    Workloads without counted work, or on devices without known peaks, are left out.
    """
    ran = {(one.repository, one.workload, one.accelerator) for one in speeds}
    projections: list[ProjectedSpeed] = []
    for speed, bundle in measured:
        unmeasured_targets = [
            name
            for name in target_devices.accelerators
            if (speed.repository, speed.workload, name) not in ran
        ]
        with suppress(UsageError):  # most were not counted, or ran on a CPU
            projections += _project_speed(speed, bundle, unmeasured_targets, target_devices)
    return tuple(projections)


def projection_check() -> ProjectionCheck:
    """Return the projection error on the published ratios."""
    return check_of(
        leave_one_out(packaged_ratios(), packaged_descriptors(), known_roofs(), kind_of=model_of)
    )


def _project_speed(
    speed: MeasuredSpeed, bundle: Bundle, targets: Sequence[str], prices: ProjectionTargets
) -> list[ProjectedSpeed]:
    spec = next((one for one in bundle.workloads if one.id == speed.workload), None)
    if spec is None or not targets:
        return []
    subject = measured_work(_base_alone(bundle), spec, dtype=PEAK_DTYPE)
    view = project_costs(subject, targets=targets, sheet=prices.sheet, today=prices.today)
    return [
        ProjectedSpeed(
            repository=speed.repository,
            workload=speed.workload,
            unit=speed.unit,
            source=view.source,
            day=speed.day,
            origin=speed.origin,
            device=row.device,
            projection=row.projection,
            costs=row.costs,
        )
        for row in view.rows
    ]


def _base_alone(bundle: Bundle) -> Bundle:
    """Return a bundle whose head is its base, which is certainly on the default branch."""
    return replace(
        bundle,
        runs=tuple(replace(run, side=Side.HEAD) for run in bundle.runs if run.side is Side.BASE),
        work=tuple(replace(one, side=Side.HEAD) for one in bundle.work if one.side is Side.BASE),
        profiles=tuple(
            replace(one, side=Side.HEAD) for one in bundle.profiles if one.side is Side.BASE
        ),
    )
