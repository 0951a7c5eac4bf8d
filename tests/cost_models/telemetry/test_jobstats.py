"""Summaries made here in Jobstats' shape; none was recorded."""

import gzip
import json
from base64 import b64encode

import pytest

from perfledger_cost_models.telemetry.slurm_gpu_use import MAX_RATIO, GpuSummary, summaries_of


def comment(nodes):
    return packed(json.dumps({"nodes": nodes}).encode())


def packed(data):
    return f"JS1:{b64encode(gzip.compress(data, mtime=0)).decode()}"


def node(utilization, used=None, total=None):
    return {
        "gpu_utilization": utilization,
        "gpu_used_memory": used or {},
        "gpu_total_memory": total or {},
    }


def test_each_gpu_has_its_share_of_time_and_of_memory():
    nodes = {"n1": node({"1": 50.0, "0": 25.0}, {"0": 20.0, "1": 80.0}, {"0": 80.0, "1": 80.0})}

    assert summaries_of(comment(nodes)) == (
        GpuSummary("n1 gpu 0", 0.25, 0.25),
        GpuSummary("n1 gpu 1", 0.5, 1.0),
    )


@pytest.mark.parametrize(
    ("used", "total"),
    [({}, {"0": 80.0}), ({"0": 8.0}, {}), ({"0": 8.0}, {"0": 0.0}), ({"0": -1.0}, {"0": 80.0})],
)
def test_memory_without_its_size_is_unknown_not_zero(used, total):
    (summary,) = summaries_of(comment({"n1": node({"0": 50.0}, used, total)}))

    assert summary.memory is None


@pytest.mark.parametrize(("percent", "share"), [(0.0, 0.0), (100.0, 1.0), (100.5, 1.0)])
def test_shares_are_at_most_one(percent, share):
    assert [one.utilization for one in summaries_of(comment({"n": node({"0": percent})}))] == [
        share
    ]


@pytest.mark.parametrize("percent", [-1.0, 1000.0])
def test_a_gpu_of_an_impossible_share_is_left_out(percent):
    assert summaries_of(comment({"n": node({"0": percent})})) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a user's own comment",
        "JS1:Short",
        "JS1:None",
        "JS1:!!!!",
        f"JS1:{b64encode(b'no gzip').decode()}",
        packed(b"no JSON"),
        packed(b'{"nodes": 3}'),
    ],
)
def test_any_other_comment_has_no_summaries(text):
    assert summaries_of(text) == ()


def test_a_summary_that_unpacks_to_more_than_fifty_times_its_size_is_not_read():
    data = json.dumps({"nodes": {"n": node({"0": 50.0})}}).encode()
    bomb = packed(data[:-1] + b" " * 100_000 + b"}")

    assert summaries_of(packed(data)) != ()
    assert len(data) + 100_000 > MAX_RATIO * len(bomb)
    assert summaries_of(bomb) == ()
