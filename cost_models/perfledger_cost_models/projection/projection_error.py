"""Calibrates the error of projections between devices on published results."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log, sqrt

from scipy.special import stdtrit

from perfledger_cost_models.csv_table import SheetRow, read_rows
from perfledger_cost_models.projection.roofline import (
    LEAST_REACH,
    DeviceRoofs,
    max_projection_error,
    resource_seconds,
)
from perfledger_cost_models.projection.workload_descriptor import WorkloadDescriptor

COVERAGE = 0.9  # of the interval on a projected ratio
# Results of seven models are published on both of these, A100 and H100; a projection to another
# chip design is an extrapolation.
CALIBRATED_DESIGNS = frozenset({"NVIDIA 8.0", "NVIDIA 9.0"})
COLUMNS = (
    "workload",
    "scenario",
    "accelerators",
    "source_device",
    "source_value",
    "target_device",
    "target_value",
    "unit",
    "published",
    "source",
)
# Extra variance of the log of a ratio between vendors, whose compilers and kernels differ as well.
# Assumed, because the table has no such pair: in Jouppi et al. 2023 (arXiv 2304.01433, abstract)
# TPU v4 is 1.2 to 1.7 times as fast as A100, which is e^0.4 to e^0.9 of the projection.
VENDOR_VARIANCE = 0.25
# A time gets smaller where a rate gets larger.
_IS_TIME = {"minutes": True, "samples_per_second": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRatio:
    """The published speed of one device relative to another, from the best result of each."""

    workload: str  # the name of a descriptor
    scenario: str
    accelerators: int
    source_device: str  # keys of the hardware table
    target_device: str
    speed: float  # target over source
    published: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionResidual:
    """The error of a projection: the log of published over projected."""

    ratio: PublishedRatio
    model: str
    log_error: float
    reach: float
    other_designs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The error of projections: variances of the log of a ratio.

    `base_variance` is per unit of reach, between CALIBRATED_DESIGNS; `design_variance` is added for
    each other chip design, VENDOR_VARIANCE for another vendor.
    """

    base_variance: float
    base_models: int
    design_variance: float
    design_models: int

    def log_half_width(
        self,
        *,
        distance: float,
        source: DeviceRoofs,
        target: DeviceRoofs,
        coverage: float = COVERAGE,
    ) -> float:
        """Return the half-width of the interval of the log of a ratio at a distance.

        It uses Student's t with as many degrees of freedom as models. It is 0 for a projection onto
        the same device.
        """
        if source == target:
            return 0.0
        variance = self.base_variance * max(distance, LEAST_REACH)
        degrees = self.base_models
        residuals = other_designs(source, target)
        if residuals:
            variance += self.design_variance * residuals
            degrees = min(degrees, self.design_models)
        if source.vendor != target.vendor:
            variance += VENDOR_VARIANCE
        return float(stdtrit(degrees, (1 + coverage) / 2)) * sqrt(variance)


def other_designs(source: DeviceRoofs, target: DeviceRoofs) -> int:
    """Return the number of chip designs of a projection without calibration."""
    designs = {source.design, target.design}
    return len(designs - CALIBRATED_DESIGNS) if len(designs) > 1 else 0


def calibrate(residuals: Iterable[ProjectionResidual]) -> Calibration:
    """Return the variances that residuals tell; every model counts once, however often published.

    Raises ValueError where no model is left for either of them.
    """
    road: dict[str, list[float]] = {}
    design: dict[str, list[ProjectionResidual]] = {}
    for each in residuals:
        if each.other_designs:
            design.setdefault(each.model, []).append(each)
        else:
            road.setdefault(each.model, []).append(each.log_error**2 / each.reach)
    if not (road and design):
        msg = "there are no published results to calibrate a projection: add some"
        raise ValueError(msg)
    variance = _mean(map(_mean, road.values()))
    beyond = _mean(
        _mean((each.log_error**2 - variance * each.reach) / each.other_designs for each in same)
        for same in design.values()
    )
    return Calibration(
        base_variance=variance,
        base_models=len(road),
        design_variance=max(beyond, 0.0),
        design_models=len(design),
    )


def residuals_of(
    ratios: Sequence[PublishedRatio],
    descriptors: Collection[WorkloadDescriptor],
    roofs: Mapping[str, DeviceRoofs],
) -> tuple[ProjectionResidual, ...]:
    """Return the error of the projection of each published ratio.

    Raises KeyError for an unknown workload or device, and MissingPeakError for a device without a
    peak that the workload needs.
    """
    by_name = {each.name: each for each in descriptors}
    residuals: list[ProjectionResidual] = []
    for ratio in ratios:
        descriptor = by_name[ratio.workload]
        source, target = roofs[ratio.source_device], roofs[ratio.target_device]
        before, after = resource_seconds(descriptor, source), resource_seconds(descriptor, target)
        residuals.append(
            ProjectionResidual(
                ratio=ratio,
                model=descriptor.model or descriptor.name,
                log_error=log(ratio.speed * after.total / before.total),
                reach=max(max_projection_error(before, after), LEAST_REACH),
                other_designs=other_designs(source, target),
            )
        )
    return tuple(residuals)


def read_published(text: str, name: str) -> tuple[PublishedRatio, ...]:
    """Read a table of published results in pairs; raises PriceSheetError that names the cell."""
    return tuple(_ratio(row) for row in read_rows(text, name, columns=COLUMNS))


@cache
def packaged_ratios() -> tuple[PublishedRatio, ...]:
    """Return the packaged results of MLPerf Training and Inference v3.0 (2023)."""
    text = files("perfledger_cost_models").joinpath("published.csv").read_text(encoding="utf-8")
    return read_published(text, "published.csv")


def _ratio(row: SheetRow) -> PublishedRatio:
    source, target = (float(row.decimal(f"{end}_value")) for end in ("source", "target"))
    if not (source and target):
        row.reject("source_value", "or the target's is no result")
    is_time = _IS_TIME[row.one_of("unit", tuple(_IS_TIME))]
    return PublishedRatio(
        workload=row.text("workload"),
        scenario=row.text("scenario"),
        accelerators=int(row.decimal("accelerators")),
        source_device=row.text("source_device"),
        target_device=row.text("target_device"),
        speed=source / target if is_time else target / source,
        published=row.text("published"),
        source=row.text("source"),
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
