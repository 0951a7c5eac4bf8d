import pytest
from hypothesis import given, strategies as st

from perfledger_service.rendering.layout.short_name import short_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::mm", "aten::mm"),
        ("volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn"),
        ("(outside operations)", "(outside operations)"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
        ("void kernel<float, (Mode)1>(float*, int)", "kernel<float, (Mode)1>"),
        ("void cub::Sum(int const*)", "cub::Sum"),
        ("at::(anonymous namespace)::Cat<4>(int)", "at::(anonymous namespace)::Cat<4>"),
        ("enumerate(DataLoader)#_Iter.__next__", "enumerate(DataLoader)#_Iter.__next__"),
        ("jit(f)/jit(main)/dot", "jit(f)/jit(main)/dot"),
        ("void ns::Pointer::operator->(int)", "ns::Pointer::operator->"),
        ("aten::bmm (+25)", "aten::bmm (+25)"),
        ("void cub::Sum(int const*) (+3)", "cub::Sum (+3)"),
        ("aten::op10 (+9): float became double", "aten::op10 (+9): float became double"),
    ],
)
def test_a_function_of_cpp_loses_its_parameters_and_nothing_else_does(name, expected):
    assert short_name(name) == expected


@given(st.text(alphabet="ab<>(): ->", max_size=30))
def test_a_short_name_is_a_part_of_the_name(name):
    short = short_name(name)

    assert short in name
    assert short or name in ("", "void ")
