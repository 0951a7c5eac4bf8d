"""Lines of instructions: of programs written byte by byte here, and of one that jax recorded."""

import importlib.util
import linecache
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from perfledger.meters import jax_profile
from perfledger.meters.jax_clock import JaxClock
from perfledger.profile import CallingLine
from perfledger.records import Side
from perfledger_profiles.xla import hlo_lines as module
from perfledger_profiles.xla.hlo_lines import read_instruction_lines, with_instruction_lines
from perfledger_profiles.xla.xplane import read_xplane

ROOT = Path("/repository")
# Of the program below: the frames' numbers count from 1.
MODEL, LIBRARY, CALLER = 1, 2, 3


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field, value):
    return varint(field << 3) + varint(value)


def sized(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def instruction(name, *, frame=0, opcode="dot", operation="jit(f)/dot_general", called=()):
    metadata = sized(7, sized(2, operation) + number(15, frame))
    return sized(1, name) + sized(2, opcode) + metadata + sized(38, b"".join(map(varint, called)))


def computation(key, *instructions):
    return sized(3, number(5, key) + b"".join(sized(2, one) for one in instructions))


def frames():
    """Write three stack frames: a line of the model, one of a library, one that calls it."""
    files = ("/repository/model.py", "/site-packages/library.py")
    locations = ((1, 12), (2, 99), (1, 34))
    stacks = ((1, 0), (2, 3), (3, 0))  # each a location, and the frame that called it
    return sized(
        17,
        b"".join(sized(1, file) for file in files)
        + b"".join(sized(3, number(1, file) + number(3, line)) for file, line in locations)
        + b"".join(sized(4, number(1, at) + number(2, parent)) for at, parent in stacks),
    )


def program(*computations, name="jit_f"):
    return sized(1, name) + b"".join(computations) + frames()


def space(*programs):
    entries = [
        sized(
            4, number(1, key) + sized(2, sized(2, "jit_f(1)") + sized(5, sized(6, sized(1, one))))
        )
        for key, one in enumerate(programs)
    ]
    return sized(1, sized(2, "/host:CPU")) + sized(
        1, sized(2, "/host:metadata") + b"".join(entries)
    )


@pytest.fixture
def lines(tmp_path):
    """Return a function that writes an xplane and returns each instruction's lines."""

    def read(data):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(data)
        found = read_instruction_lines(path, root=ROOT)
        return {
            key: [(one.path, one.line, one.is_backward) for one in value]
            for key, value in found.items()
        }

    return read


def test_an_instruction_has_the_innermost_line_of_the_repository(lines):
    found = lines(
        space(
            program(
                computation(
                    1,
                    instruction("dot.1", frame=MODEL),
                    instruction("dot.2", frame=LIBRARY),
                    instruction("dot.3"),
                )
            )
        )
    )

    assert found == {
        ("jit_f", "dot.1"): [("model.py", 12, False)],
        ("jit_f", "dot.2"): [("model.py", 34, False)],  # of its caller
        ("jit_f", "dot.3"): [],
    }


def test_the_backward_pass_of_a_line_is_told_from_its_forward_pass(lines):
    backward = instruction("dot.1", frame=MODEL, operation="jit(f)/transpose(jvp(f))/dot_general")

    assert lines(space(program(computation(1, backward)))) == {
        ("jit_f", "dot.1"): [("model.py", 12, True)]
    }


def test_an_older_program_has_the_line_in_the_instruction_itself(lines):
    metadata = sized(7, sized(3, "/repository/model.py") + number(4, 56))
    one = sized(1, "dot.1") + sized(2, "dot") + metadata

    assert lines(space(program(computation(1, one)))) == {
        ("jit_f", "dot.1"): [("model.py", 56, False)]
    }


def test_a_fusion_has_the_lines_of_its_parts_those_of_most_parts_first(lines):
    parts = (
        instruction("p", frame=CALLER, opcode="parameter"),
        instruction("mul.1", frame=MODEL, opcode="multiply"),
        instruction("add.1", frame=LIBRARY, opcode="add"),
        instruction("add.2", frame=CALLER, opcode="add"),
    )
    fusion = instruction("fusion.1", opcode="fusion", called=(7,))

    found = lines(space(program(computation(7, *parts), computation(1, fusion))))

    assert found["jit_f", "fusion.1"] == [("model.py", 34, False), ("model.py", 12, False)]


def test_programs_of_one_name_have_only_the_lines_that_they_share(lines):
    def of(frame):
        return program(
            computation(1, instruction("dot.1", frame=MODEL), instruction("dot.2", frame=frame))
        )

    found = lines(space(of(MODEL), of(CALLER)))

    assert found["jit_f", "dot.1"] == [("model.py", 12, False)]
    assert found["jit_f", "dot.2"] == []


def test_frames_that_call_each_other_in_a_circle_end(lines):
    circle = sized(
        17,
        sized(1, "/x.py")
        + sized(3, number(1, 1) + number(3, 1))
        + sized(4, number(1, 1) + number(2, 1)),
    )
    one = sized(1, "jit_f") + computation(1, instruction("dot.1", frame=1)) + circle

    assert lines(space(one)) == {("jit_f", "dot.1"): []}


def test_beyond_the_limit_of_instructions_programs_have_no_lines(lines, monkeypatch):
    monkeypatch.setattr(module, "MAX_INSTRUCTIONS", 1)
    first = program(computation(1, instruction("dot.1", frame=MODEL)))
    second = program(computation(1, instruction("dot.1", frame=MODEL)), name="jit_g")

    assert lines(space(first, second)) == {("jit_f", "dot.1"): [("model.py", 12, False)]}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_far_as_they_are_programs(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "host.xplane.pb"
    path.write_bytes(data)

    assert set(read_instruction_lines(path, root=ROOT).values()) <= {()}


@given(st.data())
def test_a_program_with_other_bytes_in_it_gives_lines_or_none(tmp_path_factory, data):
    sound = bytearray(space(program(computation(1, instruction("dot.1", frame=MODEL)))))
    at = data.draw(st.integers(0, len(sound) - 1))
    sound[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "host.xplane.pb"
    path.write_bytes(sound)

    for found in read_instruction_lines(path, root=ROOT).values():
        assert all(one.line > 0 for one in found)


def test_an_operation_has_its_own_calls_at_its_lines(make):
    place = CallingLine(path="model.py", line=12, calls=1.0)
    own = replace(make.operation("dot.1", 2.0, count=3.0), path="jit_f")
    other = replace(make.operation("dot.1", 1.0), path="jit_g")

    first, second = with_instruction_lines(
        make.profile(own, other), {("jit_f", "dot.1"): (place,)}
    ).operations

    assert first.lines == (replace(place, calls=3.0),)
    assert second.lines == ()


MODEL_TEXT = """
import jax

def layer(values, weight):
    return jax.numpy.tanh(values @ weight)

def make():
    values, weight = jax.numpy.ones((64, 64)), jax.numpy.ones((64, 64))
    function = jax.jit(lambda one: jax.numpy.sort(layer(one, weight), axis=0).sum())
    return lambda: function(values)
"""


@pytest.mark.slow
def test_recorded_operations_have_the_lines_that_call_them(tmp_path):
    jax = pytest.importorskip("jax")
    path = tmp_path / "model.py"
    path.write_text(MODEL_TEXT, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("jax_model_of_a_test", path)
    assert spec is not None
    assert spec.loader is not None
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    step = model.make()
    step()

    traced = jax_profile.trace(jax, lambda: step, JaxClock(jax), folder=tmp_path / "traces")
    profile = with_instruction_lines(
        read_xplane(traced.trace, workload="m:f", side=Side.HEAD),
        read_instruction_lines(traced.trace, root=tmp_path),
    )

    texts = {
        operation.name.partition(".")[0]: linecache.getline(str(path), operation.lines[0].line)
        for operation in profile.operations
        if operation.lines
    }
    (sort,) = [text for name, text in texts.items() if "sort" in name]
    assert "jax.numpy.sort" in sort
    assert any("values @ weight" in text for text in texts.values())
