"""`perfledger trace diff` as a user runs it, on traces that these tests write."""

import json

import pytest

from perfledger_service.errors import UsageError
from tests.service.cli.trace.example_traces import a_trace


def test_two_traces_are_compared_and_the_cause_is_named(trace, write):
    files = write("base.json", a_trace()), write("head.json", a_trace(copies_us=400))

    shown_trace = trace("diff", *files)
    document = json.loads(trace("diff", *files, "--format", "json"))

    assert "Why the step is slower" in shown_trace
    assert "aten::copy_" in shown_trace
    assert document["explanation"]["causes"][0]["name"] == "aten::copy_"
    assert (document["base"], document["head"]) == ("base.json", "head.json")


def test_changes_no_larger_than_between_files_of_the_same_code_are_noise(trace, write):
    files = write("base.json", a_trace()), write("head.json", a_trace(copies_us=130))
    alike, loud = write("a.json", a_trace(copies_us=100.5)), write("b.json", a_trace(copies_us=160))

    told_trace = trace("diff", *files, "--base-repeat", alike)
    untold = json.loads(trace("diff", *files, "--base-repeat", loud, "--format", "json"))[
        "explanation"
    ]

    assert "aten::copy_" in told_trace
    assert "The difference of the profiled steps is accurate to ±" in " ".join(told_trace.split())
    assert untold["causes"] == []
    assert untold["noise_seconds"] > 60e-6
    assert "no more than two profiles of the same code" in untold["note"]


def on_a_gpu(name, **more):
    """Return a trace of one kernel a step on a device of this name, made up."""
    document = json.loads(a_trace())
    kernel = {"ph": "X", "pid": 0, "tid": 7, "dur": 500, "cat": "kernel", "name": "gemm"}
    kernel["args"] = {"device": 0, "stream": 7}
    document["traceEvents"] += [kernel | {"ts": n * 1100 + 200} for n in range(4)]
    return json.dumps({"deviceProperties": [{"id": 0, "name": name, **more}]} | document)


def test_devices_of_one_name_and_two_sizes_are_different(trace, write):
    one, other = (write(f"{count}.json", on_a_gpu("", numSms=count)) for count in (304, 256))

    text = " ".join(trace("diff", one, other).split())

    assert (
        "The files are from different devices, (unnamed), 304 multiprocessors and (unnamed), 256 "
        "multiprocessors, so not only the code differs."
    ) in text


def test_a_diff_of_two_devices_has_a_warning(trace, write):
    one, other = (
        write(f"{place}.json", on_a_gpu(name))
        for place, name in enumerate(("NVIDIA A100-SXM4-40GB", "Tesla T4"))
    )

    assert "The files are from different devices" in trace("diff", one, other)
    assert "**The files are from different devices" in trace(
        "diff", one, other, "--format", "markdown"
    )
    assert "two devices" not in trace("diff", one, one)
    assert json.loads(trace("diff", one, other, "--format", "json"))["is_same_device"] is False
    with pytest.raises(UsageError, match=r"1\.json ran on another device than .*/0\.json"):
        trace("diff", one, one, "--base-repeat", other)


def test_files_without_any_time_are_not_compared_but_drawn(trace, write):
    scrape = write("scrape.prom", 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61\n')

    with pytest.raises(UsageError, match="has nothing to compare: trace summary shows"):
        trace("diff", scrape, scrape)
    assert "temp of gpu 0: 61" in trace("summary", scrape, "--format", "svg")


def test_two_traces_are_written_as_markdown_and_drawn(trace, write):
    files = write("base.json", a_trace()), write("head.json", a_trace(copies_us=400))

    assert "| `aten::copy_` | calls are slower." in trace("diff", *files, "--format", "markdown")
    assert trace("diff", *files, "--format", "svg").startswith("<svg")


def test_two_traces_are_two_profiles_of_one_speedscope_file(trace, write):
    files = write("base.json", a_trace()), write("head.json", a_trace(copies_us=400))
    steps = json.loads(trace("diff", *files, "--format", "json"))["explanation"]

    document = json.loads(trace("diff", *files, "--format", "speedscope"))

    assert document["name"] == "base.json and head.json"
    ends = [one["endValue"] for one in document["profiles"]]
    assert ends == pytest.approx([steps["base_step_seconds"], steps["head_step_seconds"]])
    assert {"name": "aten::copy_"} in document["shared"]["frames"]


def a_recording(repeats, *, second_us=500):
    """Return a recording of two kernels in turn without step markers, made up."""
    events = []
    for number in range(repeats):
        for name, offset, length in (("gemm", 0, 400), ("relu", 450, second_us)):
            events.append(
                {
                    "ph": "X",
                    "cat": "kernel",
                    "name": name,
                    "pid": 0,
                    "tid": 7,
                    "ts": 1000 * number + offset,
                    "dur": length,
                    "args": {"device": 0, "stream": 7},
                }
            )
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


def test_recordings_of_different_lengths_are_compared_by_what_repeats_in_both(trace, write):
    short, long = write("short.json", a_recording(6)), write("long.json", a_recording(24))
    slow = write("slow.json", a_recording(24, second_us=540))

    output = " ".join(trace("diff", short, slow).split())
    same, slower = (
        json.loads(trace("diff", short, one, "--format", "json")) for one in (long, slow)
    )

    assert "one repeat of the 2 kernels that both files repeat counts as a step" in output
    assert same["iteration_kernels"] == 2
    assert slower["explanation"]["causes"][0]["name"] == "relu"
    assert slower["explanation"]["causes"][0]["delta_seconds"] == pytest.approx(40e-6)


def test_one_recording_of_each_side_measures_no_noise(trace, write):
    files = write("base.json", a_trace()), write("head.json", a_trace(copies_us=400))
    again = write("again.json", a_trace())

    note = "by how much two of the same code differ is estimated, and with few operations unknown"
    assert note in " ".join(trace("diff", *files).split())
    assert note not in " ".join(trace("diff", *files, "--base-repeat", again).split())
