"""A folder of results, as asv wrote it."""

import json
import math

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.asv import is_asv, read_asv
from perfledger_profiles.benchmark_histories.results import HistoryFileError


@pytest.fixture
def results(recording):
    return {(result.benchmark, result.commit[:8]): result for result in read_asv(recording("asv"))}


def test_every_file_of_the_folder_is_known(recording):
    assert all(map(is_asv, recording("asv")))


def test_a_time_has_its_parameters_samples_commit_and_dates(results):
    result = results["sums.Sums.time_total(n=100)", "019085a6"]

    assert (result.metric, result.unit, result.worse) == ("time", "s", WorseDirection.HIGHER)
    assert result.value == pytest.approx(9.4686e-07, rel=1e-4)
    assert len(result.samples) == 6
    assert result.machine == "box existing-py"
    assert result.commit_time == 1767690000.0  # of the commit: 2026-01-06 10:00 +01:00
    assert result.time == pytest.approx(1795842275.565)


def test_values_are_in_the_order_of_the_product_of_their_parameters(results):
    short = results["sums.Sums.time_total(n=100)", "a6654906"]
    long = results["sums.Sums.time_total(n=1000)", "a6654906"]

    assert (short.value, long.value) == pytest.approx((9.62e-07, 1.384e-05), rel=1e-3)


def test_a_failed_combination_is_a_gap(results):
    assert math.isnan(results["sums.Fails.time_other(param1=2)", "019085a6"].value)
    assert results["sums.Fails.time_other(param1=1)", "019085a6"].value > 0


def test_memory_is_in_bytes_and_worse_when_larger(results):
    result = results["sums.mem_list", "019085a6"]

    assert (result.metric, result.value, result.unit) == ("memory", 856.0, "B")
    assert result.worse is WorseDirection.HIGHER
    assert result.samples == ()


def test_a_tracked_value_keeps_its_unit_and_has_no_direction(results):
    result = results["sums.Sums.track_ratio(n=100)", "019085a6"]

    assert (result.unit, result.worse) == ("ratio", None)
    assert result.value == pytest.approx(100 / 7)


def definitions(**changes):
    benchmark = {"name": "t", "params": [], "type": "time", "unit": "seconds", "version": "new"}
    return {"t": {**benchmark, **changes}, "version": 2}


def run(cells, **changes):
    fields = {"commit_hash": "a" * 40, "env_name": "py", "date": 1767690000000, "version": 2}
    columns = ["result", "params", "version"]
    return {**fields, "params": {}, "result_columns": columns, "results": {"t": cells}, **changes}


def test_results_of_an_older_benchmark_are_a_series_of_their_own(parsed):
    files = [parsed(definitions()), parsed(run([[1.0], [], "old-version"]))]

    (result,) = read_asv(files)

    assert result.benchmark == "t (version old-vers)"


def test_a_benchmark_that_failed_whole_is_a_gap(parsed):
    (result,) = read_asv([parsed(definitions()), parsed(run([None, [], "new"]))])

    assert math.isnan(result.value)


def test_a_skipped_value_is_a_gap(parsed):
    text = json.dumps(run([[math.nan], [], "new"]))

    (result,) = read_asv([parsed(definitions()), parsed(text)])

    assert "NaN" in text
    assert math.isnan(result.value)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([run([[1.0], [], "new"])], "^file.json has no benchmarks.json, which has the units"),
        ([run([[1.0], [], "new"])] * 2, "^the folder has no benchmarks.json"),
        ([definitions()], "^file.json has no run"),
        ([definitions(), run([[1.0], [], "new"], version=1)], "asv update"),
        ([definitions(), run([[1.0, 2.0], [], "new"])], "2 values for 1 parameters"),
        ([definitions(), run([[1.0], [["1"] * 1000] * 3, "new"])], "100,000 combinations"),
        ([definitions(), run("fast")], "'t' is not a list of columns"),
        ([definitions(), run([[1.0], [], "new"], date=1e30)], "milliseconds since 1970"),
    ],
)
def test_a_folder_that_cannot_be_read_is_an_error(parsed, files, words):
    with pytest.raises(HistoryFileError, match=words):
        list(read_asv([parsed(file) for file in files]))


def test_a_name_is_whole_in_the_series_and_clean_in_an_error(parsed):
    name = "sums: \x1b[31mtime"
    benchmarks = {name: definitions()["t"], "version": 2}

    (result,) = read_asv([parsed(benchmarks), parsed(run(None, results={name: [[1.0], []]}))])

    assert result.benchmark == name
    with pytest.raises(HistoryFileError, match=r"'sums: \[31mtime': 'result' has 2 values"):
        list(read_asv([parsed(benchmarks), parsed(run(None, results={name: [[1, 2], []]}))]))


def test_a_benchmark_that_no_longer_exists_is_left_out_as_asv_does(parsed):
    results = {"t": [[1.0], [], "new"], "gone": [[2.0], [], "new"]}

    (result,) = read_asv([parsed(definitions()), parsed(run(None, results=results))])

    assert result.benchmark == "t"
