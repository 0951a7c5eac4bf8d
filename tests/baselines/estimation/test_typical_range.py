import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.records import Run, Side
from perfledger_baselines.estimation.typical_range import typical_step_time_s


def run(*samples):
    return Run(
        workload="w",
        side=Side.HEAD,
        pair=0,
        position=0,
        process=0,
        started_at="2026-11-20T00:00:00Z",
        samples={"step_time_p50": samples},
    )


def test_the_typical_value_is_the_geometric_mean_of_the_processes():
    found_range = typical_step_time_s([run(1.0), run(4.0)])

    assert found_range is not None
    low, typical, high = found_range
    assert typical == pytest.approx(2.0)
    assert low * high == pytest.approx(4.0)


def test_more_samples_in_a_process_make_nothing_surer():
    few = typical_step_time_s([run(1.0), run(1.1)])
    many = typical_step_time_s([run(*[1.0] * 20), run(*[1.1] * 20)])

    assert many == pytest.approx(few)


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([run(1.0)], id="one process"),
        pytest.param([run(1.0), run(0.0)], id="zero"),
        pytest.param([replace(run(1.0), samples={"m": (1.0,)}), run(2.0)], id="not measured"),
    ],
)
def test_without_two_positive_processes_there_is_no_range(runs):
    assert typical_step_time_s(runs) is None


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=12))
def test_the_typical_value_lies_in_its_interval(values):
    found_range = typical_step_time_s([run(value) for value in values])

    assert found_range is not None
    low, typical, high = found_range
    assert low <= typical * (1 + 1e-9)
    assert typical <= high * (1 + 1e-9)


def test_the_range_is_students_interval_of_the_logs():
    """t of 4 degrees is 2.776445 at 97.5 %."""
    found_range = typical_step_time_s([run(math.exp(log)) for log in (1, 2, 3, 4, 5)])

    half_width = 2.776445 * math.sqrt(2.5 / 5)
    assert found_range == pytest.approx(
        tuple(math.exp(3 + sign * half_width) for sign in (-1, 0, 1))
    )
