"""`perfledger trace` as a user runs it, on traces that these tests write."""

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError
from tests.service.cli.trace.example_traces import STEP_US, a_trace

IDLE = json.dumps(
    {
        "schemaVersion": 1,
        "traceEvents": [
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": "ProfilerStep#1",
                "pid": 1,
                "tid": 1,
                "ts": 0,
                "dur": STEP_US,
            }
        ],
    }
)


def test_a_summary_says_what_the_file_is_and_where_the_step_goes(trace, write, tmp_path):
    shown_trace = trace("summary", write("one.json", a_trace()))

    assert "one.json: torch.profiler, 3 steps of 1.10 ms (mean)" in shown_trace
    assert "aten::mm" in shown_trace
    assert max(map(len, shown_trace.splitlines())) <= 80
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]


def test_a_summary_in_json_is_the_profile(trace, write):
    document = json.loads(trace("summary", write("one.json", a_trace()), "--format", "json"))

    assert document["profile"]["step_seconds"] == pytest.approx(0.0011)
    assert document["name"] == "one.json"


def test_a_summary_is_drawn_and_written_to_a_file(trace, write, tmp_path):
    picture = tmp_path / "one.svg"

    shown_trace = trace(
        "summary", write("one.json", a_trace()), "--format", "svg", "--output", str(picture)
    )

    assert shown_trace == ""
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


ROCPROF = """"Kind","Agent_Id","Queue_Id","Kernel_Name","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH","Agent 4",1,"gemm",1000,3000
"KERNEL_DISPATCH","Agent 4",1,"gemm",9000,11000
"""


def test_a_trace_of_kernels_alone_has_idle_time_of_unknown_reason(trace, write):
    shown_trace = trace("summary", write("kernel_trace.csv", ROCPROF))

    assert "Bound by something the profile does not show" in shown_trace
    assert "60 % of the step has no work on the device" in shown_trace
    assert "host late" not in shown_trace
    streams = shown_trace.partition("Streams, per step")[2].split()
    assert streams[:8] == ["stream", "busy", "idle", "1", "4.00", "µs", "6.00", "µs"]


def a_rank(number, *, late_us):
    """Return a trace of one rank that joins its only collective so late, made up."""
    gemm = {"cat": "kernel", "name": "gemm", "tid": 7, "ts": 10, "dur": 400 + late_us}
    join_us = 500 + late_us
    reduce = {"cat": "kernel", "name": "ncclAllReduce", "tid": 20, "dur": 900 - join_us}
    step = {"cat": "user_annotation", "name": "ProfilerStep#1", "tid": 1, "ts": 0, "dur": STEP_US}
    events = [
        {"ph": "X", "pid": 1, "args": {"stream": event["tid"]}, **event}
        for event in (step, gemm, reduce | {"ts": join_us})
    ]
    fields = {"distributedInfo": {"backend": "nccl", "rank": number, "world_size": 3}}
    return json.dumps({"schemaVersion": 1, "traceEvents": events} | fields)


def test_of_several_ranks_the_one_that_is_waited_for_is_named(trace, write):
    ranks = [write(f"rank{n}.json", a_rank(n, late_us=200 * (n == 1))) for n in range(3)]

    text = " ".join(trace("summary", *ranks).split())
    document = json.loads(trace("summary", *ranks, "--format", "json"))

    assert "The others wait for rank 1: 200 µs a step (20.0 % of it)." in text
    assert "It joins 1 of 1 collectives last." in text
    assert "Rank 1 computes 1.5 times as long as the median rank" in text
    assert [one["wait_seconds"] for one in document["ranks"]] == pytest.approx([2e-4, 0.0, 2e-4])
    markdown = trace("summary", *ranks, "--format", "markdown")
    assert "| 1 | 1.00 ms | 600 µs | 200 µs | 0 s | 1 of 1 |" in markdown


def test_two_files_of_one_rank_are_no_two_ranks(trace, write):
    ranks = [write(f"{name}.json", a_rank(1, late_us=0)) for name in ("first", "second")]

    with pytest.raises(UsageError, match=r"first\.json and second\.json are both of rank 1: give"):
        trace("summary", *ranks)


def test_ranks_are_not_drawn_and_must_compute(trace, write):
    ranks = [write(f"rank{n}.json", a_rank(n, late_us=0)) for n in range(2)]

    with pytest.raises(UsageError, match="--format svg takes one file"):
        trace("summary", *ranks, "--format", "svg")
    with pytest.raises(UsageError, match=r"idle\.json has no compute in its steps"):
        trace("summary", ranks[0], write("idle.json", IDLE))


