"""The p-values of all tests of a check in, p-values that may be read one by one out."""

import numpy as np
from numpy.typing import NDArray


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust for the chance of even one false rejection, under any dependence.

    Reject where the result is below alpha. Holm, "A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6 (1979). Raises ValueError if one is no p-value.
    """
    order, sorted_p = _sorted(p_values)
    still_in = len(sorted_p) - np.arange(len(sorted_p))
    return _unsorted(np.maximum.accumulate(sorted_p * still_in), order)


def benjamini_hochberg(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust for the expected share of false ones among the rejections.

    Valid for independent and for positively dependent tests. Benjamini & Hochberg, "Controlling the
    false discovery rate", Journal of the Royal Statistical Society B 57 (1995). Raises ValueError
    if one is no p-value.
    """
    order, sorted_p = _sorted(p_values)
    scaled = sorted_p * len(sorted_p) / (1 + np.arange(len(sorted_p)))
    return _unsorted(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _sorted(p_values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if not ((p_values >= 0) & (p_values <= 1)).all():
        msg = f"p-values lie between 0 and 1, not {p_values.tolist()}"
        raise ValueError(msg)
    order = np.argsort(p_values, kind="stable")
    return order, p_values[order]


def _unsorted(adjusted: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return result
