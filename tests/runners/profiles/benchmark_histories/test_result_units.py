"""Units of other tools."""

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.result_units import base_unit, is_known_unit

HIGHER, LOWER = WorseDirection.HIGHER, WorseDirection.LOWER


@pytest.mark.parametrize(
    ("text", "factor", "name", "worse"),
    [
        ("s", 1.0, "s", HIGHER),
        ("Seconds", 1.0, "s", HIGHER),
        ("ms", 1e-3, "s", HIGHER),
        ("µs", 1e-6, "s", HIGHER),  # micro sign
        ("μs", 1e-6, "s", HIGHER),  # Greek mu
        ("ns/iter", 1e-9, "s", HIGHER),
        ("secs/op", 1.0, "s", HIGHER),
        ("nanoseconds (ns)", 1e-9, "s", HIGHER),
        ("B/op", 1.0, "B", None),
        ("KiB", 1024.0, "B", None),
        ("kB", 1000.0, "B", None),
        ("MB", 1e6, "B", None),
        ("MB/s", 1e6, "B/s", None),  # may be a rate of allocations
        ("ops/sec", 1.0, "ops/s", LOWER),
        ("ops/ms", 1000.0, "ops/s", LOWER),
        ("operations / second (ops/s)", 1.0, "ops/s", LOWER),
        ("tokens per second", 1.0, "tokens/s", LOWER),
        ("page-faults/s", 1.0, "page-faults/s", None),
        ("Mb", 1.0, "Mb", None),  # megabits
        ("score", 1.0, "score", None),
        ("allocs/op", 1.0, "allocs/op", None),
        ("m/s/s", 1.0, "m/s/s", None),
        ("s/s", 1.0, "s/s", None),
        ("hits/core", 1.0, "hits/core", None),
        ("%", 1.0, "%", None),
        ("", 1.0, "", None),
        ("s" * 100, 1.0, "s" * 100, None),
    ],
)
def test_a_unit_becomes_its_base_unit_or_stays(text, factor, name, worse):
    unit = base_unit(text)

    assert unit.factor == pytest.approx(factor)
    assert (unit.name, unit.worse) == (name, worse)


def test_a_statistic_is_no_unit():
    assert is_known_unit("ms")
    assert not is_known_unit("min")
    assert not is_known_unit("median")
