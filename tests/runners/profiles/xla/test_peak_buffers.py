"""What programs hold at their peak: of assignments written byte by byte, and of one of jax."""

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.xla import hlo_programs
from perfledger_profiles.xla.hlo_programs import read_programs
from perfledger_profiles.xla.peak_buffers import ARGUMENT, UNNAMED, with_peak_buffers
from perfledger_profiles.xla.xplane import read_xplane
from tests.runners.profiles.xla.hlo_bytes import (
    MODEL,
    ROOT,
    computation,
    instruction,
    program,
    shape,
    space,
)
from tests.runners.profiles.xla.recorded_model import recorded_steps
from tests.runners.profiles.xla.wire_bytes import length_delimited, number

NO_PROFILE = Profile(
    workload="m:f", side=Side.HEAD, tool="jax.profiler", steps=1, step_seconds=1.0, operations=()
)
KIB = 1024
X, DOT, TANH, SUM = 1, 2, 3, 4  # instructions
ALLOCATE, FREE, SHARE = 0, 1, 2
THREAD_LOCAL, PARAMETER, LIVE_OUT, MEMORY = 3, 5, 7, 8


def buffer(key, size, at):
    return length_delimited(
        1, number(1, key) + number(2, size) + length_delimited(3, number(4, at))
    )


def allocation(size, *buffers, **flags):
    assigned = b"".join(length_delimited(9, number(1, one)) for one in buffers)
    marks = b"".join(number(field, value) for field, value in flags.get("marks", {}).items())
    return length_delimited(3, number(2, size) + marks + assigned)


def trace(*events):
    return length_delimited(
        4,
        b"".join(
            length_delimited(1, number(1, kind) + number(2, one) + number(5, shared))
            for kind, one, shared in events
        ),
    )


PROGRAM = program(
    computation(
        1,
        instruction("x", opcode="parameter", operation="x", key=X, result=shape(16, 16)),
        instruction("dot.1", frame=MODEL, key=DOT, result=shape(16, 32)),
        instruction("tanh.1", operation="jit(f)/tanh", key=TANH, result=shape(16, 32)),
        instruction("sum.1", operation="jit(f)/reduce_sum", key=SUM, result=shape()),
    )
)
BUFFERS = (
    buffer(10, 1 * KIB, X)
    + buffer(11, 2 * KIB, DOT)
    + buffer(12, 2 * KIB, TANH)
    + buffer(13, 4, SUM)
)
ARGUMENT_AND_RESULT = allocation(1 * KIB, 10, marks={PARAMETER: 1}) + allocation(
    4, 13, marks={LIVE_OUT: 1}
)


@pytest.fixture
def peak_buffers_of(tmp_path):
    """Return a function that writes programs and returns what is held: bytes and count by kind."""

    def read(*buffers, programs=(PROGRAM,)):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(space(*programs, buffers=buffers))
        profile = with_peak_buffers(NO_PROFILE, read_programs(path, root=ROOT))
        return {
            (one.operator, one.tensor): (one.bytes, one.count, [line.line for line in one.lines])
            for one in profile.peak_tensors
        }

    return read


ALONE = {
    (ARGUMENT, "f32[16,16]"): (KIB, 1, []),
    ("reduce_sum", "f32[]"): (4, 1, []),
}


def test_a_program_holds_its_arguments_its_results_and_the_temporaries_of_its_peak(peak_buffers_of):
    simulation = trace((ALLOCATE, 11, 0), (ALLOCATE, 12, 0), (FREE, 11, 0), (FREE, 12, 0))

    peak_tensors = peak_buffers_of(
        BUFFERS + ARGUMENT_AND_RESULT + allocation(4 * KIB, 11, 12) + simulation
    )

    assert peak_tensors == ALONE | {
        ("dot_general", "f32[16,32]"): (2 * KIB, 1, [12]),
        ("tanh", "f32[16,32]"): (2 * KIB, 1, []),
    }


