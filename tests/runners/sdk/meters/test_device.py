from dataclasses import replace

import pytest

from perfledger.meters.clock import HostClock
from perfledger.meters.device import USUAL_EFFORT, HostMeter, median_first, window_steps


def test_the_hosts_meter_knows_time_and_memory_and_no_more(tmp_path):
    meter = HostMeter()
    meter.reset_peak()
    peak = meter.peak_bytes()

    assert isinstance(meter.clock, HostClock)
    assert peak is not None
    assert peak > 1_000_000
    assert meter.trace(lambda: list, tmp_path, "0") is None
    with meter.device_context() as nothing:
        assert nothing is None


@pytest.mark.parametrize(
    ("step_seconds", "steps"),
    [(1.0, 4), (0.0125, 4), (0.012, 5), (0.0025, 20), (0.001, 24), (1e-9, 24), (0.0, 24)],
)
def test_a_window_of_short_steps_has_more_of_them_within_limits(step_seconds, steps):
    assert window_steps(step_seconds) == steps


def test_the_usual_profile_has_time_for_all_of_its_windows():
    assert USUAL_EFFORT.has_time
    assert not replace(USUAL_EFFORT, until=0.0).has_time


def test_the_median_window_comes_first_and_the_others_stay_in_order():
    windows = [(3.0, "a"), (1.0, "b"), (2.0, "c"), (4.0, "d")]

    assert median_first(windows) == [(2.0, "c"), (3.0, "a"), (1.0, "b"), (4.0, "d")]
    assert median_first(windows[:1]) == windows[:1]
