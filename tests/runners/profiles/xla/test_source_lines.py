"""Lines of instructions: of programs written byte by byte here, and of one that jax recorded."""

import linecache
from dataclasses import replace

import pytest

from perfledger.profile import CallingLine
from perfledger.records import Side
from perfledger_profiles.xla.hlo_programs import Instruction, Program, read_programs
from perfledger_profiles.xla.source_lines import instruction_lines, with_instruction_lines
from perfledger_profiles.xla.xplane import read_xplane
from tests.runners.profiles.xla.hlo_bytes import (
    CALLER,
    LIBRARY,
    MODEL,
    ROOT,
    computation,
    instruction,
    program,
    space,
)
from tests.runners.profiles.xla.recorded_model import recorded_steps
from tests.runners.profiles.xla.wire_bytes import length_delimited, number


@pytest.fixture
def lines(tmp_path):
    """Return a function that writes an xplane and returns each instruction's lines."""

    def read(data):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(data)
        found_instruction_lines = instruction_lines(read_programs(path, root=ROOT))
        return {
            key: [(one.path, one.line, one.is_backward) for one in value]
            for key, value in found_instruction_lines.items()
        }

    return read


def test_an_instruction_has_the_innermost_line_of_the_repository(lines):
    values = lines(
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

    assert values == {
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
    metadata = length_delimited(7, length_delimited(3, "/repository/model.py") + number(4, 56))
    one = length_delimited(1, "dot.1") + length_delimited(2, "dot") + metadata

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

    values = lines(space(program(computation(7, *parts), computation(1, fusion))))

    assert values["jit_f", "fusion.1"] == [("model.py", 34, False), ("model.py", 12, False)]


class CountedParts(list[Instruction]):
    """The parts of a computation, which count how often they are read."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        return super().__iter__()


def part(name, *lines, opcode="add", called=()):
    return Instruction(
        number=1,
        name=name,
        opcode=opcode,
        operation="",
        shape=memoryview(b""),
        lines=tuple(CallingLine(path="model.py", line=line, calls=1.0) for line in lines),
        called=called,
    )


def test_a_computation_is_read_once_however_many_fusions_call_it():
    parts = CountedParts(part(f"add.{line}", line) for line in range(1, 9))
    fusions = [part(f"fusion.{n}", 8, opcode="fusion", called=(7,)) for n in range(100)]
    computations = {1: fusions, 7: parts}
    calling = Program(name="jit_f", computations=computations, buffers=memoryview(b""))

    found_instruction_lines = instruction_lines([calling])

    assert parts.reads == 2  # once for the lines, once as instructions of the program
    lines = [one.line for one in found_instruction_lines["jit_f", "fusion.99"]]
    assert lines == [8, 1, 2, 3, 4]  # its own line has two parts, whatever the order


def test_programs_of_one_name_have_only_the_lines_that_they_share(lines):
    def of(frame):
        return program(
            computation(1, instruction("dot.1", frame=MODEL), instruction("dot.2", frame=frame))
        )

    values = lines(space(of(MODEL), of(CALLER)))

    assert values["jit_f", "dot.1"] == [("model.py", 12, False)]
    assert values["jit_f", "dot.2"] == []


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


@pytest.mark.slow(ci_only=True)
def test_recorded_operations_have_the_lines_that_call_them(tmp_path):
    trace_file = recorded_steps(tmp_path, MODEL_TEXT)
    profile = with_instruction_lines(
        read_xplane(trace_file, workload="m:f", side=Side.HEAD),
        instruction_lines(read_programs(trace_file, root=tmp_path)),
    )

    texts = {
        operation.name.partition(".")[0]: linecache.getline(
            str(tmp_path / "model.py"), operation.lines[0].line
        )
        for operation in profile.operations
        if operation.lines
    }
    (sort,) = [text for name, text in texts.items() if "sort" in name]
    assert "jax.numpy.sort" in sort
    assert any("values @ weight" in text for text in texts.values())
