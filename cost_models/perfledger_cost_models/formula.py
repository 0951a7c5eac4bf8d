"""A formula's text into its value: the very text that a spreadsheet computes with.

What is written into a workbook, printed in an appendix and drawn 20,000 times is one text, so that
the three cannot differ. It has only what Python and spreadsheets read alike: names, numbers,
+ - * /, parentheses, MAX and MIN of two.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from perfledger_cost_models.draws import FloatArray

MAX_CHARACTERS = 2000

_OPERATIONS: Mapping[type[ast.operator], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}
_FUNCTIONS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "MAX": np.maximum,
    "MIN": np.minimum,
}


class FormulaError(ValueError):
    """A formula that cannot be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One computed figure: its name, what it is in words, its unit and its formula."""

    name: str
    words: str
    unit: str
    formula: str


def value_of(formula: str, values: Mapping[str, FloatArray]) -> FloatArray:
    """Return what a formula comes to; raises FormulaError for what it must not hold."""
    return _value(_parsed(formula), values)


@lru_cache(maxsize=4096)
def _parsed(formula: str) -> ast.expr:
    if len(formula) > MAX_CHARACTERS:
        msg = f"a formula of {len(formula)} characters: split it"
        raise FormulaError(msg)
    try:
        return ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        msg = f"the formula {formula[:80]!r} cannot be read: {error}"
        raise FormulaError(msg) from error


def _value(node: ast.expr, values: Mapping[str, FloatArray]) -> FloatArray:
    match node:
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return np.array([float(number)])
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return _OPERATIONS[type(operation)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if (
            name in _FUNCTIONS
        ):
            return _FUNCTIONS[name](_value(left, values), _value(right, values))
        case _:
            msg = f"a formula holds {ast.unparse(node)[:80]!r}: no name, number, + - * / MAX MIN"
            raise FormulaError(msg)
