"""Published ratios of two devices in, how well projections that have not seen the model do out.

python benchmarks/projection.py [--published FILE]

Each ratio is projected with an interval that all other models' results tell: leave one model out,
with its training and its inference in every precision. FILE has the columns of the packaged table
and is then only projected, with all of the packaged results.
"""

import argparse
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from statistics import median

from perfledger_cost_models.projection.projection import (
    CheckedProjection,
    Projection,
    leave_one_model_out,
    project,
)
from perfledger_cost_models.projection.projection_error import (
    calibrate,
    packaged_ratios,
    read_published,
    residuals_of,
)
from perfledger_cost_models.projection.workload_descriptor import packaged_descriptors
from perfledger_service.usecases.cost.device_efficiency import known_roofs

# The goals that the issue sets for A100 to H100.
COVERAGE = (0.80, 0.97)
MEDIAN_ERROR = 0.20


def line_of(checked: CheckedProjection) -> str:
    ratio, projection = checked.published, checked.projection
    return (
        f"| {ratio.workload} {ratio.scenario} x{ratio.accelerators} "
        f"| {ratio.source_device} | {ratio.target_device} | {ratio.speed:.2f} "
        f"| {projection.speed:.2f} | {projection.low:.2f} to {projection.high:.2f} "
        f"| {'yes' if checked.is_covered else 'no'} |"
    )


def summary_of(found: Sequence[CheckedProjection]) -> str:
    errors = [each.projection.speed / each.published.speed - 1 for each in found]
    widths = [
        (each.projection.high - each.projection.low) / each.projection.speed for each in found
    ]
    covered = sum(each.is_covered for each in found) / len(found)
    typical = exp(sum(log(1 + error) for error in errors) / len(errors)) - 1
    return (
        f"{len(found)} ratios: the 90 % interval covers {covered:.1%}, its median width is "
        f"{median(widths):.0%} of the point; the point is off by {median(map(abs, errors)):.1%} at "
        f"the median, {max(map(abs, errors)):.0%} at most, {typical:+.1%} on average"
    )


def goals_of(found: Sequence[CheckedProjection]) -> str:
    covered = sum(each.is_covered for each in found) / len(found)
    error = median(abs(each.projection.speed / each.published.speed - 1) for each in found)
    low, high = COVERAGE
    is_met = low <= covered <= high and error <= MEDIAN_ERROR
    goals = f"covers {low:.0%} to {high:.0%}, off by at most {MEDIAN_ERROR:.0%} at the median"
    return f"Goals ({goals}): {'met' if is_met else 'missed'}"


def held_out(path: Path) -> list[CheckedProjection]:
    """Project the published ratios of another table with all of the packaged results."""
    roofs, descriptors = known_roofs(), packaged_descriptors()
    calibration = calibrate(residuals_of(packaged_ratios(), descriptors, roofs))
    by_name = {each.name: each for each in descriptors}
    found: list[CheckedProjection] = []
    for ratio in read_published(path.read_text(encoding="utf-8"), path.name):
        projection = project(
            by_name[ratio.workload],
            source=roofs[ratio.source_device],
            target=roofs[ratio.target_device],
            calibration=calibration,
        )
        if isinstance(projection, Projection):
            found.append(CheckedProjection(published=ratio, projection=projection))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--published", type=Path)
    path = parser.parse_args().published
    if path is None:
        found = list(leave_one_model_out(packaged_ratios(), packaged_descriptors(), known_roofs()))
    else:
        found = held_out(path)
    near = [each for each in found if each.projection.is_calibrated]
    far = [each for each in found if not each.projection.is_calibrated]
    print_table("Between the calibrated designs (A100, H100)", near)
    if near:
        print(f"\n{goals_of(near)}")
    print_table("To or from another design", far)


def print_table(title: str, found: Sequence[CheckedProjection]) -> None:
    if not found:
        return
    print(f"\n{title}\n")
    print("| workload | from | to | published | projected | 90 % interval | covered |")
    print("|---|---|---|---|---|---|---|")
    for each in found:
        print(line_of(each))
    print(f"\n{summary_of(found)}")


if __name__ == "__main__":
    main()
