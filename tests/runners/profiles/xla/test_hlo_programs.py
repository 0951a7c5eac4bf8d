"""Programs written byte by byte, whole and damaged."""

import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.xla import hlo_programs
from perfledger_profiles.xla.hlo_programs import read_programs
from tests.runners.profiles.xla.hlo_bytes import (
    MODEL,
    ROOT,
    computation,
    instruction,
    program,
    space,
)
from tests.runners.profiles.xla.wire_bytes import length_delimited, number


@pytest.fixture
def read(tmp_path):
    """Return a function that writes an xplane and returns the lines of its instructions by name."""

    def lines_of(data):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(data)
        return {
            (program.name, one.name): [(line.path, line.line) for line in one.lines]
            for program in read_programs(path, root=ROOT)
            for one in program.instructions
        }

    return lines_of


def test_an_instruction_is_read_with_its_number_its_operation_and_what_it_calls(tmp_path):
    path = tmp_path / "host.xplane.pb"
    one = instruction("fusion.1", opcode="fusion", called=(7, 300), key=2**33, frame=MODEL)
    path.write_bytes(space(program(computation(1, one))))

    ((instructions,),) = (each.computations.values() for each in read_programs(path, root=ROOT))

    (found_instruction,) = instructions
    assert (found_instruction.number, found_instruction.name, found_instruction.opcode) == (
        2**33,
        "fusion.1",
        "fusion",
    )
    assert (found_instruction.operation, found_instruction.called) == (
        "jit(f)/dot_general",
        (7, 300),
    )
    assert [(line.path, line.line) for line in found_instruction.lines] == [("model.py", 12)]


def test_frames_that_call_each_other_in_a_circle_end(read):
    circle = length_delimited(
        17,
        length_delimited(1, "/x.py")
        + length_delimited(3, number(1, 1) + number(3, 1))
        + length_delimited(4, number(1, 1) + number(2, 1)),
    )
    one = length_delimited(1, "jit_f") + computation(1, instruction("dot.1", frame=1)) + circle

    assert read(space(one)) == {("jit_f", "dot.1"): []}


def test_beyond_the_limit_of_instructions_programs_have_no_lines(read, monkeypatch):
    monkeypatch.setattr(hlo_programs, "MAX_INSTRUCTIONS", 1)
    first = program(computation(1, instruction("dot.1", frame=MODEL)))
    second = program(computation(1, instruction("dot.1", frame=MODEL)), name="jit_g")

    assert read(space(first, second)) == {("jit_f", "dot.1"): [("model.py", 12)]}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_far_as_they_are_programs(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "host.xplane.pb"
    path.write_bytes(data)

    for found_program in read_programs(path, root=ROOT):
        assert all(one.lines == () for one in found_program.instructions)


@given(st.data())
def test_a_program_with_other_bytes_in_it_is_read_or_left_out(tmp_path_factory, data):
    sound = bytearray(space(program(computation(1, instruction("dot.1", frame=MODEL)))))
    at = data.draw(st.integers(0, len(sound) - 1))
    sound[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "host.xplane.pb"
    path.write_bytes(sound)

    for found_program in read_programs(path, root=ROOT):
        assert all(line.line > 0 for one in found_program.instructions for line in one.lines)
