"""The lines with the most of a cause's time."""

from dataclasses import replace

from perfledger.profile import CallingLine
from perfledger_profiles.diff.lines import longest_lines


def line(number, calls=1.0, **more):
    return CallingLine(path="m.py", line=number, calls=calls, **more)


def test_an_operations_time_is_divided_among_its_lines_by_calls(make):
    long = replace(make.operation("a", 4.0), lines=(line(1, calls=3.0), line(2)))
    short = replace(make.operation("b", 2.5), lines=(line(2), line(9, calls=4.0)))

    ranked = longest_lines([short, long, make.operation("c", 9.0)])

    assert [(one.line, one.calls) for one in ranked] == [(1, 3.0), (9, 4.0), (2, 2.0)]


def test_a_line_is_listed_once_and_is_backward_only_if_all_of_it_is(make):
    forward = replace(make.operation("a", 1.0), lines=(line(1), line(2, is_backward=True)))
    backward = replace(
        make.operation("b", 2.0), lines=(line(1, is_backward=True), line(2, is_backward=True))
    )

    ranked = longest_lines([forward, backward])

    assert {one.line: one.is_backward for one in ranked} == {1: False, 2: True}


def test_a_changed_line_stays_changed(make):
    operations = [
        replace(make.operation(name, 1.0), lines=(line(1, is_changed=name == "b"),))
        for name in "ab"
    ]

    (only,) = longest_lines(operations)

    assert only.is_changed


def test_at_most_three_lines_are_named_and_none_without(make):
    many = replace(make.operation("a", 1.0), lines=tuple(map(line, range(1, 9))))

    assert [one.line for one in longest_lines([many])] == [1, 2, 3]
    assert longest_lines([make.operation("a", 1.0)]) == ()
