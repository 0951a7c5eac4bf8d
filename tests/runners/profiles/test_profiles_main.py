import json
import subprocess
import sys

import pytest

from perfledger_profiles import __main__ as command
from perfledger_profiles.parsing import chrome_trace_json


def test_a_trace_becomes_json(trace, tmp_path, capsys):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(trace.step(1, 0, 100).add("aten::mm", 0, 60).packed())

    status = command.main(["kineto", "m:f[batch=8]", "head", str(path)])

    (document,) = json.loads(capsys.readouterr().out)
    assert status == 0
    assert (document["workload"], document["side"], document["steps"]) == (
        "m:f[batch=8]",
        "head",
        1,
    )
    assert document["operations"][0]["name"] == "aten::mm"
    assert document["operations"][0]["bucket"] == "compute"


def test_of_further_windows_only_the_operations_are_printed(trace, tmp_path, capsys):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(trace.step(1, 0, 100).add("aten::mm", 0, 60).packed())

    command.main(["kineto", "m:f", "head", str(path), str(path), str(path)])

    first, *others = json.loads(capsys.readouterr().out)
    assert len(others) == 2
    for other in others:
        assert other["operations"] == first["operations"]
        assert (bool(first["slices"]), other["slices"], other["each_step"]) == (True, [], [])


def test_the_time_of_each_operation_in_each_step_is_printed_on_request(
    trace, tmp_path, capsys, monkeypatch
):
    path = tmp_path / "trace.json"
    for number in range(4):
        trace.step(number, 100 * number, 100)
        for call in (1, 2):
            trace.add("aten::mm", 100 * number + 30 * call, 10 * call + number)
    path.write_bytes(trace.data())

    def totals():
        command.main(["kineto", "m:f", "head", "--step-totals", str(path)])
        (profile,) = json.loads(capsys.readouterr().out)
        names = [operation["name"] for operation in profile["operations"]]
        return [step[names.index("aten::mm")] for step in profile["call_times"]]

    assert totals() == [[pytest.approx(seconds)] for seconds in (32e-6, 34e-6, 36e-6)]
    monkeypatch.setattr(command, "MAX_CALL_TIMES", 25)
    assert totals() == []


def test_shapes_may_be_of_a_window_of_their_own(trace, tmp_path, capsys):
    files = []
    for name, inputs in (("timed", {}), ("shaped", {"Input Dims": [[8, 8]]})):
        files.append(tmp_path / f"{name}.json.gz")
        step = type(trace)().step(1, 0, 100)
        files[-1].write_bytes(step.add("aten::relu", 0, 60, **inputs).packed())

    status = command.main(["kineto", "m:f", "head", str(files[0]), f"--shapes={files[1]}"])

    (profile,) = json.loads(capsys.readouterr().out)
    assert status == 0
    assert "[8,8]" in {operation["shapes"] for operation in profile["operations"]}


def test_a_reader_need_not_be_named(tmp_path, capsys):
    path = tmp_path / "scrape"
    path.write_text('DCGM_FI_DEV_GPU_TEMP{gpu="0"} 61\n')

    status = command.main(["auto", "m:f", "head", str(path)])

    (document,) = json.loads(capsys.readouterr().out)
    assert status == 0
    assert (document["tool"], document["has_steps"], document["step_seconds"]) == (
        "dcgm-exporter",
        False,
        0,
    )
    assert document["readings"][0]["value"] == 61


def test_a_file_of_no_known_format_is_one_line_with_those_that_are(tmp_path, capsys):
    path = tmp_path / "notes"
    path.write_text("hello")

    status = command.main(["auto", "m:f", "head", str(path)])

    error = capsys.readouterr().err
    assert status == 1
    assert error.startswith("the format of notes is not supported; supported are: kineto, xplane, ")


@pytest.mark.parametrize("data", [b"", b"not\na trace"])
def test_what_cannot_be_read_is_one_line_and_status_1(tmp_path, capsys, data):
    path = tmp_path / "trace.json"
    path.write_bytes(data)

    status = command.main(["kineto", "m:f", "base", str(path)])

    output = capsys.readouterr()
    assert (status, output.out) == (1, "")
    assert output.err == (
        "no event of this trace is readable: give a Chrome trace of torch.profiler\n"
    )


@pytest.mark.parametrize("reader", ["kineto", "xplane"])
def test_a_missing_file_is_one_line_and_status_1(tmp_path, capsys, reader, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax.profiler", object())

    status = command.main([reader, "m:f", "base", str(tmp_path / "gone")])

    error = capsys.readouterr().err
    assert status == 1
    assert error.count("\n") == 1
    assert "No such file" in error


def test_a_file_above_the_limit_is_refused_unread(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(chrome_trace_json, "MAX_UNPACKED_BYTES", 3)
    path = tmp_path / "trace.json"
    path.write_bytes(b"[{}]")

    assert command.main(["kineto", "m:f", "base", str(path)]) == 1
    assert capsys.readouterr().err == "trace.json is larger than 3 bytes: profile fewer steps\n"


def test_an_answer_above_the_limit_is_one_line_and_status_1(trace, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "MAX_ANSWER_BYTES", 100)
    path = tmp_path / "trace.json"
    path.write_bytes(trace.step(1, 0, 100).data())

    status = command.main(["kineto", "m:f", "head", str(path)])

    assert status == 1
    assert capsys.readouterr() == (
        "",
        "the profile in trace.json is too large: record fewer steps\n",
    )


@pytest.mark.parametrize("arguments", [[], ["nsys", "f", "w", "base"], ["kineto", "f", "w", "x"]])
def test_a_wrong_call_is_a_usage_error(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        command.main(arguments)

    assert exit_.value.code == 2
    assert "usage: python -m perfledger_profiles" in capsys.readouterr().err


LIMITED = """
import resource, sys
from pathlib import Path
from perfledger_profiles.__main__ import main
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 150 * 2**20, used + 150 * 2**20))
sys.exit(main(["kineto", "m:f", "base", sys.argv[1]]))
"""


@pytest.mark.slow(ci_only=True)
def test_a_file_that_needs_too_much_memory_is_one_line_and_status_1(tmp_path):
    path = tmp_path / "trace.json"
    with path.open("wb") as file:
        file.truncate(300 * 2**20)

    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={"OPENBLAS_NUM_THREADS": "1"},
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "trace.json needs more memory than allowed: profile fewer steps\n"
