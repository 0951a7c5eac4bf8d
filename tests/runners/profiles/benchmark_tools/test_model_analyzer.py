"""Tables here are written by hand in the shape of Model Analyzer's; nothing was recorded."""

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.model_analyzer import read_model_analyzer
from perfledger_profiles.benchmark_tools.perf_analyzer import MAYBE_EVEN_ARRIVALS
from perfledger_profiles.parsing.errors import ProfileError

TABLES = """\
Model,GPU ID,Batch,Concurrency,Model Config Path,Satisfies Constraints,GPU Memory Usage (MB)
resnet,0,4,8,resnet_i0,Yes,1099.0

Model,Batch,Concurrency,Model Config Path,Instance Group,Satisfies Constraints,\
Throughput (infer/sec),Avg Latency (ms),p99 Latency (ms),RAM Usage (MB)
resnet,4,8,resnet_i0,1/GPU,Yes,400.0,9.0,11.0,2897.0
resnet,1,1,resnet_i0,1/GPU,Yes,164.0,6.0,8.1,2937.0

Model,GPU ID,GPU Memory Usage (MB)
triton-server,0,277.0
"""


def read(text):
    return read_model_analyzer(text.encode(), workload="m:f", side=Side.HEAD)


def test_a_load_has_its_requests_latencies_and_memory():
    profile = read(TABLES)

    subject = "resnet_i0 batch 4 concurrency 8"
    assert profile.reading("throughput_requests", subject=subject) == 100.0
    assert profile.reading("request_latency_p99", subject=subject) == pytest.approx(0.011)
    assert profile.reading("request_latency_mean", subject=subject) == pytest.approx(0.009)
    assert profile.reading("memory_used", subject=subject) == 1099e6
    other = "resnet_i0 batch 1 concurrency 1"
    assert profile.reading("throughput_requests", subject=other) == 164.0


def test_the_server_alone_has_no_load():
    assert not any("triton" in reading.subject for reading in read(TABLES).readings)


def test_memory_may_follow_as_later_versions_write_it():
    gpu = (
        "Model,GPU UUID,Batch,Concurrency,Model Config Path,Satisfies Constraints,"
        "GPU Memory Usage (MB)\nresnet,GPU-85-aa,1,1,resnet_i0,Yes,872.4\n"
    )

    profile = read(TABLES + gpu)

    assert profile.reading("memory_used", subject="resnet_i0 batch 1 concurrency 1") == 872.4e6


def test_models_that_ran_at_once_are_refused_with_the_reason():
    table = (
        "Model,Batch,Concurrency,Model Config Path,Throughput (infer/sec),p99 Latency (ms)\n"
        '"resnet,vgg","1,1","4,4","resnet_i0,vgg_i0","421.0, [184.5,236.5]","20.7, [23.9,17.4]"\n'
    )

    with pytest.raises(ProfileError, match="several models at once"):
        read(table)


def test_loads_by_rate_are_said_to_be_even_perhaps():
    by_rate = read(TABLES.replace("Concurrency", "Request Rate"))

    assert MAYBE_EVEN_ARRIVALS in by_rate.notes
    assert not read(TABLES).notes


def test_names_carry_no_folders():
    profile = read(TABLES.replace("resnet_i0", "/home/somebody/models/resnet_i0"))

    assert "somebody" not in repr(profile)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Model,Batch\n",
        TABLES[:120],
        TABLES.replace("400.0", "n/a").replace("164.0", ""),
        TABLES.replace("resnet,4", "resnet,0").replace("resnet,1", "resnet,-1"),
        "\x00" * 100,
    ],
)
def test_a_file_without_a_load_is_refused(text):
    with pytest.raises(ProfileError):
        read(text)


@pytest.mark.parametrize(
    ("batch", "is_read"), [(0, False), (1, True), (10**6, True), (10**6 + 1, False)]
)
def test_a_batch_is_of_one_to_a_million(batch, is_read):
    text = TABLES.replace("resnet,1,1,", f"resnet,{batch},1,")

    result = any(f"batch {batch} " in reading.subject for reading in read(text).readings)

    assert result is is_read
