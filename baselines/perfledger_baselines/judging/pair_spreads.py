"""Collects a check's pair differences, from which later checks learn their spreads."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfledger.records import Machine, Side
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.significance.paired_t_tests import log_differences
from perfledger_baselines.significance.spread_prior import MAX_VALUES

# A single pair has no spread around its own mean.
MIN_PAIRS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDifferences:
    """One check's pairs of one series: log head - log base of each, in their order."""

    workload: str
    metric: str
    machine_class: str
    values: tuple[float, ...]


def pair_differences(
    tests: Iterable[PairedTest], machines: Mapping[tuple[str, Side], Machine]
) -> tuple[PairDifferences, ...]:
    """Return the differences of all tests that have at least two pairs and some noise.

    `tests` are the judge's own: the same pairs, estimated and compared in the same way, so that the
    spread is that of the tested statistic. All outcomes are included. A test that was called
    changed carries as much information on its spread as any other once its mean is subtracted, and
    leaving it out would remove the quiet ones first. `machines` are the bundle's.
    """
    noisy = [test for test in tests if test.is_noisy and len(test.pairs) >= MIN_PAIRS]
    differences = log_differences(noisy).tolist() if noisy else ()
    return tuple(
        PairDifferences(
            workload=test.workload,
            metric=test.metric.name,
            machine_class=machines[test.workload, Side.HEAD].machine_class,
            values=_newest(of_test),
        )
        for test, of_test in zip(noisy, differences, strict=True)
    )


def _newest(differences: Iterable[float]) -> tuple[float, ...]:
    """Return the newest differences of a test, as many as a prior uses."""
    readings = (each for each in differences if not math.isnan(each))
    return tuple(readings)[-MAX_VALUES:]
