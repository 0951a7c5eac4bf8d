"""Records which functions of given lines a step calls."""

import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

# First and last line of a function, from 1.
Lines = tuple[int, int]


class CallRecorder:
    """A recorder of the calls of functions, which a file below `root` defines in these lines.

    It counts each function once, in all threads that begin while it records. What compiled code or
    other processes call is not seen.
    """

    def __init__(self, *, root: Path, functions: Mapping[str, Sequence[Lines]]) -> None:
        self._lines = {str(root / path): tuple(lines) for path, lines in functions.items()}
        self._called: dict[CodeType, bool] = {}

    @property
    def calls(self) -> int:
        """Return how many of the functions were called."""
        return sum(self._called.values())

    @contextmanager
    def recording(self) -> Generator[None]:
        """Record from now until the end; another profiler of Python's is put back then."""
        before = sys.getprofile()
        threading.setprofile(self._hear)
        sys.setprofile(self._hear)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(before)

    def _hear(self, frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG002 - Python's
        code = frame.f_code
        if event != "call" or code in self._called:
            return
        lines = self._lines.get(code.co_filename, ())
        self._called[code] = any(first <= code.co_firstlineno <= last for first, last in lines)
