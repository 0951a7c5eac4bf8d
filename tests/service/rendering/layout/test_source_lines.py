"""How lines of the user's code are shown."""

from perfledger.profile import CallingLine
from perfledger_service.rendering.layout.source_lines import SourceLine, source_lines


def test_a_line_says_what_it_does_and_whether_it_changed():
    line = CallingLine(path="a.py", line=3, calls=1.0)
    changed = CallingLine(path="b.py", line=4, calls=1.0, is_backward=True, is_changed=True)

    assert source_lines([line, changed]) == (
        SourceLine(text="a.py:3", remark=""),
        SourceLine(text="b.py:4", remark="its backward pass, changed on head"),
    )


def test_without_lines_on_head_those_of_base_say_so():
    line = CallingLine(path="a.py", line=3, calls=1.0)
    backward = CallingLine(path="a.py", line=4, calls=1.0, is_backward=True)

    assert source_lines((), base_lines=(line, backward)) == (
        SourceLine(text="a.py:3", remark="on base", is_on_head=False),
        SourceLine(text="a.py:4", remark="on base, its backward pass", is_on_head=False),
    )
    assert source_lines((backward,), base_lines=(line,)) == source_lines((backward,))
