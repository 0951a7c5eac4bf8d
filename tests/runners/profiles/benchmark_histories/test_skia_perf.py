"""Files for Skia Perf, in the shape of its documentation."""

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from perfledger_profiles.benchmark_histories.skia_perf import read_skia_perf
from tests.runners.profiles.history_samples import COMMITS, SKIA_PERF


def test_every_trace_is_a_series(parsed):
    single, least, median, rate = read_skia_perf(parsed(SKIA_PERF))

    assert single.key == ("arch=x86 config=8888 test=single", "value", "", "s")
    assert (single.value, single.commit) == (123.5, COMMITS[0])
    assert least.key == ("arch=x86 config=8888 test=circle", "ms=min", "", "s")
    assert (median.value, median.worse) == (0.0015, WorseDirection.HIGHER)
    assert (rate.value, rate.unit, rate.worse) == (22.0, "Hz", WorseDirection.LOWER)


def test_a_commit_position_orders_the_files_and_a_hash_does_not(parsed):
    numbered = next(read_skia_perf(parsed(SKIA_PERF | {"git_hash": "CP:727901"})))
    named = next(read_skia_perf(parsed(SKIA_PERF)))

    assert (numbered.place, named.place) == (727901.0, None)


def test_a_measurement_that_go_leaves_out_is_zero(parsed):
    content = SKIA_PERF | {"results": [{"key": {"test": "t"}}]}

    (result,) = read_skia_perf(parsed(content))

    assert result.value == 0.0


def test_a_count_has_neither_the_unit_nor_the_direction_of_the_values(parsed):
    group = {"ms": [{"value": "count", "measurement": 7}]}
    content = SKIA_PERF | {"results": [{"key": {"test": "t"}, "measurements": group}]}

    (result,) = read_skia_perf(parsed(content))

    assert (result.value, result.unit, result.worse) == (7.0, "", None)


def test_another_version_is_an_error(parsed):
    with pytest.raises(HistoryFileError, match="'version' is not 1"):
        list(read_skia_perf(parsed(SKIA_PERF | {"version": 2})))
