"""Corrects the results of one family of tests for their number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.significance.paired_t_tests import TTestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedResult:
    """A test's result with its p-values adjusted for the family."""

    result: TTestResult
    holm: float
    benjamini_hochberg: float
    sharing: int  # how many tests share alpha with it, itself included

    @property
    def is_clear(self) -> bool:
        """Return whether the interval of this test alone excludes zero."""
        return abs(self.result.mean) > self.result.half_width


def adjust_family(
    results: Sequence[TTestResult | None], *, alpha: float, untested: int = 0
) -> tuple[AdjustedResult | None, ...]:
    """Adjust the results of one family, in order; None stays None.

    `untested` counts the tests of the family that have no p-value yet but take their share of
    alpha. Exact results take none: counts never differ by chance.
    """
    adjusted = [
        None
        if result is None
        else AdjustedResult(
            result=result, holm=result.p_value, benjamini_hochberg=result.p_value, sharing=1
        )
        for result in results
    ]
    family = {
        index: result
        for index, result in enumerate(results)
        if result is not None and not result.is_exact
    }
    p_values = np.array([result.p_value for result in family.values()] + [1.0] * untested)
    strict, mild = holm(p_values), benjamini_hochberg(p_values)
    rejections = np.count_nonzero(strict < alpha)
    sharing = len(p_values) - rejections + (strict < alpha)
    for member, (index, result) in enumerate(family.items()):
        adjusted[index] = AdjustedResult(
            result=result,
            holm=float(strict[member]),
            benjamini_hochberg=float(mild[member]),
            sharing=int(sharing[member]),
        )
    return tuple(adjusted)


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust p-values for the family-wise error rate, under any dependence.

    Reject where the result is below alpha. Holm, "A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6 (1979). Raises ValueError for a value that is
    not a p-value.
    """
    order, sorted_p = _sort(p_values)
    still_in = len(sorted_p) - np.arange(len(sorted_p))
    return _restore_order(np.maximum.accumulate(sorted_p * still_in), order)


def benjamini_hochberg(p_values: FloatArray) -> FloatArray:
    """Adjust p-values for the false discovery rate: the expected share of false rejections.

    Valid for independent and for positively dependent tests. Benjamini & Hochberg, "Controlling the
    false discovery rate", Journal of the Royal Statistical Society B 57 (1995). Raises ValueError
    for a value that is not a p-value.
    """
    order, sorted_p = _sort(p_values)
    scaled = sorted_p * len(sorted_p) / (1 + np.arange(len(sorted_p)))
    return _restore_order(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _sort(p_values: FloatArray) -> tuple[IntArray, FloatArray]:
    if not ((p_values >= 0) & (p_values <= 1)).all():
        msg = f"p-values lie between 0 and 1, not {p_values.tolist()}"
        raise ValueError(msg)
    order = np.argsort(p_values, kind="stable")
    return order, p_values[order]


def _restore_order(adjusted: FloatArray, order: IntArray) -> FloatArray:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return result
