"""A step's record is read from an untrusted file and added to a profile."""

import json
from dataclasses import replace

import pytest

from perfledger.compile_record import CompilationKind
from perfledger.profile import CallingLine, Compilation, HeldTensors
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.torch_profiler import step_record
from perfledger_profiles.torch_profiler.step_record import read_step_record, with_step_record

ROW = {
    "operator": "aten::mm",
    "sizes": "[8,4][4,2]",
    "path": "model.py",
    "line": 7,
    "is_backward": False,
    "calls": 2,
}

HELD = {
    "operator": "aten::mm",
    "tensor": "float32[8,2]",
    "path": "model.py",
    "line": 7,
    "is_backward": False,
    "bytes": 128,
    "tensors": 2,
}

BREAK = {
    "kind": "graph break",
    "function": "",
    "reason": "print",
    "path": "model.py",
    "line": 9,
    "count": 1,
}
EMPTY = {"calls": [], "peak_tensors": [], "compilations": []}


@pytest.fixture
def write(tmp_path):
    def to_file(value):
        path = tmp_path / "0.lines.json"
        if isinstance(value, list):
            value = {"calls": value, "peak_tensors": [], "compilations": []}
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return path

    return to_file


def test_an_operation_has_the_lines_of_its_sizes_else_all_lines_of_its_name(make, write):
    other = {**ROW, "sizes": "[2,2][2,2]", "line": 9, "calls": 5, "is_backward": True}
    lines = read_step_record(write([ROW, other]))
    profile = make.profile(
        replace(make.operation("aten::mm", 2.0), shapes="float[8,4] float[4,2]"),
        replace(make.operation("aten::mm", 1.0), shapes="float[1,1] float[1,1]"),
        make.operation("aten::add", 0.5),
    )

    own, by_name, unknown = with_step_record(profile, lines).operations

    seven = CallingLine(path="model.py", line=7, calls=2.0)
    nine = CallingLine(path="model.py", line=9, calls=5.0, is_backward=True)
    assert own.lines == (seven,)
    assert by_name.lines == (nine, seven)
    assert unknown.lines == ()


def test_a_kernel_has_the_lines_of_the_operator_around_it(make, write):
    lines = read_step_record(write([ROW]))
    kernel = replace(
        make.operation("ampere_sgemm_128x64", 1.0),
        path="aten::linear/aten::mm",
        shapes="float[8,4] float[4,2]",
    )

    (operation,) = with_step_record(make.profile(kernel), lines).operations

    assert [one.line for one in operation.lines] == [7]


def test_held_tensors_have_the_line_that_made_them_if_it_is_the_users(make, write):
    fields = {**HELD, "operator": "", "path": "", "line": 0, "bytes": 64, "tensors": 1}
    record = read_step_record(write({**EMPTY, "peak_tensors": [HELD, fields]}))

    held_peak_tensors = with_step_record(
        make.profile(make.operation("aten::mm", 1.0)), record
    ).peak_tensors

    assert held_peak_tensors == (
        HeldTensors(
            operator="aten::mm",
            tensor="float32[8,2]",
            bytes=128.0,
            count=2,
            lines=(CallingLine(path="model.py", line=7, calls=2.0),),
        ),
        HeldTensors(operator="", tensor="float32[8,2]", bytes=64.0, count=1),
    )


def test_compilations_have_their_place_if_it_is_the_users(make, write):
    fields = {**BREAK, "path": ""}
    record = read_step_record(write({**EMPTY, "compilations": [BREAK, fields]}))

    own, other = with_step_record(make.profile(make.operation("a", 1.0)), record).compilations

    assert own == Compilation(
        kind=CompilationKind.GRAPH_BREAK,
        function="",
        reason="print",
        count=1,
        lines=(CallingLine(path="model.py", line=9, calls=1.0),),
    )
    assert other.lines == ()


def test_at_most_five_lines_are_kept(make, write):
    lines = read_step_record(write([{**ROW, "line": number} for number in range(1, 9)]))

    (operation,) = with_step_record(make.profile(make.operation("aten::mm", 1.0)), lines).operations

    assert [one.line for one in operation.lines] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[" * 100_000,
        b"\xff\xfe",
        {},
        {"calls": [], "peak_tensors": []},
        {**EMPTY, "compilations": [{**BREAK, "kind": "something else"}]},
        {**EMPTY, "compilations": [{**BREAK, "count": 0}]},
        {**EMPTY, "peak_tensors": [{**HELD, "bytes": 0}]},
        {**EMPTY, "peak_tensors": [{**HELD, "bytes": 10**30}]},
        {**EMPTY, "peak_tensors": [{**HELD, "tensors": 0}]},
        {**EMPTY, "peak_tensors": [{**HELD, "line": -1}]},
        [[]],
        [{}],
        [{**ROW, "line": 0}],
        [{**ROW, "line": "7"}],
        [{**ROW, "line": 1e308}],
        [{**ROW, "calls": 0}],
        [{**ROW, "path": ""}],
        [{**ROW, "path": "x" * 10_000}],
        [{**ROW, "operator": None}],
    ],
)
def test_a_file_of_anything_else_is_an_error_with_its_name(write, value):
    with pytest.raises(ProfileError, match=r"0\.lines\.json is not a record of a step: "):
        read_step_record(write(value))


def test_the_least_of_everything_is_read(write):
    least = {
        "calls": [{**ROW, "line": 1, "calls": 1}],
        "peak_tensors": [{**HELD, "line": 0, "bytes": 1, "tensors": 1}],
        "compilations": [{**BREAK, "line": 0, "count": 1}],
    }

    assert read_step_record(write(least)) != read_step_record(write(EMPTY))


def test_a_file_beyond_its_limit_is_not_read(write, monkeypatch):
    monkeypatch.setattr(step_record, "MAX_BYTES", 100)

    with pytest.raises(ProfileError, match="larger than"):
        read_step_record(write([ROW] * 10))
