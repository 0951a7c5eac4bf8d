"""Classifies what a workload raises as a failure reason, with a sentence."""

import errno
import os
import re
import traceback
from pathlib import Path

from perfledger.records import FailureReason

MAX_DETAIL_LENGTH = 2_000  # a message may contain a whole tensor
MAX_LINE = 300  # characters of an error within a sentence
# torch on the CPU and CUDA, XLA; the last is the C library's text, which extensions pass on.
OUT_OF_MEMORY_WORDS = (
    "out of memory",
    "can't allocate memory",
    "RESOURCE_EXHAUSTED",
    "Cannot allocate memory",
)


# Of sockets, SQLite, HDF5 and exclusive GPUs.
IN_USE_WORDS = (
    "ddress already in use",
    "EADDRINUSE",
    "database is locked",
    "unable to lock file",
    "busy or unavailable",
)
# In `flock` and `LOCK_NB`, but not in `block` and `clock`.
_LOCK = re.compile("(?<![bc])lock", re.IGNORECASE)


class UnmeasurableError(Exception):
    """A workload that the harness itself finds impossible to measure."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def failure_reason(error: BaseException) -> FailureReason:
    """Return the failure reason of an exception."""
    match error:
        case UnmeasurableError():
            return error.reason
        case _ if _is_out_of_memory(error):
            return FailureReason.OUT_OF_MEMORY
        case BlockingIOError() if _is_of_lock(error):
            return FailureReason.IN_USE
        case _ if any(words in text_of(error) for words in IN_USE_WORDS):
            return FailureReason.IN_USE
        case _:
            return FailureReason.RAISED


def _is_of_lock(error: BaseException) -> bool:
    """Return whether the line that raised an error asked for a lock that another process has.

    Sockets, pipes and forks without a free process raise the same error.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and _LOCK.search(frames[-1].line or "") is not None


def _is_out_of_memory(error: BaseException) -> bool:
    match error:
        case MemoryError():
            return True
        case OSError():
            return error.errno == errno.ENOMEM
        case RuntimeError():
            return any(words in text_of(error) for words in OUT_OF_MEMORY_WORDS)
        case _:
            return False


def detail_of(error: BaseException, *, root: Path) -> str:
    """Return an exception's type, text and source line."""
    if isinstance(error, UnmeasurableError):
        return error.detail
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(root)
    ]
    where = ""
    if frames:
        path = Path(frames[-1].filename).relative_to(root)
        where = f" ({path}:{frames[-1].lineno})"
    text = text_of(error).replace(f"{root}{os.sep}", "")  # without the worktree's folder
    return f"{type(error).__name__}: {text}".removesuffix(": ")[:MAX_DETAIL_LENGTH] + where


def text_of(error: BaseException) -> str:
    """Return an exception's text, or a substitute if it has none."""
    try:
        return str(error)
    except Exception:  # a boundary: the user's __str__ may raise anything
        return "(its text is not available)"


def error_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its text, shortened to MAX_LINE."""
    lines = text_of(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:MAX_LINE]
