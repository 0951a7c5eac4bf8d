"""First results of a variant and of the step as written: what may be said of the two."""

from collections.abc import Iterable

import pytest

from perfledger.variants.remarks import (
    NO_NUMBERS,
    NO_REPETITION,
    FirstResult,
    first_result,
    variant_remarks,
)
from perfledger.variants.result_difference import ResultArray, result_arrays

BREAK = "compiled in 2 parts"


def results(*values: object, remarks: Iterable[str] = ()):
    """Return a function that returns these results one after the other."""
    arrays: list[tuple[ResultArray, ...]] = [result_arrays(value) for value in values]
    return lambda: FirstResult(arrays.pop(0), tuple(remarks))


def remarks_of(written, variant):
    return variant_remarks(written, variant, tolerance=0.0)


def test_the_same_result_has_the_variants_own_remarks_alone():
    assert remarks_of(results(1.0), results(1.0, remarks=[BREAK])) == (BREAK,)


def test_another_result_is_a_remark_where_the_written_step_repeats_its_own():
    first, second = remarks_of(results(1.0, 1.0), results(2.0, remarks=[BREAK]))

    assert first == BREAK
    assert second.startswith("its result differs by up to 1 of")


def test_a_written_step_that_does_not_repeat_itself_says_nothing_about_the_variant():
    assert remarks_of(results(1.0, 3.0), results(2.0)) == (NO_REPETITION,)


def test_a_result_without_numbers_is_not_equal_to_another():
    assert remarks_of(results(None), results(None)) == (NO_NUMBERS,)


@pytest.mark.torch
def test_an_array_that_cannot_be_read_is_a_remark_beside_the_variants_own(torch):
    sparse = first_result({"dense": torch.ones(2), "sparse": torch.eye(2).to_sparse()}, (BREAK,))

    first, second = remarks_of(results(1.0), lambda: sparse)

    assert first == BREAK
    assert second.startswith("its result cannot be compared: TypeError: can't convert Sparse")
    assert remarks_of(lambda: sparse, results(1.0)) == (second,)
