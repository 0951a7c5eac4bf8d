"""The triggers of advice on copies, in profiles of a few operations."""

from dataclasses import replace

import pytest

from perfledger.profile import Bucket, ProfileReading
from perfledger_profiles.bottleneck import copy_advice
from perfledger_profiles.bottleneck.any_language_advice import COPY_LESS, PINNED_MEMORY
from tests.runners.profiles.bottleneck.example_steps import advice, kernel, op, step, texts

TO_DEVICE = "Memcpy HtoD (Pinned -> Device)"
TO_HOST = "Memcpy DtoH (Device -> Pinned)"


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (op("Memcpy HtoD (Pageable -> Device)", 0.01, Bucket.COPY), "PINNED"),
        (op(TO_DEVICE, 0.03, Bucket.COPY, count=10.0), "OVERLAP_COPIES"),
        (op("copy-done.4", 0.03, Bucket.COPY), "OFFLOAD"),
        (op(TO_HOST, 0.03, Bucket.COPY), "COPY_BACK"),
        (op("Memcpy DtoH (Device -> Pageable)", 0.01, Bucket.COPY), "COPY_BACK"),
        (op("[CUDA memcpy Device-to-Host]", 0.03, Bucket.COPY), "COPY_BACK"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_exposed_copy_asks_for_its_advice(operation, text):
    assert texts(step(operation)) == [getattr(copy_advice, text).text]


@pytest.mark.parametrize("tool", ["nsys", "rocprof"])
def test_a_program_that_may_be_in_any_language_is_not_told_torchs_words_alone(tool):
    pageable = op("Memcpy HtoD (Pageable -> Device)", 0.01, Bucket.COPY)

    assert texts(step(pageable, tool=tool)) == [PINNED_MEMORY.text]


@pytest.mark.parametrize(
    "operation",
    [
        op("Memcpy HtoD (Pageable -> Device)", 0.009, Bucket.COPY),
        op(TO_DEVICE, 0.029, Bucket.COPY),
        op(TO_HOST, 0.029, Bucket.COPY),
        op("Memcpy DtoH (Device -> Pageable)", 0.009, Bucket.COPY),
        op("copy-done.4", 0.029, Bucket.COPY),
        op("Memcpy DtoH (unified memory)", 0.4, Bucket.COPY),  # moves when the host touches it
        op("Memcpy HtoD (unified memory)", 0.4, Bucket.COPY),
        op("void at::native::copy(Pageable)", 0.04),  # no copy of the driver
        op("Memcpy DtoH (Device -> Pinned)", 0.2),  # a kernel of that name
    ],
    ids=lambda operation: operation.name,
)
def test_what_is_below_its_mark_is_no_trigger(operation):
    assert texts(step(operation)) == []


def test_copies_back_are_counted_with_their_share_and_calls():
    (found_advice,) = advice(step(op(TO_HOST, 0.2, Bucket.COPY, count=12.0)))

    assert (
        found_advice.trigger
        == f"20 % of the step is exposed copies to the host ({TO_HOST[:11]}; 12 calls)"
    )
    assert found_advice.saved_share == pytest.approx(0.2)


def test_a_sum_of_kernels_does_not_show_what_is_exposed():
    sums = replace(step(op(TO_HOST, 0.3, Bucket.COPY), kernels=(kernel("sgemm"),)), has_steps=False)

    assert copy_advice.COPY_BACK.text not in texts(sums)


def test_copies_hide_only_behind_compute_beside_which_none_runs_yet():
    """Copies take 70 % of the step, 30 % of it beside compute; a tenth more fits beside it."""
    all_copies = ProfileReading(name="h2d_time", value=0.7, unit="s")
    copies = op(TO_DEVICE, 0.4, Bucket.COPY, count=222.0)
    launches = op("cudaLaunchKernel", 0.2, Bucket.RUNTIME, count=999.0)

    (less,) = advice(step(copies, launches, readings=(all_copies,)))

    assert (less.text, less.saved_share) == (COPY_LESS.text, pytest.approx(0.2))


def test_copies_that_compute_is_too_short_to_hide_must_become_smaller():
    """Six tenths of the step are copied, and compute takes three tenths or a little less."""
    copies = op(TO_DEVICE, 0.6, Bucket.COPY, count=222.0)

    (less,) = advice(step(copies, op("cudaLaunchKernel", 0.11, Bucket.RUNTIME, count=999.0)))
    (hidden,) = advice(step(copies, op("cudaLaunchKernel", 0.09, Bucket.RUNTIME, count=999.0)))

    assert (less.text, less.saved_share) == (COPY_LESS.text, pytest.approx(0.3))
    assert (hidden.text, hidden.saved_share) == (
        copy_advice.OVERLAP_COPIES.text,
        pytest.approx(0.31),
    )
