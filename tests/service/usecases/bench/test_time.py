"""How readings of a statement become the times of one call."""

import math

import pytest

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine, Run, Side
from perfledger_service.errors import NotMeasuredError
from perfledger_service.usecases.bench.time import (
    TimeRequest,
    calls_per_reading,
    summarise_runs,
)

MACHINE = Machine(device=Device.CPU, model="a CPU")
REQUEST = TimeRequest(statement="x + 1")


def run_of(*times_s, **more):
    return Run(
        workload="statement",
        side=Side.HEAD,
        pair=0,
        position=0,
        process=0,
        started_at="2026-11-20T00:00:00Z",
        samples={STEP_TIME.name: times_s, **more},
    )


@pytest.mark.parametrize(
    ("typical_s", "calls"),
    [
        (2.0, 1),
        (1e-3, 1),
        (9e-4, 10),
        (1e-4, 10),
        (9e-5, 100),
        (1.1e-10, 10_000_000),
        (1e-12, 10_000_000),
        (0.0, 10_000_000),
    ],
)
def test_a_reading_lasts_a_millisecond_or_ten_times_as_long(typical_s, calls):
    assert calls_per_reading(run_of(typical_s, 0.0, typical_s, 5.0)) == calls


def test_a_call_takes_its_part_of_a_reading():
    """Of a hundred calls a reading; the quantiles of eleven readings lie on them and between."""
    first = run_of(*(place * 1e-3 for place in range(1, 12)))
    second = run_of(7e-3, **{CPU_TIME.name: (4e-3, 8e-3), PEAK_MEMORY.name: (5e6, 6e6)})

    timed = summarise_runs(REQUEST, (first, second), MACHINE, repeats=100, findings=())

    one, other = timed.processes
    assert (one.p5_s, one.p25_s, one.p75_s, one.p95_s) == pytest.approx(
        (1.5e-5, 3.5e-5, 8.5e-5, 10.5e-5)
    )
    assert one.p25_s < one.typical_s < one.p75_s
    assert one.readings == 11
    assert (other.p5_s, other.p95_s) == pytest.approx((7e-5, 7e-5))
    assert other.readings == 1
    assert timed.low_s < timed.typical_s < timed.high_s
    assert timed.typical_s == pytest.approx(math.sqrt(one.typical_s * 7e-5))
    assert timed.cpu_time_s == pytest.approx(6e-5)
    assert (timed.calls, timed.memory_bytes) == (100, 6e6)


def test_a_reading_that_is_no_time_is_not_measured():
    with pytest.raises(NotMeasuredError, match="zero or not a number"):
        summarise_runs(REQUEST, (run_of(0.0), run_of(1.0)), MACHINE, repeats=1, findings=())
