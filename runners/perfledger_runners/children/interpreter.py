"""Finds the Python interpreter for a repository's workloads."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST_PYTHON = (3, 11)
# A cold start from a network file system is slow; anything slower is broken.
ASK_TIMEOUT_S = 60.0
# Runs in every Python, so that an old one can report its version.
CONDA_RECORDS = "conda-meta"  # conda's folder of records on installed packages
VERSION_PROGRAM = "import sys; sys.stdout.write('%d.%d.%d' % tuple(sys.version_info[:3]))"


class InterpreterError(Exception):
    """A missing or too old interpreter; its failure reason is FailureReason.PYTHON."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The user's Python: its version and its path, unresolved because a venv's is a link."""

    path: Path
    version: tuple[int, int, int]

    @property
    def prefix(self) -> Path:
        """Return the folder of the interpreter's environment."""
        return self.path.parent.parent


def find_python(root: Path, configured: str = "") -> Interpreter:
    """Return the configured Python, else root/.venv/bin/python, else perfledger's own.

    `root` is the user's checkout, which contains the environment; a relative `configured` is below
    it. Raises InterpreterError.
    """
    path = _choose(root, configured)
    version = _ask_version(path)
    if version[:2] < OLDEST_PYTHON:
        actual, oldest = (".".join(map(str, each)) for each in (version, OLDEST_PYTHON))
        msg = f"{path} is Python {actual}, which is too old: workloads need {oldest} or newer"
        raise InterpreterError(msg)
    return Interpreter(path, version)


def environment_python(folder: Path) -> Path:
    """Return the interpreter of a virtual environment."""
    return folder / "bin" / "python"


def package_folders(environment: Path) -> tuple[str, ...]:
    """Return the folders of a virtual environment's own packages."""
    return tuple(sorted(map(str, environment.glob("lib/python*/site-packages"))))


def is_conda(environment: Path) -> bool:
    """Return whether conda, or another program that installs its packages, made an environment."""
    return (environment / CONDA_RECORDS).is_dir()


def activation(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an environment's activation sets."""
    path = (str(folder / "bin"), environment.get("PATH", os.defpath))
    conda = {"CONDA_PREFIX": str(folder)} if is_conda(folder) else {}
    return {"VIRTUAL_ENV": str(folder), "PATH": os.pathsep.join(path), **conda}


def _choose(root: Path, configured: str) -> Path:
    if configured:
        try:
            return root / Path(configured).expanduser()
        except RuntimeError as error:  # "~" of an unknown user, or without a home folder
            msg = f"{configured} names no home folder here: set `python` to a path without ~"
            raise InterpreterError(msg) from error
    python = environment_python(root / ".venv")
    return python if python.exists() else Path(sys.executable)


def _ask_version(path: Path) -> tuple[int, int, int]:
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user configured
            [str(path), "-E", "-S", "-c", VERSION_PROGRAM],  # runs nothing that is installed in it
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=ASK_TIMEOUT_S,
            check=True,
        )
        major, minor, micro = (int(part) for part in done.stdout.split(b"."))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        msg = f"{path} is not a working Python interpreter ({error}): set `python` to one"
        raise InterpreterError(msg) from error
    return major, minor, micro
