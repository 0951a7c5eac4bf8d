"""What a workload raised becomes a reason and a sentence."""

import errno
import os
import traceback
from pathlib import Path

from perfledger.records import Why

MAX_DETAIL_LENGTH = 2_000  # a message may hold a whole tensor
# torch on the CPU and CUDA, XLA; the last is the C library's word, which extensions pass on.
OUT_OF_MEMORY_WORDS = (
    "out of memory",
    "can't allocate memory",
    "RESOURCE_EXHAUSTED",
    "Cannot allocate memory",
)


class UnmeasurableError(Exception):
    """A workload cannot be measured, for a reason that the harness found out itself."""

    def __init__(self, why: Why, detail: str) -> None:
        super().__init__(detail)
        self.why = why
        self.detail = detail


def why_of(error: BaseException) -> Why:
    """Return the reason that what was raised stands for."""
    match error:
        case UnmeasurableError():
            return error.why
        case MemoryError():
            return Why.OUT_OF_MEMORY
        case OSError() if error.errno == errno.ENOMEM:
            return Why.OUT_OF_MEMORY
        case RuntimeError() if any(words in text_of(error) for words in OUT_OF_MEMORY_WORDS):
            return Why.OUT_OF_MEMORY
        case _:
            return Why.RAISED


def detail_of(error: BaseException, *, root: Path) -> str:
    """Return what was raised and where in the user's code, in one short text."""
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
    text = text_of(error).replace(f"{root}{os.sep}", "")  # the worktree's folder is nobody's news
    return f"{type(error).__name__}: {text}".removesuffix(": ")[:MAX_DETAIL_LENGTH] + where


def text_of(error: BaseException) -> str:
    """Return the error's own words, even when it cannot say them."""
    try:
        return str(error)
    except Exception:  # a door: the user's __str__ may raise anything
        return "(its text could not be had)"
