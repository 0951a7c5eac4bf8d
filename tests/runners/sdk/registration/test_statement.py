"""Statements as `timeit` takes them, compiled into a set-up and a step."""

import traceback
from pathlib import Path

import pytest

from perfledger.registration.statement import STATEMENT_FILE, Statement, statement_function

FILE = str(Path("/somewhere") / STATEMENT_FILE)


def step(text, set_up="", repeats=1):
    return statement_function(Statement(text=text, set_up=set_up, repeats=repeats), FILE)()


@pytest.mark.parametrize("repeats", [1, 7])
@pytest.mark.parametrize(
    ("text", "set_up", "value"),
    [
        ("1 + 1", "", 2),
        ("x = 3; x * 2", "", 6),
        ("x * factor", "x = 4; factor = 2", 8),
        ("import math; math.floor(2.5)", "import math", 2),
        ("pass", "", None),
        ("# nothing at all", "", None),
        ("text = '''a\n  b'''\ntext", "", "a\n  b"),
        ("f(2)", "def f(x):\n    return x + 1\n", 3),
    ],
)
def test_a_step_returns_what_its_statement_is_worth(text, set_up, value, repeats):
    assert step(text, set_up, repeats)() == value


def test_a_step_runs_its_statement_as_often_as_asked_for():
    count = step("n += 1; n", "n = 0", repeats=5)

    assert [count(), count()] == [5, 10]


def test_each_set_up_has_variables_of_its_own():
    function = statement_function(Statement(text="n += 1; n", set_up="n = 0"), FILE)

    assert [function()(), function()()] == [1, 1]


@pytest.mark.parametrize(
    ("text", "line"), [("1 +", 3), ("return 1", 3), ("yield 1", 3), ("\nbreak", 4)]
)
def test_what_python_refuses_is_an_error_with_its_line(text, line):
    with pytest.raises(SyntaxError) as failure:
        step(text, "a = 1\nb = 2")

    assert failure.value.lineno == line


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_traceback_shows_the_lines_of_set_up_and_statement(repeats):
    failing = step("halve(0)", "def halve(x):\n    return 1 / x\n", repeats)

    with pytest.raises(ZeroDivisionError) as failure:
        failing()

    frames = traceback.extract_tb(failure.value.__traceback__)[1:]
    assert [(frame.filename, frame.line) for frame in frames] == [
        (FILE, "halve(0)"),
        (FILE, "return 1 / x"),
    ]
