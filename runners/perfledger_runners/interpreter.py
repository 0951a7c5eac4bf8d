"""A repository and its configuration in, the Python that its workloads run in out."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

OLDEST_PYTHON = (3, 11)
# A cold start from a network file system is slow; one that takes longer is broken.
ASK_TIMEOUT_S = 60.0
# Understood by every Python, so that one that is too old can say so.
QUESTION = "import sys; sys.stdout.write('%d.%d.%d' % tuple(sys.version_info[:3]))"


class InterpreterError(Exception):
    """No interpreter to run the workloads in, or one that is too old: why is Why.PYTHON."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The user's Python: its path, not resolved (a link is what makes a venv), and version."""

    path: Path
    version: tuple[int, int, int]


def find_python(root: Path, configured: str = "") -> Interpreter:
    """Return the configured Python, else root/.venv/bin/python, else the one running perfledger.

    `root` is the user's own checkout, which holds the environment; a relative `configured` is below
    it. Raises InterpreterError.
    """
    path = _choose(root, configured)
    version = _ask_version(path)
    if version[:2] < OLDEST_PYTHON:
        found, oldest = (".".join(map(str, each)) for each in (version, OLDEST_PYTHON))
        msg = f"Python too old: {path} is {found}, workloads need {oldest} or newer"
        raise InterpreterError(msg)
    return Interpreter(path, version)


def _choose(root: Path, configured: str) -> Path:
    if configured:
        return root / Path(configured).expanduser()
    own = root / ".venv" / "bin" / "python"
    return own if own.exists() else Path(sys.executable)


def _ask_version(path: Path) -> tuple[int, int, int]:
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user configured
            [str(path), "-E", "-c", QUESTION],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=ASK_TIMEOUT_S,
            check=True,
        )
        major, minor, micro = (int(part) for part in done.stdout.split(b"."))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        msg = f"{path} does not answer as a Python interpreter ({error}): set `python` to one"
        raise InterpreterError(msg) from error
    return major, minor, micro
