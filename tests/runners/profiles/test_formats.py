"""Files here are the shortest of each shape, written by hand; nothing was recorded."""

import codecs
import gzip
import importlib
import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import perfledger_profiles
from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles import formats
from perfledger_profiles.formats import (
    PATH_READERS,
    READERS,
    ProfileFormat,
    detect_format,
    read_profile,
)
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from tests.field_bounds import assert_bounds_are_known

MLLOG = b':::MLLOG {"key": "run_start", "time_ms": 1, "namespace": "%s"}\n'
SHORTEST = (
    (ProfileFormat.KINETO, b'{"schemaVersion": 1, "traceEvents": []}'),
    (ProfileFormat.KINETO, b'[{"name": "a", "ph": "X"}]'),
    (ProfileFormat.XPLANE, b"\x0a\x20\x08\x01\x12\x0d/device:TPU:0"),
    (ProfileFormat.NSYS_SQLITE, b"SQLite format 3\x00"),
    (ProfileFormat.NSYS_STATS, b"Processing [x]...\nTime (%),Total Time (ns),Instances,Name\n"),
    (ProfileFormat.NSYS_STATS, b"Start (ns),Duration (ns),CorrId,GrdX,GrdY\n"),
    (ProfileFormat.NSYS_STATS, b"Range,Style,Total Proj Time (ns)\n"),
    (ProfileFormat.NSYS_STATS, b"Total (MB),Count,Avg (MB)\n"),
    (ProfileFormat.NSYS_STATS, b"[6/8]\n\n Time (%)  Total Time (ns)  Instances\n ----  ---\n"),
    (ProfileFormat.NSYS_STATS, b"// Time(%)  Total Time (ns)  Instances\n// ------  ---\n"),
    (ProfileFormat.NSYS_STATS, b"| Time (%) | Total Time (ns) | Name |\n+-----+-----+----+\n"),
    (ProfileFormat.NSYS_STATS, b" Start (ns)  Duration (ns)  CorrId  GrdX\n --- ----\n"),
    (ProfileFormat.NSYS_STATS, b" Total (MB)  Count  Avg (MB)\n ----  ---\n"),
    (ProfileFormat.NSYS_STATS, b"Time,Total Time,Instances,Avg,Name\n"),
    (ProfileFormat.NSYS_STATS, b"PID,TID,DevId,Count,QCount,TAvg (ns)\n"),
    (ProfileFormat.NCU, b'==PROF== x\n"ID","Kernel Name","Metric Name","Metric Value"\n'),
    (ProfileFormat.NCU, b'"ID","Kernel Name","CC","sm__throughput.avg.pct"\n'),
    (ProfileFormat.DCGM, b"# HELP DCGM_FI_DEV_SM_CLOCK clock\n"),
    (ProfileFormat.DCGM, b'go_goroutines 5\nDCGM_FI_PROF_SM_UTIL_RATIO{gpu="0"} 0.5\n'),
    (ProfileFormat.NCCL_TESTS, b"#       size   count  type redop  time algbw busbw #wrong\n"),
    (ProfileFormat.VLLM, b'{"date": "20261121", "request_throughput": 1.5}'),
    (ProfileFormat.VLLM, b'{"avg_latency": 1.5, "percentiles": {}}'),
    (ProfileFormat.GENAI_PERF, b'{"request_throughput": {"unit": "requests/sec", "avg": 1}}'),
    (ProfileFormat.GENAI_PERF, b"Metric,avg,min,max\n"),
    (ProfileFormat.PERF_ANALYZER, b"Concurrency,Inferences/Second,Client Send\n"),
    (ProfileFormat.MODEL_ANALYZER, b"Model,Batch,Concurrency,Model Config Path\n"),
    (ProfileFormat.PERF_ANALYZER, b'{"experiments": [{"experiment": {}}]}'),
    (ProfileFormat.MLPERF_TRAINING, MLLOG % b""),
    (ProfileFormat.MLPERF_LOADGEN, MLLOG % b"mlperf::logging"),
    (ProfileFormat.MLPERF_LOADGEN, b"=====\nMLPerf Results Summary\n"),
)


@pytest.mark.parametrize(("expected", "head"), SHORTEST)
def test_a_format_is_told_by_its_content(expected, head):
    assert detect_format(head, "file") is expected


