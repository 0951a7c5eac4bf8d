"""Finds the modules that a repository's files import and its environment does not have."""

import ast
import re
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

# At the left margin: what a function or a `try` imports may be optional.
IMPORT = re.compile(r"^(?:import|from)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
# The interpreter, and what the agent adds to the import path.
ALWAYS_THERE = frozenset({"__future__", "__main__", "perfledger"})
# A cold start from a network file system is slow; anything slower is broken.
ASK_TIMEOUT_S = 60.0
# Finding a module of the top level imports nothing.
PROGRAM = """
import json, sys
from importlib.util import find_spec
print(json.dumps([name for name in sys.argv[1:] if find_spec(name) is None]))
"""


def missing_modules(
    python: Path, texts: Mapping[str, str], *, paths: Collection[str]
) -> dict[str, str]:
    """Return the modules that Python files import and this Python lacks, each with its first file.

    A module with the name of a file or folder in `paths` is the repository's own. From a Python
    that does not answer nothing is known: none is missing.
    """
    own_names = {part for path in paths for part in PurePosixPath(path.removesuffix(".py")).parts}
    names = {name for text in texts.values() for name in IMPORT.findall(text)}
    missing_names = _missing_from(python, sorted(names - own_names - ALWAYS_THERE))
    if not missing_names:
        return {}
    # A line of prose in a docstring may look like an import.
    files = {name: path for path in sorted(texts, reverse=True) for name in _imports(texts[path])}
    return {name: files[name] for name in missing_names if name in files}


def _missing_from(python: Path, names: Collection[str]) -> tuple[str, ...]:
    if not names:
        return ()
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter of the repository's environment
            [str(python), "-I", "-c", PROGRAM, *names],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=ASK_TIMEOUT_S,
            check=True,
        )
        return msgspec.json.decode(done.stdout, type=tuple[str, ...])
    except (OSError, msgspec.DecodeError, subprocess.SubprocessError):
        return ()


def _imports(text: str) -> Iterator[str]:
    """Yield the modules of the top level that a file imports first of all."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    for statement in statements:
        match statement:
            case ast.Import(names=aliases):
                yield from (alias.name.partition(".")[0] for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case _:
                pass
