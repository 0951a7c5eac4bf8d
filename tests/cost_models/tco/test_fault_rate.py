"""Published counts, and the exact interval against the Poisson distribution summed term by term."""

import math

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.tco.fault_rate import (
    MAX_CONFIDENCE,
    MAX_DEVICE_DAYS,
    MAX_DEVICES,
    MAX_FAULTS,
    MIN_DEVICE_DAYS,
    FaultCountError,
    estimate_faults,
    observed_device_days,
)


def poisson_at_most(count, mean):
    return math.fsum(
        math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(count + 1)
    )


def estimate(faults, *, device_days=1000.0, devices=100, confidence=0.95):
    return estimate_faults(faults, device_days=device_days, devices=devices, confidence=confidence)


def test_llama_3s_interruptions_are_one_in_three_hours():
    """419 unexpected interruptions in 54 days on 16,384 GPUs (Llama 3, 2024, section 3.3.4)."""
    fault_estimate = estimate(419, device_days=54 * 16_384, devices=16_384)

    low, middle, high = fault_estimate.hours_between
    assert middle == pytest.approx(54 * 24 / 419)  # 3.09 h
    assert fault_estimate.per_device_day.rate * 1000 == pytest.approx(0.474, abs=0.0005)
    assert low == pytest.approx(2.81, abs=0.01)
    assert high == pytest.approx(3.41, abs=0.01)


def test_llama_3s_faults_of_gpus_and_memory_are_nine_percent_a_year():
    fault_estimate = estimate(220, device_days=54 * 16_384, devices=16_384)

    assert fault_estimate.per_device_day.rate * 365 == pytest.approx(0.0908, abs=0.0001)
    assert fault_estimate.per_year.rate == pytest.approx(220 * 365 / 54)


@settings(max_examples=50)
@given(faults=st.integers(1, 300), confidence=st.floats(0.5, 0.999))
def test_the_ends_leave_half_of_the_rest_on_each_side(faults, confidence):
    fault_estimate = estimate(faults, confidence=confidence)
    tail = (1 - confidence) / 2

    low, high = (
        end * 1000
        for end in (fault_estimate.per_device_day.low, fault_estimate.per_device_day.high)
    )
    assert poisson_at_most(faults, high) == pytest.approx(tail, abs=1e-8)
    assert 1 - poisson_at_most(faults - 1, low) == pytest.approx(tail, abs=1e-8)


def test_without_a_fault_there_is_an_upper_end_only():
    fault_estimate = estimate(0)

    assert fault_estimate.per_device_day.low == fault_estimate.per_device_day.rate == 0
    assert fault_estimate.per_device_day.high * 1000 == pytest.approx(-math.log(0.025))
    assert fault_estimate.hours_between[1:] == (None, None)


def test_spares_cover_the_doubt_of_the_rate_and_the_chance_of_a_year():
    fault_estimate = estimate(20, device_days=365 * 100, devices=100)  # a year of the same fleet

    assert fault_estimate.per_year.rate == 20
    # A count of 20.5 faults expected, twice as variable as Poisson's: 20.5 + 1.645·sqrt(41).
    assert fault_estimate.spares == pytest.approx(20.5 + 1.645 * math.sqrt(2 * 20.5), abs=1.5)
    assert fault_estimate.spares < fault_estimate.per_year.high + 3 * math.sqrt(
        fault_estimate.per_year.high
    )


@pytest.mark.parametrize("faults", [0, 1, MAX_FAULTS])
@pytest.mark.parametrize("device_days", [MIN_DEVICE_DAYS, MAX_DEVICE_DAYS])
@pytest.mark.parametrize("devices", [1, MAX_DEVICES])
@pytest.mark.parametrize("confidence", [0.01, MAX_CONFIDENCE])
def test_at_its_bounds_an_estimate_is_finite(faults, device_days, devices, confidence):
    fault_estimate = estimate(
        faults, device_days=device_days, devices=devices, confidence=confidence
    )

    ends = (fault_estimate.per_year.low, fault_estimate.per_year.rate, fault_estimate.per_year.high)
    assert all(map(math.isfinite, ends))
    assert 0 <= ends[0] <= ends[2]
    assert fault_estimate.hours_between[0] > 0
    mean = (faults + 0.5) * devices * 365 / device_days
    deviation = math.sqrt(mean * (1 + devices * 365 / device_days))
    assert fault_estimate.spares <= mean + 60 * deviation + 1


def test_devices_times_days_are_device_days_of_a_possible_fleet():
    assert observed_device_days(8, 2.5) == 20
    for devices in (-8, 0, 10**400):
        with pytest.raises(FaultCountError, match="devices: give a count"):
            observed_device_days(devices, -2.5)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"faults": -1}, "-1 faults"),
        ({"device_days": 0.0}, "device-days"),
        ({"device_days": math.nan}, "device-days"),
        ({"device_days": 1e-300, "devices": 10**9}, "at least"),
        ({"device_days": math.inf}, "up to 1,000,000,000"),
        ({"devices": 0}, "0 devices"),
        ({"devices": 10**400}, "devices: give a count"),
        ({"confidence": 0.0}, "confidence of 0 %"),
        ({"confidence": 1.0}, "100 %"),
        ({"confidence": 1 - 1e-16}, "at most"),
    ],
)
def test_what_gives_no_rate_is_refused(values, reason):
    with pytest.raises(FaultCountError, match=reason):
        estimate_faults(
            **({"faults": 1, "device_days": 1.0, "devices": 1, "confidence": 0.95} | values)
        )