@pytest.mark.parametrize(("expected", "head"), SHORTEST)
def test_a_packed_file_is_looked_into_even_when_it_is_cut_off(expected, head):
    packed = gzip.compress(head + b"\n" * 40_000, mtime=0)

    assert detect_format(packed, "file") is expected
    assert detect_format(packed[:-9], "file") is expected


@pytest.mark.parametrize(("expected", "head"), SHORTEST)
def test_content_counts_more_than_the_name(expected, head):
    assert detect_format(head, "x.trace.json") is expected


@pytest.mark.parametrize("start", [b'{"schemaVersion": 1, "traceEvents"', b'\n{ "traceEvents"'])
def test_what_a_trace_names_its_calls_makes_it_no_other_format(start):
    assert detect_format(start + b': [{"name": ":::MLLOG {}"}]}', "x") is ProfileFormat.KINETO


def test_text_that_a_windows_shell_wrote_is_told_too():
    head = "Time (%),Total Time (ns),Instances,Name\n".encode("utf-16")

    assert detect_format(head, "file") is ProfileFormat.NSYS_STATS


def test_a_byte_order_mark_hides_no_format():
    head = codecs.BOM_UTF8 + b"Time (%),Total Time (ns),Instances,Name\n"

    assert detect_format(head, "file") is ProfileFormat.NSYS_STATS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("host.xplane.pb", ProfileFormat.XPLANE),
        ("rank3.pt.trace.json.gz", ProfileFormat.KINETO),
        ("report.SQLite", ProfileFormat.NSYS_SQLITE),
        ("run_cuda_gpu_kern_sum.csv", ProfileFormat.NSYS_STATS),
        ("gemm.ncu.csv", ProfileFormat.NCU),
        ("node.prom", ProfileFormat.DCGM),
        ("nccl_allreduce.log", ProfileFormat.NCCL_TESTS),
        ("profile_export_genai_perf.json", ProfileFormat.GENAI_PERF),
        ("mlperf_log_detail.txt", ProfileFormat.MLPERF_LOADGEN),
    ],
)
def test_where_the_content_does_not_tell_the_name_does(name, expected):
    assert detect_format(b"damaged", name) is expected


def test_a_file_of_no_known_format_is_refused_with_a_list_of_those_that_are():
    with pytest.raises(ProfileError) as error:
        detect_format(b"hello", "notes.txt")

    assert str(error.value) == (
        "the format of notes.txt is not supported; supported are: kineto, xplane, nsys-sqlite, "
        "nsys-stats, ncu, rocprof, rocpd, dcgm, nccl-tests, nvbandwidth, vllm, "
        "genai-perf, perf-analyzer, model-analyzer, mlperf-training, mlperf-loadgen"
    )


def test_a_file_is_read_by_what_is_in_it(tmp_path):
    path = tmp_path / "anything"
    path.write_text("Concurrency,Inferences/Second\n1,138.6\n")

    profile = read_profile(path, workload="m:f", side=Side.BASE)

    assert (profile.tool, profile.workload, profile.side) == ("perf_analyzer", "m:f", Side.BASE)


def test_a_format_that_is_given_is_not_doubted(tmp_path):
    path = tmp_path / "anything"
    path.write_text("Concurrency,Inferences/Second\n1,138.6\n")

    with pytest.raises(ProfileError, match="no DCGM field"):
        read_profile(path, workload="m:f", side=Side.BASE, format=ProfileFormat.DCGM)


def test_a_file_that_is_missing_is_refused(tmp_path):
    with pytest.raises(ProfileError, match="gone cannot be read: No such file"):
        read_profile(tmp_path / "gone", workload="m:f", side=Side.BASE)


def test_a_file_above_the_limit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MAX_UNPACKED_BYTES", 3)
    path = tmp_path / "file.prom"
    path.write_text("1234")

    with pytest.raises(ProfileError, match="larger than 3 bytes"):
        read_profile(path, workload="m:f", side=Side.BASE)


def test_a_database_goes_to_its_reader(tmp_path):
    path = tmp_path / "report"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (a INTEGER)")
    connection.close()

    with pytest.raises(ProfileError):
        read_profile(path, workload="m:f", side=Side.BASE)