def test_memory_that_is_used_again_counts_once_for_its_latest_user(peak_buffers_of):
    simulation = trace((ALLOCATE, 11, 0), (FREE, 11, 0), (SHARE, 12, 11), (FREE, 12, 0))
    later = trace((ALLOCATE, 11, 0), (FREE, 11, 0), (ALLOCATE, 12, 0), (FREE, 12, 0))

    peak_tensors = peak_buffers_of(
        BUFFERS + ARGUMENT_AND_RESULT + allocation(2 * KIB, 11, 12) + simulation
    )
    in_turn = peak_buffers_of(BUFFERS + ARGUMENT_AND_RESULT + allocation(2 * KIB, 11, 12) + later)

    assert peak_tensors == in_turn == ALONE | {("dot_general", "f32[16,32]"): (2 * KIB, 1, [12])}


def test_a_buffer_that_joins_memory_in_use_keeps_it_until_the_last_user_is_done(peak_buffers_of):
    simulation = trace(
        *((ALLOCATE, 11, 0), (SHARE, 12, 11), (FREE, 11, 0), (ALLOCATE, 10, 0)),
        *((FREE, 12, 0), (FREE, 10, 0)),
    )

    peak_tensors = peak_buffers_of(BUFFERS + allocation(3 * KIB, 11, 12, 10) + simulation)

    assert peak_tensors == {
        ("tanh", "f32[16,32]"): (2 * KIB, 1, []),
        ("x", "f32[16,16]"): (KIB, 1, []),
    }


def test_memory_that_no_simulation_explains_has_no_name(peak_buffers_of):
    peak_tensors = peak_buffers_of(BUFFERS + ARGUMENT_AND_RESULT + allocation(4 * KIB, 11, 12))

    assert peak_tensors == ALONE | {(UNNAMED, ""): (4 * KIB, 1, [])}


def test_memory_between_the_buffers_has_no_name(peak_buffers_of):
    simulation = trace((ALLOCATE, 11, 0), (FREE, 11, 0))

    peak_tensors = peak_buffers_of(BUFFERS + allocation(3 * KIB, 11, 12) + simulation)

    assert peak_tensors == {
        ("dot_general", "f32[16,32]"): (2 * KIB, 1, [12]),
        (UNNAMED, ""): (KIB, 1, []),
    }


def test_a_buffer_of_an_unknown_instruction_and_the_memory_beside_it_are_one_kind(peak_buffers_of):
    peak_tensors = peak_buffers_of(BUFFERS + buffer(14, KIB, 99) + allocation(4 * KIB, 14))

    assert peak_tensors == {(UNNAMED, ""): (4 * KIB, 2, [])}


@pytest.mark.parametrize("marks", [{THREAD_LOCAL: 1}, {MEMORY: 5}])
def test_memory_of_a_thread_or_of_another_kind_is_not_the_devices(peak_buffers_of, marks):
    assert (
        peak_buffers_of(BUFFERS + ARGUMENT_AND_RESULT + allocation(KIB, 11, marks=marks)) == ALONE
    )


def test_of_several_programs_the_one_with_most_memory_counts(peak_buffers_of):
    small = BUFFERS + allocation(KIB, 10, marks={PARAMETER: 1})
    large = BUFFERS + allocation(2 * KIB, 11)

    peak_tensors = peak_buffers_of(small, large, programs=(PROGRAM, PROGRAM))

    assert peak_tensors == {("dot_general", "f32[16,32]"): (2 * KIB, 1, [12])}


def test_with_a_program_whose_buffers_are_unknown_nothing_is_said(peak_buffers_of):
    assert peak_buffers_of(BUFFERS + ARGUMENT_AND_RESULT, programs=(PROGRAM, PROGRAM)) == {}


def test_with_programs_that_cannot_be_read_or_are_too_many_nothing_is_said(
    peak_buffers_of, monkeypatch
):
    sound = BUFFERS + ARGUMENT_AND_RESULT
    assert peak_buffers_of(sound, sound, programs=(PROGRAM, PROGRAM)) == ALONE
    assert peak_buffers_of(sound, sound, programs=(PROGRAM, b"\x07")) == {}

    monkeypatch.setattr(hlo_programs, "MAX_INSTRUCTIONS", 4)  # those of one program

    assert peak_buffers_of(sound) == ALONE
    assert peak_buffers_of(sound, sound, programs=(PROGRAM, PROGRAM)) == {}


