"""A bundle in, by how much the pairs of each of its tests differed out, for a history to keep."""

import math
from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger_baselines.judge import judged_tests
from perfledger_baselines.pairing import PairedTest, differences_of
from perfledger_baselines.prior import MOST_VALUES

# Once the level is taken out, nothing is left of a single pair.
FEWEST_PAIRS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDifferences:
    """One check's pairs of one series: log head - log base of each, in their order."""

    workload: str
    metric: str
    device_class: str
    values: tuple[float, ...]


def pair_differences(bundle: Bundle) -> tuple[PairDifferences, ...]:
    """Return the differences of all tests that have at least two pairs and some noise.

    They are the judge's own: the same pairs, located and compared in the same way, so that the
    spread that is learnt is that of the statistic which is tested. All outcomes are in it. A test
    that was called changed tells as much of its spread as any other once its level is taken out,
    and to leave it out would leave out the quiet ones first. Raises PlanError.
    """
    machines = bundle.machines()
    return tuple(
        PairDifferences(
            workload=test.workload,
            metric=test.metric.name,
            device_class=machines[test.workload, Side.HEAD].device_class,
            values=_values(test),
        )
        for test in judged_tests(bundle)
        if test.is_noisy and len(test.pairs) >= FEWEST_PAIRS
    )


def _values(test: PairedTest) -> tuple[float, ...]:
    """Return the newest of a test's differences that a history has use for."""
    known = (each for each in differences_of([test])[0].tolist() if not math.isnan(each))
    return tuple(known)[-MOST_VALUES:]
