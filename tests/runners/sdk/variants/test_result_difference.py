"""Results of two steps: what is the same within tolerances, and what is not."""

import math
from importlib import import_module

import numpy as np
import pytest

from perfledger.variants.result_difference import (
    ResultArray,
    array_difference,
    array_tolerance,
    difference_remark,
    result_arrays,
    result_remarks,
)


def arrays(*values, kind="float32", has_gradient=False):
    return tuple(
        ResultArray(kind, np.asarray(value, dtype=float), has_gradient) for value in values
    )


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [
        *(("float64", 1e-6), ("float32", 1e-3), ("float16", 2e-2), ("bfloat16", 2e-2)),
        *(("int64", 0.0), ("uint8", 0.0), ("bool", 0.0), ("float8_e4m3fn", 2e-2)),
    ],
)
def test_a_type_has_its_tolerance(kind, tolerance):
    assert array_tolerance(kind) == tolerance


def test_a_difference_is_relative_to_the_largest_number():
    assert array_difference(np.array([1.0, -100.0]), np.array([2.0, -100.0])) == 0.01


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ([], [], 0.0),
        ([0.0], [0.0], 0.0),
        ([0.0], [1.0], math.inf),
        ([math.nan, 1.0], [math.nan, 1.0], 0.0),
        ([math.nan, 1.0], [0.0, 1.0], math.inf),
        ([1.0], [math.inf], math.inf),
        ([math.inf], [math.inf], 0.0),
        ([math.inf], [-math.inf], math.inf),
    ],
)
def test_zeros_and_what_is_not_finite(before, after, difference):
    assert array_difference(np.array(before), np.array(after)) == difference


def test_whole_numbers_are_compared_exactly_however_large_they_are():
    (before,), (after,) = (result_arrays(np.array([2**53 + more])) for more in (0, 1))

    assert array_difference(before.values, before.values) == 0.0
    assert 0 < array_difference(before.values, after.values) < 1e-15
    assert "differs by up to" in difference_remark((before,), (after,), tolerance=0.0)


def test_whole_numbers_and_truth_values_differ_by_their_share():
    assert array_difference(np.array([True, False]), np.array([True, True])) == 1.0
    assert array_difference(np.array([200], np.uint8), np.array([100], np.uint8)) == 0.5
    assert array_difference(np.array([4, 8]), np.array([4.0, 8.0])) == 0.0


def test_texts_and_times_are_no_numbers():
    assert result_arrays([np.array(["a"]), np.array([object()], dtype=object)]) == ()
    assert result_arrays(np.array(["2026-11-28"], dtype="datetime64[D]")) == ()


def test_equal_results_have_no_remark():
    assert difference_remark(arrays([1.0, 2.0]), arrays([1.0, 2.001]), tolerance=0.0) == ""


def test_a_larger_difference_says_how_much_and_the_tolerance():
    remark = difference_remark(arrays([1.0, 2.0], 1.0), arrays([1.0, 2.2], 1.05), tolerance=0.0)

    assert remark.startswith(
        "its result differs by up to 0.1 of the largest number (tolerance 0.001)"
    )


def test_the_workloads_own_tolerance_counts_where_it_is_larger():
    assert difference_remark(arrays([1.0]), arrays([1.1]), tolerance=0.2) == ""


def test_a_number_that_is_no_number_any_more_is_said():
    remark = difference_remark(arrays([1.0]), arrays([math.nan]), tolerance=0.5)

    assert "zeros, infinities or NaNs" in remark


@pytest.mark.parametrize("others", [arrays([1.0]), arrays([1.0, 2.0], 3.0), ()])
def test_another_form_is_said(others):
    assert "a different form" in difference_remark(arrays([1.0, 2.0]), others, tolerance=0.5)


def test_a_result_without_its_gradients_is_said():
    (remark,) = result_remarks(arrays([1.0], has_gradient=True), arrays([1.0]), tolerance=0.0)

    assert "records no gradients" in remark


def test_numbers_and_arrays_are_read_and_texts_are_not():
    read = result_arrays({"loss": 2.5, "n": 3, "ok": True, "name": "x", "rows": np.ones((2, 3))})

    assert sorted((each.kind, each.values.shape) for each in read) == [
        *(("bool", ()), ("float64", ()), ("float64", (2, 3)), ("int", ())),
    ]


@pytest.mark.torch
def test_tensors_of_any_type_are_read(torch):
    values = (torch.ones(2, dtype=torch.bfloat16), torch.ones(1, dtype=torch.complex64))

    read = result_arrays((*values, torch.ones(1, requires_grad=True)))

    assert {each.kind: each.has_gradient for each in read} == {
        "bfloat16": False,
        "complex64": False,
        "float32": True,
    }


def test_arrays_of_jax_are_read():
    jax = import_module("jax")

    (read,) = result_arrays(jax.numpy.ones((2,), dtype="bfloat16"))

    assert (read.kind, read.values.tolist()) == ("bfloat16", [1.0, 1.0])


def test_random_keys_of_jax_are_compared_by_their_numbers():
    random = import_module("jax").random

    first, same, other = (result_arrays(random.key(seed)) for seed in (1, 1, 2))

    assert difference_remark(first, same, tolerance=0.0) == ""
    assert "differs" in difference_remark(first, other, tolerance=0.0)


def test_a_result_is_copied():
    result = np.ones(2)
    (read,) = result_arrays(result)

    result[0] = 5.0

    assert read.values.tolist() == [1.0, 1.0]
