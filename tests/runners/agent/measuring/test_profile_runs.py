"""Profiles are made by real children of torch and jax, and read by a real child of ours."""

import json
import math
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from perfledger.meters.device import USUAL_EFFORT
from perfledger.records import Framework, Side, WorkloadSpec
from perfledger_runners.measuring import profile_runs
from perfledger_runners.measuring.process_groups import Separation
from perfledger_runners.measuring.profile_runs import (
    ReaderError,
    exit_reason,
    limit_resources,
    profile_both,
    read_trace,
    read_windows,
)

pytestmark = pytest.mark.slow

TORCH = """
import torch
@perfledger.workload(framework="torch")
def matmul():
    one = torch.ones(64, 64)
    return lambda: one @ one
"""
HOST = """
@perfledger.workload()
def plain():
    return lambda: sum(range(100))
@perfledger.workload()
def fails():
    raise KeyError("weights")
"""
JAX = """
import jax
@perfledger.workload(framework="jax")
def dot():
    one = jax.numpy.ones((64, 64))
    step = jax.jit(lambda: one @ one)
    return step
"""


def spec(name, framework=Framework.HOST):
    return WorkloadSpec(
        id=f"benchmarks.w:{name}", module="benchmarks.w", function=name, framework=framework
    )


@pytest.fixture
def sides(write_benchmarks, request_for, tmp_path):
    def write(text):
        return {side: request_for(write_benchmarks(tmp_path / side, w=text)) for side in Side}

    return write


@pytest.fixture
def roomy(harness):
    """A harness for torch and jax, which take more memory than plain Python."""
    return replace(harness, limits=replace(harness.limits, memory_bytes=None))


@pytest.fixture
def trace(tmp_path):
    def write(content):
        path = tmp_path / "trace.json"
        path.write_bytes(content)
        return path

    return write


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_torch_workload_is_profiled_on_both_sides(roomy, sides):
    explained = profile_both(roomy, sides(TORCH), [spec("matmul", Framework.TORCH)])

    assert explained.notes == ()
    assert [profile.side for profile in explained.profiles] == [Side.BASE, Side.HEAD]
    for profile in explained.profiles:
        assert (profile.workload, profile.tool) == ("benchmarks.w:matmul", "torch.profiler")
        assert any("mm" in operation.name for operation in profile.operations)
    repeats = Counter(repeat.side for repeat in explained.repeats)
    assert set(repeats) == set(Side)
    assert max(repeats.values()) < USUAL_EFFORT.windows  # a busy machine has time for fewer
    for repeat in explained.repeats:
        assert any("mm" in operation.name for operation in repeat.operations)
        assert repeat.slices == ()
    assert not list((roomy.folder / "traces").rglob("*.json*"))


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_on_a_cpu_the_windows_of_both_sides_alternate(roomy, sides, tmp_path):
    calls = tmp_path / "calls"
    text = TORCH.replace("return lambda: one @ one", "return lambda: note(one)")
    noting = """
    def note(one):
        with open({calls!r}, "a") as file:
            file.write({side!r})
        return one @ one
"""
    requests = {side: replace(request, is_interleaved=True) for side, request in sides("").items()}
    for side, request in requests.items():
        function = noting.format(calls=str(calls), side=side[0]).replace("\n    ", "\n")
        (Path(request.root) / "benchmarks" / "w.py").write_text(
            "import perfledger\n" + function + text, encoding="utf-8"
        )

    explained = profile_both(roomy, requests, [spec("matmul", Framework.TORCH)])

    assert [profile.side for profile in explained.profiles] == [Side.BASE, Side.HEAD]
    windows = [side for side, steps in groupby(calls.read_text(encoding="utf-8")[-400:])]
    assert len(windows) >= 5  # of 27 steps each: base, head, head, base, ...


@pytest.mark.slow(ci_only=True)
def test_a_jax_workload_is_profiled_on_both_sides_and_once_more(roomy, sides):
    requests, specs = sides(JAX), [spec("dot", Framework.JAX)]

    explained, again = (profile_both(roomy, requests, specs) for _ in range(2))

    assert explained.notes == again.notes == ()
    assert [profile.tool for profile in explained.profiles] == ["jax.profiler"] * 2
    assert {repeat.workload for repeat in explained.repeats} == {"benchmarks.w:dot"}
    repeats = Counter(repeat.side for repeat in explained.repeats)
    assert set(repeats) == set(Side)
    assert max(repeats.values()) < USUAL_EFFORT.windows  # a busy machine has time for fewer
    assert [profile.side for profile in again.profiles] == [Side.BASE, Side.HEAD]


