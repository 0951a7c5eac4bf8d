import pytest

from perfledger.process.local_results import (
    LocalResult,
    duration_text,
    measure_here,
    table_lines,
)
from perfledger.records import WorkloadSpec


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (12.34, "12.3 s"),
        (0.1, "100 ms"),
        (1.5e-3, "1.50 ms"),
        (2.345e-6, "2.35 us"),
        (0.9996e-3, "1.00 ms"),
        (5e-9, "5.00 ns"),
        (0.0, "0 ns"),
    ],
)
def test_a_duration_has_three_digits_and_a_unit(seconds, text):
    assert duration_text(seconds) == text


def test_a_row_has_the_median_and_the_spread_and_says_what_is_unknown():
    result = LocalResult(
        workload="m:f", steps_s=(0.9, 1.0, 1.0, 1.1), cpu_time_s=None, peak_bytes=2.0**20
    )

    _, name, row = table_lines([result])

    assert name == "m:f"
    assert row.split() == ["1.00", "s", "15", "%", "unknown", "1.0", "MiB", "4"]


def test_each_head_ends_where_its_figures_do():
    result = LocalResult(workload="m:f", steps_s=(1.0, 1.0), cpu_time_s=0.5, peak_bytes=2.0**20)

    heads, _, row = table_lines([result])

    ends = [
        (heads.index(head) + len(head), row.index(figure) + len(figure))
        for head, figure in (
            ("step time", "1.00 s"),
            ("spread", "0 %"),
            ("CPU time", "500 ms"),
            ("peak memory", "1.0 MiB"),
        )
    ]
    assert [head for head, _ in ends] == [figure for _, figure in ends]
    assert len(heads) == len(row)


def test_one_step_has_no_spread():
    result = LocalResult(workload="m:f", steps_s=(1.0,), cpu_time_s=0.5, peak_bytes=None)

    _, _, row = table_lines([result])

    assert row.split() == ["1.00", "s", "unknown", "500", "ms", "unknown", "1"]


@pytest.mark.slow
def test_a_step_is_measured_with_its_meter():
    spec = WorkloadSpec(id="m:f", module="m", function="f")

    result = measure_here(lambda: sum(range(1000)), spec)

    assert result.workload == "m:f"
    assert min(result.steps_s) > 0
    assert (result.peak_bytes or 0) > 0
