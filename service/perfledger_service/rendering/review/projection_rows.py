"""Lists a review's projections onto devices that were not measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_cost_models.projection.projection import (
    MissingProjection,
    ProjectedCost,
    Projection,
)
from perfledger_cost_models.projection.validation import ProjectionCheck
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.measured_changes import ProjectedSpeed
from perfledger_service.rendering.layout import number_format


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewProjectionRow:
    """One workload on a device it was not measured on; `why` is "" if the speed is known."""

    workload: str
    source: str
    day: str
    device: str
    speed: str
    interval: str
    costs: tuple[tuple[str, str], ...]
    why: str


def review_projection_rows(
    speeds: Sequence[ProjectedSpeed] | UnknownFigure,
) -> tuple[ReviewProjectionRow, ...] | None:
    """Return the rows, None without projections."""
    return None if isinstance(speeds, UnknownFigure) else tuple(map(_line, speeds))


def projection_notes(speeds: Sequence[ProjectedSpeed] | UnknownFigure) -> tuple[str, ...]:
    """Return the basis of the projections and of their prices."""
    return () if isinstance(speeds, UnknownFigure) else tuple(dict.fromkeys(_notes(speeds)))


def projection_check_sentence(check: ProjectionCheck | None) -> str:
    """Return the error of projections of published results as a sentence."""
    if check is None:
        return ""
    return (
        f"Of {check.ratios} published ratios of two devices (MLPerf and others), each projected "
        "without the results of its own model, the estimate was off by "
        f"{number_format.whole_share(check.median_error)} at the median, and "
        f"{number_format.whole_share(check.covered_share)} were within the interval."
    )


def _line(projected: ProjectedSpeed) -> ReviewProjectionRow:
    speed, interval, why = number_format.NOTHING, "", ""
    match projected.projection:
        case MissingProjection():
            why = projected.projection.reason
        case Projection():
            low, high = projected.projection.low, projected.projection.high
            speed = number_format.speed(projected.projection.speed)
            interval = number_format.interval(low, high, number_format.speed)
    return ReviewProjectionRow(
        workload=projected.workload,
        source=projected.source,
        day=number_format.day(projected.day),
        device=projected.device,
        speed=speed,
        interval=interval,
        costs=tuple(map(_cost, projected.costs)),
        why=why,
    )


def _cost(cost: ProjectedCost) -> tuple[str, str]:
    low, middle, high = (number_format.usd(usd) for usd in (cost.low, cost.usd, cost.high))
    return (
        f"{cost.rate.label}, {cost.rate.as_of}",
        f"{middle} ({low}{number_format.INTERVAL_TO}{high})",
    )


def _notes(speeds: Sequence[ProjectedSpeed]) -> Iterator[str]:
    projections = [
        (one.device, one.projection) for one in speeds if isinstance(one.projection, Projection)
    ]
    dtypes = sorted({dtype for _, each in projections for dtype in each.dtypes})
    if dtypes:
        yield f"Assumed to compute in {', '.join(dtypes)}: the counts have no data type"
    far = sorted({device for device, each in projections if not each.is_calibrated})
    if far:
        yield (
            "No published result validates such a projection, so the interval is wider: "
            f"{', '.join(far)}"
        )
    for one in speeds:
        for cost in one.costs:
            if cost.rate.assumed:
                assumed = "; ".join(cost.rate.assumed)
                yield f"{cost.rate.label} assumes, not measured: {assumed}"
