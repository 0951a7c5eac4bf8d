"""Calibrates the error of projections between devices on published results."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import ceil, inf, log, sqrt

from scipy.special import stdtrit

from perfledger_cost_models.projection.published_results import PublishedRatio
from perfledger_cost_models.projection.roofline import (
    MIN_REACH,
    DeviceRoofs,
    ResourceSeconds,
    dtypes_of_both,
    max_projection_error,
    resource_seconds,
)
from perfledger_cost_models.projection.workload_descriptor import WorkloadDescriptor

COVERAGE = 0.9  # of the interval on a projected ratio
# Share of the chance to miss that the interval of a ratio uses. Ratios of one model and round
# resemble each other, so they carry less information than as many independent ones: allowing the
# full chance to miss would cover only 86 % of the ratios of models left out.
MISS_SHARE = 0.6
# Results of eight models are published on both of these, A100 and H100; a projection to another
# chip design is an extrapolation.
CALIBRATED_DESIGNS = frozenset({"NVIDIA 8.0", "NVIDIA 9.0"})


class PairClass(Enum):
    """The difference between two devices, which decides how well projections hold."""

    SAME_DESIGN = auto()
    CALIBRATED_DESIGNS = auto()
    OTHER_DESIGN = auto()  # at least one of the two
    OTHER_VENDOR = auto()


# Their errors are those of many published ratios; for the other classes few designs are known.
NEAR_CLASSES = (PairClass.SAME_DESIGN, PairClass.CALIBRATED_DESIGNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionResidual:
    """The error of a projection: the log of published over projected."""

    ratio: PublishedRatio
    model: str
    log_error: float
    reach: float
    pair_class: PairClass
    designs: frozenset[str]  # of the two that are not calibrated
    seconds: tuple[ResourceSeconds, ResourceSeconds]  # on the source and on the target
    dtypes: frozenset[str]  # of its operations on either

    @property
    def score(self) -> float:
        """Return the error divided by the square root of its reach, as for a random walk."""
        return abs(self.log_error) / sqrt(self.reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The error of projections according to published results.

    `scores` are those of each near class, ascending. `squares` are the mean squares of the log of
    each far class by design, with `designs` designs of both.
    """

    scores: Mapping[PairClass, tuple[float, ...]]
    squares: Mapping[PairClass, float]
    designs: int
    devices: frozenset[str]  # with published results
    # Shares of the near classes' time: the smallest and the largest of memory, the largest of
    # communication.
    memory_shares: tuple[float, float]
    communication_share: float
    dtypes: frozenset[str]  # of the near classes

    def log_half_width(
        self,
        *,
        distance: float,
        source: DeviceRoofs,
        target: DeviceRoofs,
        is_checked: bool = True,
        coverage: float = COVERAGE,
    ) -> float:
        """Return the half-width of the interval of the log of a ratio at a distance.

        Near classes have the conformal quantile of their scores (Vovk, Gammerman and Shafer 2005),
        and the largest score for a projection that was not checked; far classes have Student's t
        with as many degrees of freedom as designs. It is 0 for a projection onto the same device,
        and infinite without published results.
        """
        if source == target:
            return 0.0
        devices_class = pair_class(source, target)
        if devices_class in NEAR_CLASSES:
            scores = self.scores.get(devices_class, ())
            place = ceil((1 - MISS_SHARE * (1 - coverage)) * (len(scores) + 1))
            if place > len(scores):
                return inf
            return scores[place - 1 if is_checked else -1] * sqrt(max(distance, MIN_REACH))
        if devices_class not in self.squares:
            return inf
        return float(stdtrit(self.designs, (1 + coverage) / 2)) * sqrt(self.squares[devices_class])

    def has_checked(
        self,
        source: DeviceRoofs,
        target: DeviceRoofs,
        before: ResourceSeconds,
        after: ResourceSeconds,
        dtypes: frozenset[str],
    ) -> bool:
        """Return whether published results check such a projection.

        Both boards must be among the published ones, of one design or both of calibrated designs;
        the types that the workload computes in must be published, too, and its shares of time for
        memory and communication must lie within theirs.
        """
        least, most = self.memory_shares
        return (
            pair_class(source, target) in NEAR_CLASSES
            and {source.key, target.key} <= self.devices
            and dtypes <= self.dtypes
            and all(
                least <= each.memory_share <= most
                and each.communication_share <= self.communication_share
                for each in (before, after)
            )
        )


def pair_class(source: DeviceRoofs, target: DeviceRoofs) -> PairClass:
    """Return the class of a pair of devices."""
    if source.vendor != target.vendor:
        return PairClass.OTHER_VENDOR
    designs = {source.design, target.design}
    if not designs <= CALIBRATED_DESIGNS and len(designs) > 1:
        return PairClass.OTHER_DESIGN
    return PairClass.SAME_DESIGN if len(designs) == 1 else PairClass.CALIBRATED_DESIGNS


def calibrate(residuals: Iterable[ProjectionResidual]) -> Calibration:
    """Return the errors that residuals show; raise ValueError without any in the near classes."""
    by_class: dict[PairClass, list[ProjectionResidual]] = {each: [] for each in PairClass}
    for residual in residuals:
        by_class[residual.pair_class].append(residual)
    near = [residual for each in NEAR_CLASSES for residual in by_class[each]]
    if not near:
        msg = "there are no published results to calibrate a projection: add some"
        raise ValueError(msg)
    far = {
        each: _squares_by_design(by_class[each])
        for each in (PairClass.OTHER_DESIGN, PairClass.OTHER_VENDOR)
        if by_class[each]
    }
    seconds = [each for residual in near for each in residual.seconds]
    shares = [each.memory_share for each in seconds]
    return Calibration(
        scores={each: tuple(sorted(one.score for one in by_class[each])) for each in NEAR_CLASSES},
        squares={each: _mean(squares.values()) for each, squares in far.items()},
        designs=len({design for squares in far.values() for design in squares}),
        devices=frozenset(
            device
            for residual in near
            for device in (residual.ratio.source_device, residual.ratio.target_device)
        ),
        memory_shares=(min(shares), max(shares)),
        communication_share=max(each.communication_share for each in seconds),
        dtypes=frozenset(dtype for residual in near for dtype in residual.dtypes),
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
                reach=max(max_projection_error(before, after), MIN_REACH),
                pair_class=pair_class(source, target),
                designs=frozenset({source.design, target.design}) - CALIBRATED_DESIGNS,
                seconds=(before, after),
                dtypes=dtypes_of_both(descriptor, source, target),
            )
        )
    return tuple(residuals)


def _squares_by_design(residuals: Sequence[ProjectionResidual]) -> dict[str, float]:
    """Return the mean square of the errors of each design that is not calibrated."""
    squares: dict[str, list[float]] = {}
    for residual in residuals:
        for design in residual.designs:
            squares.setdefault(design, []).append(residual.log_error**2)
    return {design: _mean(values) for design, values in squares.items()}


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
