import pytest
from hypothesis import given, settings, strategies as st

from perfledger_profiles.parsing.safe_names import MAX_NAME, clean_name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("aten::mm", "aten::mm"),
        ("/home/ann/lab/train.py(12): step", "train.py(12): step"),
        (r"C:\Users\ann\lab\train.py", "train.py"),
        ("<built-in> '/opt/venv/lib/x.so'", "<built-in> 'x.so'"),
        ("/home/ann", "~"),
        ("jit(f)/jit(main)/dot_general", "jit(f)/jit(main)/dot_general"),
        ("transpose(jvp(f))/while/body/add", "transpose(jvp(f))/while/body/add"),
        ("aten::conv2d/aten::convolution", "aten::conv2d/aten::convolution"),
        ("a / b", "a / b"),
        ("void f<int>(int)\r\n", "void f<int>(int)"),
        ("red\x1b[0m\u202etxt\u2028\ud800", "red[0mtxt"),
        ("\x00\x01", "(unnamed)"),
        ("", "(unnamed)"),
    ],
)
def test_a_name_says_what_ran_and_not_where_or_by_whom(name, text):
    assert clean_name(name) == text


def test_a_name_is_cut():
    assert clean_name("x" * 10_000) == "x" * MAX_NAME


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_any_name_becomes_one_printable_line_that_stays_as_it_is(text):
    name = clean_name(text)

    assert 0 < len(name) <= MAX_NAME
    assert len(name.splitlines()) == 1
    assert name.encode().decode() == name
