"""Checks projections on published ratios that did not calibrate them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from perfledger_cost_models.projection.error import (
    Calibration,
    ProjectionResidual,
    calibrate,
    residuals_of,
)
from perfledger_cost_models.projection.projection import Projection, projection_of
from perfledger_cost_models.projection.published_results import PublishedRatio
from perfledger_cost_models.projection.roofline import DeviceRoofs
from perfledger_cost_models.projection.workload_descriptor import WorkloadDescriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProjection:
    """A published ratio and its projection, calibrated without results of its kind."""

    residual: ProjectionResidual
    projection: Projection

    @property
    def published(self) -> PublishedRatio:
        """Return the published ratio."""
        return self.residual.ratio

    @property
    def is_covered(self) -> bool:
        """Return whether the interval contains the published ratio."""
        return self.projection.low <= self.published.speed <= self.projection.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionCheck:
    """The errors of projections of published ratios, each without results of its kind."""

    ratios: int
    median_error: float  # relative error of the point
    covered_share: float  # share of the ratios in their 90 % intervals


def model_of(residual: ProjectionResidual) -> str:
    """Return the model; training and inference in every precision count as one kind."""
    return residual.model


def leave_one_out(
    ratios: Sequence[PublishedRatio],
    descriptors: Collection[WorkloadDescriptor],
    roofs: Mapping[str, DeviceRoofs],
    *,
    kind_of: Callable[[ProjectionResidual], str],
) -> tuple[CheckedProjection, ...]:
    """Project each published ratio, with the interval calibrated on the ratios of other kinds.

    Raises the errors of `residuals_of` and `calibrate`.
    """
    residuals = residuals_of(ratios, descriptors, roofs)
    calibrations = {
        kind: calibrate(each for each in residuals if kind_of(each) != kind)
        for kind in {kind_of(each) for each in residuals}
    }
    return checked_projections(
        residuals, descriptors, roofs, lambda residual: calibrations[kind_of(residual)]
    )


def checked_projections(
    residuals: Iterable[ProjectionResidual],
    descriptors: Collection[WorkloadDescriptor],
    roofs: Mapping[str, DeviceRoofs],
    calibration_for: Callable[[ProjectionResidual], Calibration],
) -> tuple[CheckedProjection, ...]:
    """Project published ratios, each with the calibration for it."""
    by_name = {each.name: each for each in descriptors}
    return tuple(
        CheckedProjection(
            residual=residual,
            projection=projection_of(
                by_name[residual.ratio.workload],
                roofs[residual.ratio.source_device],
                roofs[residual.ratio.target_device],
                calibration_for(residual),
            ),
        )
        for residual in residuals
    )


def check_of(checked: Sequence[CheckedProjection]) -> ProjectionCheck:
    """Summarise the errors of at least one projection of a published ratio."""
    errors = [abs(each.projection.speed / each.published.speed - 1) for each in checked]
    return ProjectionCheck(
        ratios=len(checked),
        median_error=median(errors),
        covered_share=sum(each.is_covered for each in checked) / len(checked),
    )
