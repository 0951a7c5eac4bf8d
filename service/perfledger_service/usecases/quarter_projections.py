"""What a quarter's checks measured and counted in, how fast that is projected elsewhere out."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger_cost_models.calibration import packaged_ratios
from perfledger_cost_models.descriptor import packaged_descriptors
from perfledger_cost_models.procurement_plan import Plan
from perfledger_cost_models.projection import ProjectionCheck, check_of, leave_one_model_out
from perfledger_cost_models.review_records import MeasuredSpeed, ProjectedSpeed
from perfledger_cost_models.sheet import PriceSheet
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.device_roofs import known_roofs
from perfledger_service.usecases.elsewhere import (
    DEFAULT_TARGETS,
    hardware_named,
    measured_work,
    project_costs,
)
from perfledger_service.usecases.work_rates import PEAK_DTYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Onto what is projected, at whose prices."""

    accelerators: tuple[str, ...]
    sheet: PriceSheet
    today: date


def elsewhere_of(plan: Plan, *, sheet: PriceSheet, today: date) -> Elsewhere:
    """Return the accelerators that a plan speaks of, and what a team could have besides."""
    named = (plan.demand.accelerator, *(one.accelerator for one in plan.speed), *DEFAULT_TARGETS)
    known: list[str] = []
    for name in dict.fromkeys(named):
        with suppress(NotFoundError):  # it has a price, and nothing is known of its peaks
            hardware_named(name)
            known.append(name)
    return Elsewhere(accelerators=tuple(known), sheet=sheet, today=today)


def projected_speeds(
    measured: Iterable[tuple[MeasuredSpeed, Bundle]],
    speeds: Sequence[MeasuredSpeed],
    elsewhere: Elsewhere,
) -> tuple[ProjectedSpeed, ...]:
    """Project what was measured of the default branch onto devices that it did not run on.

    `speeds` are all that was measured: what ran on a device is never projected onto it. What was
    not counted, or ran where no peaks are known, is left out.
    """
    ran = {(one.workload, one.accelerator) for one in speeds}
    found: list[ProjectedSpeed] = []
    for speed, bundle in measured:
        targets = [name for name in elsewhere.accelerators if (speed.workload, name) not in ran]
        with suppress(UsageError):  # most were not counted, or ran on a processor
            found += _projected(speed, bundle, targets, elsewhere)
    return tuple(found)


def projection_check() -> ProjectionCheck:
    """Return how far off the published ratios are projected."""
    return check_of(leave_one_model_out(packaged_ratios(), packaged_descriptors(), known_roofs()))


def _projected(
    speed: MeasuredSpeed, bundle: Bundle, targets: Sequence[str], elsewhere: Elsewhere
) -> list[ProjectedSpeed]:
    spec = next((one for one in bundle.workloads if one.id == speed.workload), None)
    if spec is None or not targets:
        return []
    subject = measured_work(_base_alone(bundle), spec, dtype=PEAK_DTYPE)
    view = project_costs(subject, targets=targets, sheet=elsewhere.sheet, today=elsewhere.today)
    return [
        ProjectedSpeed(
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
    """Return a bundle whose head is its base, which is of the default branch for sure."""
    return replace(
        bundle,
        runs=tuple(replace(run, side=Side.HEAD) for run in bundle.runs if run.side is Side.BASE),
        work=tuple(replace(one, side=Side.HEAD) for one in bundle.work if one.side is Side.BASE),
        profiles=tuple(
            replace(one, side=Side.HEAD) for one in bundle.profiles if one.side is Side.BASE
        ),
    )
