import math

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Run, Side
from perfledger_baselines.estimation.typical_range import typical_range


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
    found = typical_range([run(1.0), run(4.0)], metric=STEP_TIME)

    assert found is not None
    low, typical, high = found
    assert typical == pytest.approx(2.0)
    assert low * high == pytest.approx(4.0)


def test_more_samples_in_a_process_make_nothing_surer():
    few = typical_range([run(1.0), run(1.1)], metric=STEP_TIME)
    many = typical_range([run(*[1.0] * 20), run(*[1.1] * 20)], metric=STEP_TIME)

    assert many == pytest.approx(few)


@pytest.mark.parametrize(
    ("runs", "metric"),
    [
        pytest.param([run(1.0)], STEP_TIME, id="one process"),
        pytest.param([run(1.0), run(0.0)], STEP_TIME, id="zero"),
        pytest.param([run(1.0), run(2.0)], PEAK_MEMORY, id="not measured"),
    ],
)
def test_without_two_positive_processes_there_is_no_range(runs, metric):
    assert typical_range(runs, metric=metric) is None


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=12))
def test_the_typical_value_lies_in_its_interval(values):
    found = typical_range([run(value) for value in values], metric=STEP_TIME)

    assert found is not None
    low, typical, high = found
    assert low <= typical * (1 + 1e-9)
    assert typical <= high * (1 + 1e-9)


def test_the_range_is_students_interval_of_the_logs():
    """t of 4 degrees is 2.776445 at 97.5 %."""
    found = typical_range([run(math.exp(log)) for log in (1, 2, 3, 4, 5)], metric=STEP_TIME)

    half_width = 2.776445 * math.sqrt(2.5 / 5)
    assert found == pytest.approx(tuple(math.exp(3 + sign * half_width) for sign in (-1, 0, 1)))