def on_a_gpu(name):
    """Return a trace of one kernel a step on a device of this name, made up."""
    document = json.loads(a_trace())
    kernel = {"ph": "X", "pid": 0, "tid": 7, "dur": 500, "cat": "kernel", "name": "gemm"}
    kernel["args"] = {"device": 0, "stream": 7}
    document["traceEvents"] += [kernel | {"ts": n * 1100 + 200} for n in range(4)]
    return json.dumps({"deviceProperties": [{"id": 0, "name": name}]} | document)


@pytest.mark.parametrize(
    ("name", "words"), [("NVIDIA Z9000", "Without the device's peaks"), ("Tesla T4", "limited to")]
)
def test_a_device_without_a_roofline_has_the_reason(trace, write, name, words):
    text = " ".join(trace("summary", write("one.json", on_a_gpu(name))).split())

    assert words.lower() in text.lower()


def test_a_file_without_a_timeline_cannot_be_exported(trace, write):
    scrape = write("scrape.prom", 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61\n')

    with pytest.raises(UsageError, match=r"scrape\.prom has no timeline to export"):
        trace("summary", scrape, "--format", "speedscope")


def test_a_complete_recording_is_exported_under_the_name_of_the_file(trace, write):
    document = json.loads(trace("summary", write("one.json", a_trace()), "--format", "speedscope"))

    (thread,) = document["profiles"]
    assert (document["name"], thread["name"]) == ("one.json", "thread 1")
    assert [event["type"] for event in thread["events"]].count("O") == 4 * 3


def test_an_export_counts_the_events_that_it_leaves_out(write):
    torn = write("torn.json", a_trace()[:-60])

    done = CliRunner().invoke(app, ["trace", "summary", torn, "--format", "speedscope"])

    assert "torn.json: 1 event could not be read" in done.stderr
    assert json.loads(done.stdout)["name"] == "torn.json: 1 event could not be read"


def two_devices():
    """Return a trace of one step on two devices, each half computing and half in a collective."""
    events = [("ProfilerStep#1", "user_annotation", 1, 0, STEP_US)]
    for device, (compute, collective) in enumerate(((0, 500), (500, 0))):
        events.append(("volta_sgemm_128x64_nt", "kernel", device, compute, 500))
        events.append(("ncclDevKernel_AllReduce", "kernel", device, collective, 500))
    rows = [
        {"ph": "X", "name": name, "cat": category, "pid": process, "tid": 7, "ts": at, "dur": lasts}
        for name, category, process, at, lasts in events
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": rows})


def run(tmp_path, *arguments):
    path = tmp_path / "two.json"
    path.write_text(two_devices())
    command = ["trace", "summary", str(path), *arguments]
    return CliRunner().invoke(app, command, catch_exceptions=False)


def test_a_recording_of_two_devices_is_their_mean_and_names_both(tmp_path):
    document = json.loads(run(tmp_path, "--json").stdout)

    profile = document["profile"]
    assert profile["buckets"]["compute"] == pytest.approx(500e-6)
    assert profile["buckets"]["communication"] == pytest.approx(500e-6)
    assert [device["name"] for device in profile["devices"]] == ["device 0", "device 1"]
    assert [device["overlap"] for device in profile["devices"]] == [0.0, 0.0]
    assert document["slowest_device"] in ("device 0", "device 1")
    assert document["device_spread_seconds"] == 0.0


def test_the_table_has_each_device_their_mean_and_their_spread(tmp_path):
    output = run(tmp_path).stdout

    rows = output.partition("Devices, per step")[2].splitlines()[2:6]
    assert [row.split()[0] for row in rows] == ["device", "device", "mean", "spread"]
    assert "slowest" not in "".join(rows)  # both take equally long


@pytest.mark.parametrize(
    "choice", [["--device-number", "1"], ["--rank", "0", "--device-number", "1"]]
)
def test_one_device_is_chosen(tmp_path, choice):
    document = json.loads(run(tmp_path, *choice, "--json").stdout)

    assert document["profile"]["devices"] == []
    assert {stream["stream"] for stream in document["profile"]["streams"]} == {"1:7"}


def test_a_device_that_was_not_recorded_is_an_error_that_names_those_that_were(tmp_path):
    with pytest.raises(UsageError, match="choose from device 0 of rank 0, device 1 of rank 0"):
        run(tmp_path, "--device-number", "7")


def test_the_whole_recording_is_exported_without_a_choice(tmp_path):
    with pytest.raises(UsageError, match="leave out --device-number and --rank"):
        run(tmp_path, "--format", "speedscope", "--device-number", "1")
