"""Runs git, always without a shell."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from perfledger.rounding import integer

# Enough for a checkout with large files on a slow disk; credential prompts are disabled.
GIT_TIMEOUT_S = 600.0
# Hooks and file-system monitors are the repository author's programs, so none of them runs.
NO_PROGRAMS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
# A user's `color.ui=always` puts escapes around names in lists too.
NO_COLOURS = tuple(
    word for name in ("ui", "diff", "grep") for word in ("-c", f"color.{name}=false")
)
# Set by git if it calls perfledger from a hook: they would refer to another repository or index.
FOREIGN_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
MAX_MESSAGE = 2000


class RepositoryError(Exception):
    """A problem of the git repository that prevents measuring it."""


class GitFailedError(RepositoryError):
    """A failed git command; `status` is its exit status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


def git(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    standard_input: bytes = b"",
) -> bytes:
    """Run git in `folder` and return its output.

    Raises GitFailedError with git's message, RepositoryError without git or after a timeout.
    """
    try:
        done = subprocess.run(  # noqa: S603 - an argument list, and no argument is ever a shell's
            ["git", *NO_PROGRAMS, *NO_COLOURS, "-C", str(folder), *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            input=standard_input,
            env=_environment() | dict(environment or {}),
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        msg = "git is not installed, or not on PATH: install it"
        raise RepositoryError(msg) from error
    except subprocess.TimeoutExpired as error:
        msg = f"git {arguments[0]} did not end within {integer(GIT_TIMEOUT_S)} s in {folder}"
        raise RepositoryError(msg) from error
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip()[:MAX_MESSAGE]
        msg = f"git {arguments[0]} failed in {folder}: {words or 'no message'}"
        raise GitFailedError(msg, status=done.returncode)
    return done.stdout


def _environment() -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    return variables | {
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "GIT_LITERAL_PATHSPECS": "1",
        # What `git replace` puts in an object's place is known to this clone alone.
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
