"""Lines of instructions: of programs written byte by byte here, and of one that jax recorded."""

import importlib.util
import linecache
from dataclasses import replace

import pytest

from perfledger.meters import jax_profile
from perfledger.meters.jax_clock import JaxClock
from perfledger.profile import CallingLine
from perfledger.records import Side
from perfledger_profiles.xla.hlo_lines import instruction_lines, with_instruction_lines
from perfledger_profiles.xla.hlo_programs import read_programs
from perfledger_profiles.xla.xplane import read_xplane
from tests.runners.profiles.xla.hlo_bytes import (
    CALLER,
    LIBRARY,
    MODEL,
    ROOT,
    computation,
    instruction,
    number,
    program,
    sized,
    space,
)


@pytest.fixture
def lines(tmp_path):
    """Return a function that writes an xplane and returns each instruction's lines."""

    def read(data):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(data)
        found = instruction_lines(read_programs(path, root=ROOT))
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
        instruction_lines(read_programs(traced.trace, root=tmp_path)),
    )

    texts = {
        operation.name.partition(".")[0]: linecache.getline(str(path), operation.lines[0].line)
        for operation in profile.operations
        if operation.lines
    }
    (sort,) = [text for name, text in texts.items() if "sort" in name]
    assert "jax.numpy.sort" in sort
    assert any("values @ weight" in text for text in texts.values())
