"""One value of a series."""

from perfledger_profiles.benchmark_histories.results import BenchmarkResult


def test_a_series_is_a_metric_of_a_benchmark_on_a_machine_in_a_unit():
    result = BenchmarkResult(benchmark="b", metric="m", value=1.0, unit="s", machine="box")

    assert result.key == ("b", "m", "box", "s")
    assert result.worse is None
