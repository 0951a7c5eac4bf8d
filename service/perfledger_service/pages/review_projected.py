"""Turns what is projected onto devices not measured into a review's rows, each marked as that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_cost_models.projection import (
    NotProjected,
    ProjectedCost,
    Projection,
    ProjectionCheck,
)
from perfledger_cost_models.review import Unknown
from perfledger_cost_models.review_records import ProjectedSpeed
from perfledger_service.pages import figures
from perfledger_service.pages.review_rows import NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedLine:
    """One workload on one device that it was not measured on; `why` is "" where it is known."""

    workload: str
    source: str
    day: str
    device: str
    speed: str
    interval: str
    costs: tuple[tuple[str, str], ...]
    why: str


def projected_lines(
    found: Sequence[ProjectedSpeed] | Unknown,
) -> tuple[ProjectedLine, ...] | None:
    """Return the rows, None where nothing is projected."""
    return None if isinstance(found, Unknown) else tuple(map(_line, found))


def projection_notes(found: Sequence[ProjectedSpeed] | Unknown) -> tuple[str, ...]:
    """Return what the projections and their prices rest on."""
    return () if isinstance(found, Unknown) else tuple(dict.fromkeys(_notes(found)))


def check_words(check: ProjectionCheck | None) -> str:
    """Return in a sentence how far off published results were projected."""
    if check is None:
        return ""
    return (
        f"Of {check.ratios} published ratios of two devices (MLPerf and others), each projected "
        f"without its own model's results, the point was off by "
        f"{figures.whole_share(check.median_error)} at the median, and "
        f"{figures.whole_share(check.covered)} were inside the interval."
    )


def _line(one: ProjectedSpeed) -> ProjectedLine:
    speed, interval, why = NOTHING, "", ""
    match one.projection:
        case NotProjected():
            why = one.projection.why
        case Projection():
            speed = f"{one.projection.speed:.2f}"
            interval = f"{one.projection.low:.2f}{figures.TO}{one.projection.high:.2f}"
    return ProjectedLine(
        workload=one.workload,
        source=one.source,
        day=figures.day(one.day),
        device=one.device,
        speed=speed,
        interval=interval,
        costs=tuple(map(_cost, one.costs)),
        why=why,
    )


def _cost(cost: ProjectedCost) -> tuple[str, str]:
    low, middle, high = (figures.usd(usd) for usd in (cost.low, cost.usd, cost.high))
    return f"{cost.rate.label}, {cost.rate.as_of}", f"{middle} ({low}{figures.TO}{high})"


def _notes(found: Sequence[ProjectedSpeed]) -> Iterator[str]:
    known = [
        (one.device, one.projection) for one in found if isinstance(one.projection, Projection)
    ]
    dtypes = sorted({dtype for _, each in known for dtype in each.dtypes})
    if dtypes:
        yield f"Taken to compute in {', '.join(dtypes)}: the counts do not say in which type"
    far = sorted({device for device, each in known if not each.is_calibrated})
    if far:
        yield f"Little was published between such designs of chip, so it is wider: {', '.join(far)}"
    for one in found:
        for cost in one.costs:
            if cost.rate.assumed:
                assumed = ", ".join(cost.rate.assumed)
                yield f"{cost.rate.label} assumes, not measured: {assumed}"
