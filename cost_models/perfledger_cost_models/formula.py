"""Evaluates formula texts that mean the same in Python and in spreadsheets.

One text is written into the workbook, printed in the appendix and evaluated on 20,000 draws, so
that the three cannot differ. It has only names, numbers, + - * /, parentheses, and MAX, MIN and
POWER of two.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from perfledger_cost_models.arrays import FloatArray

MAX_CHARACTERS = 2000
MAX_CACHED_FORMULAS = 4096  # parsed ones; a review has some hundred

_OPERATIONS: Mapping[type[ast.operator], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}
_FUNCTIONS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "MAX": np.maximum,
    "MIN": np.minimum,
    "POWER": np.power,
}


class FormulaError(ValueError):
    """An error for a formula that cannot be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaLine:
    """One computed figure: its name, its label, its unit and its formula."""

    name: str
    label: str
    unit: str
    formula: str


def value_of(formula: str, values: Mapping[str, FloatArray]) -> FloatArray:
    """Evaluate a formula; raise FormulaError for a syntax that is not allowed."""
    return _evaluate(_parse(formula), values)


@lru_cache(maxsize=MAX_CACHED_FORMULAS)
def _parse(formula: str) -> ast.expr:
    if len(formula) > MAX_CHARACTERS:
        msg = f"a formula has {len(formula)} characters, limit {MAX_CHARACTERS}: split it"
        raise FormulaError(msg)
    try:
        return ast.parse(formula, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        msg = f"the formula {formula[:80]!r} cannot be read: {error}"
        raise FormulaError(msg) from error


def _evaluate(node: ast.expr, values: Mapping[str, FloatArray]) -> FloatArray:
    match node:
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return np.array([float(number)])
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
            return _OPERATIONS[type(operation)](_evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if (
            name in _FUNCTIONS
        ):
            return _FUNCTIONS[name](_evaluate(left, values), _evaluate(right, values))
        case _:
            msg = (
                f"a formula contains {ast.unparse(node)[:80]!r}: use known names, numbers, "
                "+ - * /, MAX, MIN and POWER"
            )
            raise FormulaError(msg)
