"""The rules of TensorBoard's plugin in benchmarks/profiles/tensorboard_overview.py."""

import importlib
from pathlib import Path

import pytest

MODEL = {
    "id": 0,
    "name": "NVIDIA A100-SXM4-40GB",
    "computeMajor": 8,
    "computeMinor": 0,
    "numSms": 100,
}
LAUNCH = {"block": [256, 1, 1], "registers per thread": 32, "shared memory": 0}


@pytest.fixture
def figures(monkeypatch):
    """Return the plugin's figures of a trace by name: seconds as microseconds, shares as shares."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "benchmarks" / "profiles")
    tool = importlib.import_module("tensorboard_overview")

    def of(trace, subject=""):
        return {
            one.name: pytest.approx(one.value * (1e6 if one.unit == "s" else 1.0))
            for one in tool.tensorboard_overview(trace.columns())
            if one.subject == subject
        }

    return of


@pytest.fixture
def three_steps(trace):
    """Return steps of 1000 us: data, an operator, its launch and a kernel of half the device."""
    trace.header = {"deviceProperties": [MODEL]}
    for number in range(3):
        begin = 1000 * number
        trace.step(number, begin, 1000)
        trace.add("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 200)
        trace.add("aten::mm", begin + 300, 100)
        trace.launch(
            "cudaLaunchKernel",
            begin + 310,
            20,
            kernel="gemm",
            at=begin + 350,
            lasts=400,
            correlation=number + 1,
            grid=[50, 1, 1],
            **LAUNCH,
        )
    return trace


def test_the_first_role_that_is_active_has_the_time(three_steps, figures):
    assert figures(three_steps) == {
        "kernel": 400,
        "memcpy": 0,
        "memset": 0,
        "communication": 0,
        "runtime": 20,
        "dataloader": 200,
        "cpu_op": 30,
        "other": 350,
        "total": 1000,
        "gpu_util": 0.4,
        "sm_efficiency": 0.2,
        "occupancy": 50 / 100 * 256 / 2048,
        "tc_ratio": 0.0,
    }


def test_a_step_lasts_until_its_work_has_ended_and_the_next_begins_then(three_steps, figures):
    three_steps.launch(
        "cudaLaunchKernel", 900, 20, kernel="late", at=950, lasts=200, correlation=90
    )

    overview = figures(three_steps)

    assert overview["total"] == 1000
    assert overview["kernel"] == (3 * 400 + 200) / 3
    assert overview["dataloader"] == (200 + 50 + 200) / 3


def test_what_was_launched_before_the_first_step_is_not_of_it(three_steps, figures):
    three_steps.add("early", 250, 50, cat="kernel", thread=(0, "stream 7"), stream=7)

    assert figures(three_steps)["total"] == 900


def test_a_last_step_that_lost_device_work_is_left_out(three_steps, figures):
    for number in range(3):
        three_steps.launch(
            "cudaLaunchKernel",
            800 * number + 800,
            10,
            kernel="relu",
            at=800 * number + 820,
            lasts=10,
            correlation=50 + number,
        )
    before = figures(three_steps)
    three_steps.step(3, 3000, 5000)
    three_steps.launch("cudaLaunchKernel", 3100, 9, kernel="k", at=3200, lasts=9, correlation=99)

    assert figures(three_steps)["total"] == before["total"]


def test_blocks_of_kernels_that_overlap_fill_the_device_up_to_one(trace, figures):
    trace.header = {"deviceProperties": [MODEL]}
    trace.step(0, 0, 1000).add("aten::mm", 0, 500)
    for number, blocks in enumerate((80, 80)):
        trace.launch(
            "cudaLaunchKernel",
            10 * number,
            5,
            kernel=f"k{number}",
            at=100 + 100 * number,
            lasts=200,
            correlation=number + 1,
            stream=7 + number,
            grid=[blocks, 1, 1],
            **LAUNCH,
        )

    assert figures(trace)["sm_efficiency"] == (0.8 * 100 + 1.0 * 100 + 0.8 * 100) / 1000


def test_collectives_are_communication_where_their_operator_launched_them(trace, figures):
    trace.step(0, 0, 1000).add("nccl:all_reduce", 100, 100)
    trace.launch("cudaLaunchKernel", 110, 5, kernel="nccl", at=300, lasts=400, correlation=1)

    overview = figures(trace)

    assert (overview["communication"], overview["kernel"]) == (500 - 5 + 5, 0)


def test_since_collectives_are_annotations_their_kernels_are_taken_for_others(trace, figures):
    trace.step(0, 0, 1000).add("nccl:all_reduce", 100, 100, cat="user_annotation")
    trace.launch("cudaLaunchKernel", 110, 5, kernel="nccl", at=300, lasts=400, correlation=1)

    overview = figures(trace)

    assert (overview["communication"], overview["kernel"]) == (100, 400)


def test_each_device_has_its_own_figures(trace, figures):
    trace.step(0, 0, 1000)
    for device, lasts in enumerate((100, 300)):
        trace.add("k", 0, lasts, cat="kernel", thread=(device, "stream 7"), stream=7)

    assert figures(trace, "gpu 0") == {"gpu_util": 0.1}
    assert figures(trace, "gpu 1") == {"gpu_util": 0.3}


def test_without_markers_all_operators_are_one_step(trace, figures):
    trace.add("aten::mm", 100, 50).add("aten::add", 400, 100)

    overview = figures(trace)

    assert (overview["total"], overview["cpu_op"], overview["other"]) == (400, 150, 250)
