from math import inf, nan
from typing import Any

import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.hardware.efficiency_metrics import (
    MIN_ENERGY_SECONDS,
    MetricError,
    achieved_flops_per_second,
    arithmetic_intensity,
    energy_per_step_joules,
    hfu,
    items_per_joule,
    mfu,
    roofline_attained,
    strong_scaling_efficiency,
    transformer_flops_per_token,
    weak_scaling_efficiency,
)

positive = st.floats(1e-3, 1e15)
PALM: dict[str, Any] = {
    "parameters": 540e9,
    "layers": 118,
    "heads": 48,
    "head_size": 256,
    "sequence_length": 2048,
}


def test_palm_reached_the_utilization_that_its_paper_states():
    # 238.3K tokens/s on 6144 TPU v4 (arXiv 2204.02311, section 4 and table 3): 46.2 %.
    utilization = mfu(
        model_flops_per_step=transformer_flops_per_token(**PALM) * 238_300,
        step_seconds=1.0,
        peak_flops_per_second=275e12,
        devices=6144,
    )

    assert utilization == pytest.approx(0.462, abs=0.001)


def test_a_forward_pass_is_a_third_of_a_step():
    forward = transformer_flops_per_token(**PALM, is_forward_only=True)

    assert forward * 3 == pytest.approx(transformer_flops_per_token(**PALM))


@pytest.mark.slow
@given(positive, positive, positive)
def test_recomputed_work_counts_for_the_hardware_only(flops, recomputed, seconds):
    step = {
        "model_flops_per_step": flops,
        "step_seconds": seconds,
        "peak_flops_per_second": 1e12,
    }

    assert hfu(**step, recomputed_flops_per_step=recomputed) >= mfu(**step)
    assert hfu(**step, recomputed_flops_per_step=0.0) == mfu(**step)


@pytest.mark.slow
@given(positive, positive, positive, positive, positive)
def test_the_roof_is_the_lower_of_the_two(flops, bytes_moved, seconds, peak, bandwidth):
    rate = achieved_flops_per_second(flops=flops, seconds=seconds)
    intensity = arithmetic_intensity(flops=flops, bytes_moved=bytes_moved)

    attained = roofline_attained(
        flops_per_second=rate,
        intensity_flop_per_byte=intensity,
        peak_flops_per_second=peak,
        peak_bytes_per_second=bandwidth,
    )

    # Bound by memory, what is attained is the share of the bandwidth.
    assert attained == pytest.approx(max(rate / peak, bytes_moved / seconds / bandwidth))


def test_the_energy_of_a_step_is_that_of_the_steps_over_their_number():
    joules = energy_per_step_joules(600.0, steps=3, seconds=2.0)

    assert joules == 200.0
    assert items_per_joule(items_per_step=50, joules_per_step=joules) == 0.25


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"seconds": MIN_ENERGY_SECONDS - 0.01}, "is noise"),
        ({"joules": -1.0}, "joules is -1"),
        ({"steps": 0}, "steps is 0"),
        ({"joules": nan}, "joules is nan"),
    ],
)
def test_a_counter_that_says_nothing_is_an_error(more, complaint):
    reading = {"joules": 600.0, "steps": 3, "seconds": 2.0}

    with pytest.raises(MetricError, match=complaint):
        energy_per_step_joules(**{**reading, **more})


@pytest.mark.slow
@given(positive, st.integers(1, 10_000))
def test_a_perfect_scaling_is_one(rate, devices):
    weak = weak_scaling_efficiency(
        one_items_per_second=rate, many_items_per_second=devices * rate, devices=devices
    )
    strong = strong_scaling_efficiency(
        one_seconds=rate, many_seconds=rate / devices, devices=devices
    )

    assert weak == pytest.approx(1.0)
    assert strong == pytest.approx(1.0)


@pytest.mark.parametrize("value", [0.0, -1.0, nan, inf])
def test_what_has_to_be_above_zero_says_so(value):
    with pytest.raises(MetricError, match=r"seconds is .*: it must be a number above 0"):
        achieved_flops_per_second(flops=1.0, seconds=value)
    with pytest.raises(MetricError, match="bytes_moved"):
        arithmetic_intensity(flops=1.0, bytes_moved=value)
    with pytest.raises(MetricError, match="joules_per_step"):
        items_per_joule(items_per_step=1.0, joules_per_step=value)
    with pytest.raises(MetricError, match="devices"):
        mfu(model_flops_per_step=1.0, step_seconds=1.0, peak_flops_per_second=1.0, devices=value)


@pytest.mark.parametrize("value", [-1.0, nan, inf])
def test_work_is_never_less_than_nothing(value):
    with pytest.raises(MetricError, match=r"flops is .*: it must be a number of at least 0"):
        achieved_flops_per_second(flops=value, seconds=1.0)
    with pytest.raises(MetricError, match="layers"):
        transformer_flops_per_token(**{**PALM, "layers": value})


def test_a_step_without_work_achieves_nothing():
    assert achieved_flops_per_second(flops=0.0, seconds=2.0) == 0.0
