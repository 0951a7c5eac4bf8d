"""Published ratios of two devices in, how well projections that have not seen them do out.

python benchmarks/cost_models/projection.py [--published FILE] [--ratios]

Each ratio is projected with an interval that the others tell, with rounds, models (in training and
inference, in every precision) and pairs of devices left out in turn. FILE has the columns of the
packaged table of results; its ratios are only projected, with all of the packaged results.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median

from perfledger.rounding import decimals, percentage
from perfledger_cost_models.projection.error import (
    PairClass,
    ProjectionResidual,
    calibrate,
    residuals_of,
)
from perfledger_cost_models.projection.published_results import (
    packaged_ratios,
    ratios_of,
    read_results,
)
from perfledger_cost_models.projection.validation import (
    CheckedProjection,
    checked_projections,
    leave_one_out,
    model_of,
)
from perfledger_cost_models.projection.workload_descriptor import packaged_descriptors
from perfledger_service.usecases.cost.device_efficiency import known_roofs

# The goals: the first two of projections marked as calibrated, the error of each class with so many
# ratios.
COVERAGE = 0.88
MEDIAN_WIDTH = 0.45
ENOUGH_RATIOS = 15


def round_of(residual: ProjectionResidual) -> str:
    return residual.ratio.round


def devices_of(residual: ProjectionResidual) -> str:
    return f"{residual.ratio.source_device} {residual.ratio.target_device}"


LEFT_OUT: dict[str, Callable[[ProjectionResidual], str]] = {
    "rounds": round_of,
    "models": model_of,
    "pairs of devices": devices_of,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How well projections of published ratios did; errors are medians, of the ratio."""

    ratios: int
    unknown: int  # without any result to calibrate the interval
    covered_share: float
    width: float
    error: float
    peak_error: float  # of the ratio of arithmetic peaks
    bandwidth_error: float

    def is_closest(self) -> bool:
        """Return whether the projection is closer than both ratios."""
        return self.error < min(self.peak_error, self.bandwidth_error)


def accuracy_of(rows: Sequence[CheckedProjection]) -> Accuracy:
    bounded = [each for each in rows if each.projection.high < inf]
    return Accuracy(
        ratios=len(rows),
        unknown=len(rows) - len(bounded),
        covered_share=sum(each.is_covered for each in bounded) / len(bounded) if bounded else 0.0,
        width=median(
            [
                (each.projection.high - each.projection.low) / each.projection.speed
                for each in bounded
            ]
            or [inf]
        ),
        error=median(_error(each, each.projection.speed) for each in rows),
        peak_error=median(_error(each, _ratios(each)[0]) for each in rows),
        bandwidth_error=median(_error(each, _ratios(each)[1]) for each in rows),
    )


def _error(checked: CheckedProjection, speed: float) -> float:
    return abs(speed / checked.published.speed - 1)


def _ratios(checked: CheckedProjection) -> tuple[float, float]:
    """Return the speed by arithmetic peaks alone and by memory bandwidths alone."""
    before, after = checked.projection.source_seconds, checked.projection.target_seconds
    return before.arithmetic / after.arithmetic, before.memory / after.memory


def held_out(path: Path) -> tuple[CheckedProjection, ...]:
    """Project the published ratios of another table with all of the packaged results."""
    roofs, descriptors = known_roofs(), packaged_descriptors()
    calibration = calibrate(residuals_of(packaged_ratios(), descriptors, roofs))
    ratios = ratios_of(read_results(path.read_text(encoding="utf-8"), path.name))
    residuals = residuals_of(ratios, descriptors, roofs)
    return checked_projections(residuals, descriptors, roofs, lambda _: calibration)


def print_accuracy(name: str, rows: Sequence[CheckedProjection]) -> None:
    print(f"\n{name}\n")
    print("| class | ratios | covered | width | off by | peaks | bandwidths |")
    print("|---|---|---|---|---|---|---|")
    near = [each for each in rows if each.projection.is_calibrated]
    classes = [
        (
            each.name.lower().replace("_", " "),
            [one for one in rows if one.residual.pair_class is each],
        )
        for each in PairClass
    ]
    for title, some in (*classes, ("marked as calibrated", near)):
        if some:
            one = accuracy_of(some)
            unknown = f" ({one.unknown} without evidence)" if one.unknown else ""
            print(
                f"| {title} | {one.ratios}{unknown} | {percentage(one.covered_share)} | "
                f"{percentage(one.width)} "
                f"| {percentage(one.error)} | {percentage(one.peak_error)} | "
                f"{percentage(one.bandwidth_error)} |"
            )
    if near:
        print(f"\n{goals_of(near, [some for _, some in classes])}")


def goals_of(
    near: Sequence[CheckedProjection], classes: Sequence[Sequence[CheckedProjection]]
) -> str:
    one = accuracy_of(near)
    is_met = one.covered_share >= COVERAGE and one.width <= MEDIAN_WIDTH
    is_met &= all(accuracy_of(some).is_closest() for some in classes if len(some) >= ENOUGH_RATIOS)
    return (
        f"Goals (covered >= {percentage(COVERAGE)}, width <= {percentage(MEDIAN_WIDTH)}, "
        "each class closer than "
        f"its ratios of peaks and bandwidths): {'met' if is_met else 'missed'}"
    )


def print_ratios(rows: Sequence[CheckedProjection]) -> None:
    print("\n| round | workload | from | to | published | projected | 90 % interval | covered |")
    print("|---|---|---|---|---|---|---|---|")
    for each in rows:
        ratio, projection = each.published, each.projection
        print(
            f"| {ratio.round} | {ratio.workload} {ratio.scenario} x{ratio.accelerators} "
            f"| {ratio.source_device} | {ratio.target_device} | {decimals(ratio.speed, 2)} "
            f"| {decimals(projection.speed, 2)} | {decimals(projection.low, 2)} to "
            f"{decimals(projection.high, 2)} "
            f"| {'yes' if each.is_covered else 'no'} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--published", type=Path)
    parser.add_argument("--ratios", action="store_true", help="print each ratio as well")
    options = parser.parse_args()
    if options.published is not None:
        checks = {options.published.name: held_out(options.published)}
    else:
        checks = {
            f"{name} left out in turn": leave_one_out(
                packaged_ratios(), packaged_descriptors(), known_roofs(), kind_of=kind_of
            )
            for name, kind_of in LEFT_OUT.items()
        }
    for name, rows in checks.items():
        print_accuracy(name, rows)
        if options.ratios:
            print_ratios(rows)


if __name__ == "__main__":
    main()
