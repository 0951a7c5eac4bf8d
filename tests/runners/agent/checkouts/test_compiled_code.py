"""Sources in C are compared without their comments."""

import pytest

from perfledger_runners.checkouts.compiled_code import (
    MAX_SOURCE_BYTES,
    has_same_code,
    is_same_c_code,
)
from perfledger_runners.checkouts.git import git

SOURCE = b'#define N 4 // four\nint f(int a) { return a * N; } /* times\nfour */\nchar *s = "//";\n'


@pytest.mark.parametrize(
    "head",
    [
        SOURCE,
        SOURCE.replace(b"four", b"4"),
        SOURCE.replace(b" // four", b""),
        SOURCE.replace(b"int f", b"// Returns a times N.\n\n  int\tf"),
        SOURCE.replace(b"// four", b"// four \\\n and more"),
        SOURCE.replace(b"\n", b"\r\n"),
        b"// Copyright\n/* of all */\n" + SOURCE,
    ],
)
def test_comments_and_the_amount_of_space_do_not_count(head):
    assert is_same_c_code(SOURCE, head)
    assert is_same_c_code(head, SOURCE)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (SOURCE, SOURCE.replace(b"a * N", b"a + N")),
        (b'char *s = "/* a */";', b'char *s = "/* b */";'),
        (b'char *s = "\\"//a";', b'char *s = "\\"//b";'),
        (b'char c = \'"\'; f("//a");', b'char c = \'"\'; f("//b");'),
        (b'auto s = R"x(" // a)x";', b'auto s = R"x(" // b)x";'),
        (b"f(1'000, \"a'b//\", a);", b"f(1'000, \"a'b//\", b);"),
        (b"f(u8'a', u8\"'//a\");", b"f(u8'a', u8\"'//b\");"),
        (b"#define A b\nc", b"#define A b c"),
        (b"#define A (b)", b"#define A(b)"),
        (b"#define A b // \\\nc\nd", b"#define A b //\nc\nd"),
        (b"a = b /c; // *x\n", b"a = b /c; /* *x\n */ d;"),
        (b"int ab;", b"int a/**/b;"),
        (b"// cppimport: -O0\nint a;", b"// cppimport: -O3\nint a;"),
        (b"/* <% cfg['a'] = '-O0' %> */ int a;", b"/* <% cfg['a'] = '-O3' %> */ int a;"),
        (b"#include <a//b.h>\nint a;", b"#include <a//c.h>\nint a;"),
        (b"# include <a/*b.h>\nint a; //*/", b"# include <a/*c.h>\nint a; //*/"),
        (b"x" * MAX_SOURCE_BYTES + b"yy // a", b"x" * MAX_SOURCE_BYTES + b"yy // b"),
    ],
)
def test_code_and_what_may_be_code_count(base, head):
    assert not is_same_c_code(base, head)


def test_objects_of_a_repository_are_compared_by_their_hashes(tmp_path):
    git(tmp_path, "init", "--quiet")
    texts = ("int a; // one\n", "int a; // two\n", "int b; // two\n")
    for name, text in zip("abc", texts, strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    one, two, other = git(tmp_path, "hash-object", "-w", *"abc").decode().split()

    assert has_same_code(tmp_path, "csrc/a.cu", one, two)
    assert not has_same_code(tmp_path, "csrc/a.cu", one, other)
    assert not has_same_code(tmp_path, "csrc/a.rs", one, two)
    assert not has_same_code(tmp_path, "csrc/a.cu", one, "0" * 40)