PLANES = """
planes {
  name: "/device:TPU:0"
  event_metadata { key: 1 value { id: 1 name: "%dot = f32[8]{0} dot(f32[8]{0} %a)" } }
  lines { name: "XLA Ops" events { metadata_id: 1 offset_ps: 6000000 duration_ps: 40000000 } }
}
"""


@pytest.mark.slow
def test_a_packed_file_is_unpacked_for_a_reader_of_paths(tmp_path):
    profiler = importlib.import_module("jax.profiler")
    data = profiler.ProfileData.text_proto_to_serialized_xspace(PLANES)
    unpacked_file, packed = tmp_path / "host.xplane.pb", tmp_path / "host.xplane.pb.gz"
    unpacked_file.write_bytes(data)
    packed.write_bytes(gzip.compress(data))

    profile = read_profile(packed, workload="m:f", side=Side.BASE)

    assert profile.step_seconds == pytest.approx(40e-6)
    assert profile == read_profile(unpacked_file, workload="m:f", side=Side.BASE)


def test_every_format_has_a_reader():
    assert {*READERS, *PATH_READERS} == set(ProfileFormat)
    assert not READERS.keys() & PATH_READERS.keys()


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_are_of_a_format_or_refused(head, name):
    try:
        profile_format = detect_format(head, name)
    except ProfileError:
        profile_format = None

    assert profile_format is None or profile_format in ProfileFormat


@pytest.mark.parametrize("format_", READERS)
@settings(max_examples=50)
@given(
    data=st.binary(max_size=300)
    | st.text(alphabet='0123456789.,"{}[]:eE-\n abcNa%()', max_size=300).map(str.encode)
)
def test_any_bytes_are_a_profile_or_refused(format_, data):
    try:
        profile = READERS[format_](data, workload="m:f", side=Side.HEAD)
    except ProfileError:
        profile = None

    assert profile is None or isinstance(profile, Profile)


@pytest.mark.parametrize("name", ["nccl.log", "report.csv"])
def test_a_file_without_a_timeline_has_no_devices_to_choose_from(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"Processing [x]...\nTime (%),Total Time (ns),Instances,Name\n9,9,9,gemm\n")

    with pytest.raises(ProfileError, match="no timeline of devices to choose from"):
        read_profile(path, workload="m:f", side=Side.HEAD, choice=DeviceChoice(device=0))


def test_the_device_of_a_recording_is_chosen(tmp_path):
    rows = [
        {"ph": "X", "cat": "kernel", "name": f"k{n}", "pid": n, "tid": 7, "ts": 0, "dur": 10}
        for n in (0, 1)
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows}))

    chosen = read_profile(path, workload="m:f", side=Side.HEAD, choice=DeviceChoice(device=1))

    assert [operation.name for operation in chosen.operations] == ["k1"]


def test_fields_and_parameters_have_known_bounds_and_defaults():
    assert_bounds_are_known(perfledger_profiles, Path(__file__).with_name("field_bounds.txt"))


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b'[{"name": "process_name", "pid": 3, "args": {"name": "Ascend Hardware"}}]', "Ascend"),
        (b'[{"ph": "X", "name": "MatMul", "ts": "1742490378358140.950", "dur": 2}]', "Ascend"),
        (b'"Domain","Function","Process_Id","Thread_Id"\n', "kernel_trace.csv"),
        (b'"Guid","Domain","Function","Process_Id"\n', "host calls"),
        (b'"Guid","Node_Id","Logical_Node_Id"\n', "devices"),
    ],
)
def test_a_known_file_that_is_not_understood_is_named(head, reason):
    with pytest.raises(ProfileError, match=f"^file is not understood: it .*{reason}"):
        detect_format(head, "file")


@pytest.mark.parametrize(
    "header",
    [
        b'"Kind","Direction","Start_Timestamp"\n',
        b'"Guid","Kind","Direction","Start_Timestamp"\n',
        b'"Name","Calls","DURATION (nsec)"\n',
        b"Name,Calls,DURATION (nsec)\n",
    ],
)
def test_the_tables_that_rocpd_converts_are_rocprofs(header):
    assert detect_format(header, "file.csv") is ProfileFormat.ROCPROF
