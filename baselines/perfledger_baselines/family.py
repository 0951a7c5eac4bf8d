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


def e_benjamini_hochberg(e_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust e-values for the expected share of false ones, under any dependence whatever.

    The result is compared with the wanted share as adjusted p-values are: e-BH is the procedure of
    Benjamini & Hochberg on 1 / e (Wang & Ramdas, "False discovery rate control with e-values",
    Journal of the Royal Statistical Society B 84, 2022). For looks or series that depend on each
    other in unknown ways. Raises ValueError for a negative one.
    """
    if not (e_values >= 0).all():
        msg = f"e-values are not negative, not {e_values.tolist()}"
        raise ValueError(msg)
    return benjamini_hochberg(1 / np.maximum(e_values, 1.0))


def e_values_from(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an e-value for each p-value, whatever test it is from: 1 / (2 sqrt(p)).

    The calibrator with kappa = 1/2 of Vovk & Wang, "E-values: calibration, combination and
    applications", Annals of Statistics 49 (2021). It pays for validity under any dependence: a
    p-value of 0.0025 is worth an e-value of 10 only.
    """
    with np.errstate(divide="ignore"):
        calibrated: NDArray[np.float64] = 0.5 / np.sqrt(p_values)
    return calibrated


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
