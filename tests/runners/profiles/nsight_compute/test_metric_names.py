from collections import Counter

import pytest

from perfledger_profiles.nsight_compute.metric_names import METRICS, is_read, metric_of


def test_the_unit_decides_which_metric_a_printed_name_is():
    assert metric_of("Memory Throughput", "1").name == "memory_sol"
    assert metric_of("Memory Throughput", "B/s").name == "dram_bw"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_printed_name_is_read(metric):
    assert all(is_read(printed) for printed in metric.printed)
    assert {metric_of(printed, metric.unit) for printed in metric.printed} == {metric}


def test_no_two_metrics_share_a_name_or_a_printed_name_of_one_unit():
    names = Counter(metric.name for metric in METRICS)
    printed = Counter((name, metric.unit) for metric in METRICS for name in metric.printed)

    assert set(names.values()) == set(printed.values()) == {1}


def test_a_metric_in_another_unit_is_not_read():
    assert metric_of("Duration", "B") is None
    assert not is_read("Speed of Light")
