"""Compares a variant's step with the step as written."""

from collections.abc import Callable
from dataclasses import dataclass

from perfledger.failure_reason import error_line
from perfledger.variants.result_difference import ResultArray, result_arrays, result_remarks

NO_NUMBERS = "its result has no numbers to compare: return the function's result"
NO_REPETITION = (
    "its result cannot be compared, because the step as written gives a different result "
    "after each set-up: seed its random numbers"
)
UNREADABLE = "its result cannot be compared"
SEVERAL_RANKS = f"{UNREADABLE}: it runs in several ranks"


@dataclass(frozen=True, slots=True)
class FirstResult:
    """What the first step after a set-up returned, and what its variant left as written."""

    arrays: tuple[ResultArray, ...]
    remarks: tuple[str, ...] = ()
    error: str = ""  # of an array that cannot be read; "": all can


def first_result(result: object, remarks: tuple[str, ...]) -> FirstResult:
    """Return a step's result, and what its variant left as written."""
    try:
        return FirstResult(result_arrays(result), remarks)
    except Exception as error:  # a boundary: arrays that numpy cannot hold, such as sparse
        return FirstResult((), remarks, error_line(error))


def variant_remarks(
    run_written: Callable[[], FirstResult],
    run_variant: Callable[[], FirstResult],
    *,
    tolerance: float,
) -> tuple[str, ...]:
    """Return what the variant leaves as written, and how its first result differs.

    Each call sets its step up again, from the same random state: a step may change what it computes
    with. If their results differ, the step as written is set up once more: one that does not repeat
    its own result says nothing about the variant.
    """
    written, variant = run_written(), run_variant()
    if error := written.error or variant.error:
        return (*variant.remarks, f"{UNREADABLE}: {error}")
    if not written.arrays:
        return (*variant.remarks, NO_NUMBERS)
    differences = result_remarks(written.arrays, variant.arrays, tolerance=tolerance)
    if differences and result_remarks(written.arrays, run_written().arrays, tolerance=tolerance):
        return (*variant.remarks, NO_REPETITION)
    return (*variant.remarks, *differences)