def test_a_result_whose_shape_cannot_be_read_leaves_the_profile_as_it_is(peak_buffers_of):
    one = instruction("x", opcode="parameter", key=X, result=b"\x07")

    assert (
        peak_buffers_of(BUFFERS + ARGUMENT_AND_RESULT, programs=(program(computation(1, one)),))
        == {}
    )


@given(st.data())
def test_an_assignment_with_other_bytes_in_it_holds_possible_sizes_or_nothing(
    tmp_path_factory, data
):
    simulation = trace((ALLOCATE, 11, 0), (SHARE, 12, 11), (FREE, 11, 0), (FREE, 12, 0))
    sound = bytearray(BUFFERS + ARGUMENT_AND_RESULT + allocation(4 * KIB, 11, 12) + simulation)
    for _ in range(data.draw(st.integers(1, 3))):
        sound[data.draw(st.integers(0, len(sound) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "host.xplane.pb"
    path.write_bytes(space(PROGRAM, buffers=(bytes(sound),)))

    profile = with_peak_buffers(NO_PROFILE, read_programs(path, root=ROOT))

    assert all(0 < one.bytes < 2**62 and one.count > 0 for one in profile.peak_tensors)


# PrimitiveType of xla/xla_data.proto.
TYPES = """
pred 1 s8 2 s16 3 s32 4 s64 5 u8 6 u16 7 u32 8 u64 9 f16 10 f32 11 f64 12 c64 15 bf16 16 c128 18
f8e5m2 19 f8e4m3fn 20 s4 21 u4 22 f8e4m3b11fnuz 23 f8e5m2fnuz 24 f8e4m3fnuz 25
"""
NAMED_TYPES = list(zip(TYPES.split()[::2], TYPES.split()[1::2], strict=True))


@pytest.mark.parametrize(("name", "number_of_type"), NAMED_TYPES)
def test_a_tensor_has_the_name_of_its_type(peak_buffers_of, name, number_of_type):
    result = shape(2, 3, kind=int(number_of_type))
    one = program(computation(1, instruction("a", opcode="parameter", key=X, result=result)))

    peak_tensors = peak_buffers_of(
        BUFFERS + allocation(KIB, 10, marks={PARAMETER: 1}), programs=(one,)
    )

    assert [tensor for _, tensor in peak_tensors] == [f"{name}[2,3]"]


def test_a_buffer_of_no_bytes_is_not_held_and_one_of_a_byte_is(peak_buffers_of):
    sizes = buffer(10, 1, X) + buffer(11, 0, DOT)
    allocations = allocation(1, 10, marks={LIVE_OUT: 1}) + allocation(0, 11, marks={LIVE_OUT: 1})

    assert peak_buffers_of(sizes + allocations) == {("x", "f32[16,16]"): (1, 1, [])}


MODEL_TEXT = """
import jax

def make():
    values, weight = jax.numpy.ones((64, 512)), jax.numpy.ones((512, 2048))

    def layer(one):
        wide = one @ weight
        return jax.numpy.sort(wide, axis=1) @ wide.T

    function = jax.jit(layer)
    return lambda: function(values)
"""


@pytest.mark.slow(ci_only=True)
def test_a_recorded_program_names_its_largest_temporaries_and_their_lines(tmp_path):
    trace_file = recorded_steps(tmp_path, MODEL_TEXT)
    profile = with_peak_buffers(
        read_xplane(trace_file, workload="m:f", side=Side.HEAD),
        read_programs(trace_file, root=tmp_path),
    )

    wide = [one for one in profile.peak_tensors if one.tensor == "f32[64,2048]"]
    assert sum(one.bytes for one in wide) >= 64 * 2048 * 4
    assert {line.line for one in wide for line in one.lines} <= {8, 9}
    assert any(one.lines for one in wide)
