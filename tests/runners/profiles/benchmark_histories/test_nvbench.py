"""Files of nvbench, in the shape of its own tests."""

import copy

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.nvbench import is_nvbench, read_nvbench
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import NVBENCH


def test_shown_times_and_rates_are_read_and_noise_is_not(parsed):
    time, rate = read_nvbench(parsed(NVBENCH))

    device = "NVIDIA H100 80GB HBM3"
    assert time.key == ("copy BlockSize=256", "cold/time/gpu/mean", device, "s")
    assert (time.value, time.worse) == (1.25e-6, WorseDirection.HIGHER)
    assert (rate.metric, rate.value, rate.unit) == ("cold/bw/item_rate", 2.5e9, "items/s")
    assert rate.worse is WorseDirection.LOWER


@pytest.mark.parametrize("text", ["fast", "inf", "", None])
def test_a_value_that_is_no_number_is_an_error(parsed, text):
    content = copy.deepcopy(NVBENCH)
    content["benchmarks"][0]["states"][0]["summaries"][1]["data"][0]["value"] = text

    with pytest.raises(HistoryFileError, match="'value'"):
        list(read_nvbench(parsed(content)))


def test_devices_and_benchmarks_alone_are_not_nvbench(parsed):
    assert not is_nvbench(parsed({"devices": [], "benchmarks": [{"name": "b"}]}))
