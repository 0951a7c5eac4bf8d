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
