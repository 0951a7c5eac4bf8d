"""Compares the code of Python files, ignoring comments and blank lines."""

import ast
import re

# Generated files may be larger: they are compared byte by byte.
MAX_SOURCE_BYTES = 2 * 2**20
# Code that uses such a name may depend on the position of other code in its file, which comments
# move.
LINE_NAMES = re.compile(
    rb"lineno|co_lines|co_positions|linetable|lnotab|getframeinfo|getsource|linecache"
    rb"|traceback|extract_stack|extract_tb|findCaller|inspect\.stack"
)


def is_same_code(base: bytes, head: bytes) -> bool:
    """Return whether two sources have the same syntax tree, docstrings and all constants included.

    Sources that this Python cannot parse, or that are too large or too deep, are not the same.
    """
    if max(len(base), len(head)) > MAX_SOURCE_BYTES:
        return False
    try:
        return _tree(base) == _tree(head)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _tree(source: bytes) -> str:
    return ast.dump(ast.parse(source))