@pytest.mark.slow(ci_only=True)
def test_what_cannot_be_profiled_is_a_note(harness, sides):
    explained = profile_both(harness, sides(HOST), [spec("plain"), spec("fails"), spec("gone")])

    assert explained.profiles == ()
    text = "\n".join(explained.notes)
    assert "benchmarks.w:plain was not profiled: its framework has no profiler here" in text
    assert "benchmarks.w:fails could not be profiled on base: raised: KeyError" in text
    assert "benchmarks.w:gone could not be profiled on head: missing" in text


def test_a_profile_that_the_budget_ends_says_what_would_explain_more(harness, sides):
    late = replace(harness, ends_at=harness.clock() - 1)

    explained = profile_both(late, sides(HOST), [spec("plain")])

    assert explained.notes
    assert all(note.endswith("; raise it to explain more") for note in explained.notes)
    assert all("benchmarks.w:plain could not be profiled on" in note for note in explained.notes)


@pytest.mark.parametrize("limits", [(math.inf, None), (100.0, 60.0), (0.0, 0.0), (-5.0, 0.0)])
def test_windows_have_a_share_of_the_budget_and_no_time_is_not_any(
    harness, request_for, tmp_path, monkeypatch, limits
):
    left_s, profile_s = limits
    requests = []

    def run_request(_, request, **__):
        requests.append(request)
        return iter(())

    monkeypatch.setattr(profile_runs, "run_request", run_request)
    limited = replace(harness, clock=lambda: 0.0, ends_at=left_s)

    profile_both(limited, dict.fromkeys(Side, request_for(tmp_path)), [spec("a")])

    assert [request.profile_s for request in requests] == [profile_s, profile_s]


def test_what_either_side_cannot_fork_is_profiled_in_processes_of_its_own(
    harness, request_for, tmp_path, monkeypatch
):
    forked_requests = []

    def run_request(_, request, **__):
        forked_requests.append(request)
        return iter(())

    monkeypatch.setattr(profile_runs, "run_request", run_request)
    requests = dict.fromkeys(Side, replace(request_for(tmp_path), is_forking=True))
    names = [f"benchmarks.w:{name}" for name in "abcd"]

    separation = Separation(workloads=dict.fromkeys(names[2:], "its imports leave a thread"))
    profile_both(harness, requests, [*map(spec, "abcd")], separation=separation)

    assert [(request.workloads, request.is_forking) for request in forked_requests] == [
        *[((names[0], names[1]), True)] * 2,
        *[((names[2],), False)] * 2,
        *[((names[3],), False)] * 2,
    ]


def test_a_file_that_is_not_the_childs_own_is_neither_read_nor_removed(
    scripted, request_for, tmp_path
):
    precious = tmp_path / "precious.json"
    precious.write_text("{}")
    liar = scripted(
        {"event": "started", "workload": "benchmarks.w:a"},
        {
            "event": "profiled",
            "workload": "benchmarks.w:a",
            "tool": "torch.profiler",
            "trace": str(precious),
        },
        {"event": "done"},
    )

    explained = profile_both(liar, dict.fromkeys(Side, request_for(tmp_path)), [spec("a")])

    assert explained.profiles == ()
    assert (
        "on base could not be read: the child named a file outside its trace folder"
        in explained.notes[0]
    )
    assert precious.exists()


@pytest.mark.slow(ci_only=True)
def test_a_trace_that_cannot_be_read_is_a_note(scripted, harness, request_for, tmp_path):
    trace = harness.folder / "traces" / "base" / "trace.json"
    trace.parent.mkdir(parents=True)
    trace.write_text("hello")
    careless = scripted(
        {"event": "started", "workload": "benchmarks.w:a"},
        {
            "event": "profiled",
            "workload": "benchmarks.w:a",
            "tool": "torch.profiler",
            "trace": str(trace),
        },
        {"event": "done"},
    )

    explained = profile_both(careless, dict.fromkeys(Side, request_for(tmp_path)), [spec("a")])

    assert explained.profiles == ()
    assert "the profile of benchmarks.w:a on base could not be read" in explained.notes[0]
    assert not trace.exists()


@pytest.mark.slow(ci_only=True)
def test_a_reader_that_nobody_wrote_is_an_error(harness, trace):
    with pytest.raises(ReaderError, match="invalid choice: 'nsys'"):
        read_trace(
            "nsys",
            trace(b""),
            workload="w",
            side=Side.BASE,
            environment=harness.environment,
        )


