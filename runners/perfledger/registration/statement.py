"""Makes a step from a statement and its set-up, which are written as for `timeit`."""

import ast
import linecache
import symtable
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Final, cast

# The file that a traceback names: the set-up's lines, then the statement's.
STATEMENT_FILE: Final = "<statement>"
NAME: Final = "statement"  # of the module and of the function
# The step's body and its loop are replaced.
FUNCTION = """
def statement():
    def step():
        for _perfledger_repeat in _perfledger_repeated(None, {repeats}):
            pass
    return step
"""
RESULT = "_perfledger_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement, its set-up, and how often one step runs the statement in a loop."""

    text: str = "pass"
    set_up: str = ""
    repeats: int = 1


def statement_function(statement: Statement, file_name: str) -> Callable[[], Callable[[], object]]:
    """Return a function that runs the set-up and returns the step.

    The step returns the value of the statement if that is an expression, so that the clock can wait
    for what a device computes. Both are compiled in one function: their names are local variables,
    the fastest that Python has. Raises SyntaxError.
    """
    before = statement.set_up.splitlines()
    lines = [f"{line}\n" for line in (*before, *statement.text.splitlines())]
    linecache.cache[file_name] = (sum(map(len, lines)), None, lines, file_name)
    set_up = _statements_of(statement.set_up, file_name, first_line=1)
    body = _statements_of(statement.text, file_name, first_line=len(before) + 1)
    shared = sorted(_bound_names(statement.set_up) & _bound_names(statement.text))
    tree = ast.parse(FUNCTION.format(repeats=statement.repeats), file_name)
    function = cast("ast.FunctionDef", tree.body[0])
    step = cast("ast.FunctionDef", function.body[0])
    function.body[:1] = [*set_up, step]
    loop = cast("ast.For", step.body[0])
    steps = _loop_over(body, loop) if statement.repeats > 1 else _with_return(body)
    step.body = [*([ast.Nonlocal(shared)] if shared else []), *steps]
    code = compile(ast.fix_missing_locations(tree), file_name, "exec")
    namespace: dict[str, object] = {"__name__": NAME, "_perfledger_repeated": repeat}
    exec(code, namespace)  # noqa: S102 - to run it is what the user asks for
    return cast("Callable[[], Callable[[], object]]", namespace[NAME])


def _statements_of(text: str, file_name: str, *, first_line: int) -> list[ast.stmt]:
    """Return the statements of a text that starts on line `first_line` of the file."""
    padded = "\n" * (first_line - 1) + text
    compile(padded, file_name, "exec")  # refuses `return` and `yield`, as timeit does
    return ast.parse(padded, file_name).body


def _with_return(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the body, changed to return the value of its last statement if it has one."""
    if body and isinstance(body[-1], ast.Expr):
        return [*body[:-1], ast.Return(body[-1].value)]
    return body or [ast.Pass()]


def _loop_over(body: list[ast.stmt], loop: ast.For) -> list[ast.stmt]:
    """Return the loop over the body, and a return of its last value if it has one."""
    if body and isinstance(body[-1], ast.Expr):
        loop.body = [*body[:-1], ast.Assign([ast.Name(RESULT, ast.Store())], body[-1].value)]
        return [loop, ast.Return(ast.Name(RESULT, ast.Load()))]
    loop.body = body or [ast.Pass()]
    return [loop]


def _bound_names(text: str) -> set[str]:
    """Return the names that a text binds; those bound by both parts are variables of the set-up."""
    symbols = symtable.symtable(text, STATEMENT_FILE, "exec").get_symbols()
    return {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}