@pytest.mark.slow(ci_only=True)
def test_a_trace_that_is_none_is_an_error_with_the_readers_words(harness, trace):
    with pytest.raises(ReaderError) as caught:
        read_trace(
            "kineto",
            trace(b"[" * 10_000),
            workload="w",
            side=Side.BASE,
            environment=harness.environment,
        )

    assert 5 < len(str(caught.value)) <= 500


@pytest.mark.slow(ci_only=True)
def test_a_reader_leaves_nothing_beside_the_trace_and_takes_any_name(harness, trace, tmp_path):
    event = {"ph": "X", "cat": "cpu_op", "name": "a\x07b", "pid": 1, "tid": 1, "ts": 0, "dur": 9}
    file = trace(json.dumps({"traceEvents": [event]}).encode())

    profile = read_trace(
        "kineto", file, workload="-w", side=Side.HEAD, environment=harness.environment
    )

    assert (profile.workload, profile.side) == ("-w", Side.HEAD)
    assert "ab" in {operation.name for operation in profile.operations}
    assert [path for path in tmp_path.iterdir() if path.is_file()] == [file]


@pytest.mark.parametrize(
    ("greed", "end"),
    [
        ("bytearray(8 * 2**30)", 1),
        ("open('big', 'wb').truncate(2**30)", -25),  # SIGXFSZ
    ],
)
def test_a_reader_has_limits(tmp_path, greed, end):
    waiting = f"import signal; signal.signal(25, signal.SIG_DFL); input(); {greed}"
    with subprocess.Popen(
        [sys.executable, "-c", waiting],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        limit_resources(process.pid)
        process.communicate(b"\n")

    assert process.returncode == end


def test_a_reader_that_the_system_stopped_is_no_riddle():
    assert "more than 120 s of CPU time" in exit_reason(-signal.SIGKILL)
    assert exit_reason(3) == "the reader ended with status 3"


def test_limiting_what_has_ended_is_no_error():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        limit_resources(process.pid)


def test_a_reader_that_the_end_of_the_budget_stops_says_so(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text('{"traceEvents": []}')

    with pytest.raises(ReaderError, match="within 0 s, at the end of the budget: raise it"):
        read_windows("auto", [trace], workload="m:f", side=Side.HEAD, environment={}, wall_s=0)


def test_a_reader_that_takes_all_of_its_time_says_what_helps(tmp_path, monkeypatch):
    trace = tmp_path / "trace.json"
    trace.write_text('{"traceEvents": []}')
    monkeypatch.setattr(profile_runs, "READER_WALL_S", 0.0)

    with pytest.raises(ReaderError, match="within 0 s: profile fewer or smaller steps, or stop"):
        read_windows("auto", [trace], workload="m:f", side=Side.HEAD, environment={}, wall_s=0)


# Tensors of 4 MiB are in memory together at the peak of a step.
HOLDS = """
import torch
@perfledger.workload(framework="torch")
def holds():
    def step():
        kept = [torch.ones(1024, 1024) for _ in range({count})]
        return kept[0] + kept[-1]
    return step
"""


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_profile_of_memory_alone_has_few_steps_and_what_holds_memory(
    roomy, write_benchmarks, request_for, tmp_path
):
    requests = {
        side: request_for(write_benchmarks(tmp_path / side, w=HOLDS.format(count=count)))
        for side, count in ((Side.BASE, 1), (Side.HEAD, 3))
    }
    workload_specs = [spec("holds", Framework.TORCH)]
    explained = profile_both(roomy, requests, workload_specs, memory_s=600.0)

    assert explained.notes == ()
    assert explained.repeats == ()
    base, head = explained.profiles
    assert max(base.steps, head.steps) <= 2
    held_bytes = [sum(one.bytes for one in profile.peak_tensors) for profile in (base, head)]
    assert held_bytes[1] - held_bytes[0] == 2 * 4 * 2**20


@pytest.mark.slow(ci_only=True)
def test_a_profile_of_memory_alone_is_made_of_jax_too(roomy, sides):
    explained = profile_both(roomy, sides(JAX), [spec("dot", Framework.JAX)], memory_s=600.0)

    assert explained.notes == ()
    assert len(explained.profiles) == 2
    assert max(profile.steps for profile in explained.profiles) <= 2


def test_a_profile_of_memory_alone_ends_with_its_time(roomy, sides):
    explained = profile_both(roomy, sides(HOST), [spec("plain")], memory_s=0.0)

    assert explained.profiles == ()
    assert len(explained.notes) == 2
    assert all("budget" in note for note in explained.notes)
