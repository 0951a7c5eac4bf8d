"""Keeps the lines of sources for tracebacks, so that these read no file that the agent watches.

The agent sees by a file's time of access whether code reads its own text. torch formats the stack
whenever something is called before CUDA is, which reads the text of every file on the stack, and
keeps it for an error message. Such a line is given without reading the file.
"""

import linecache
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


class SourceLines(list[str]):
    """The lines of a file: single ones are free, and any other use of the text reads the file."""

    def __init__(self, path: Path, lines: Iterable[str]) -> None:
        super().__init__(lines)
        self._path = path

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401 - list's own two overloads
        """Return a line, or a part of the text, as `inspect.getsource` takes it."""
        if not isinstance(place, int):
            self._read()
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over all lines."""
        self._read()
        return super().__iter__()

    def _read(self) -> None:
        with suppress(OSError):
            self._path.read_bytes()


def keep_lines(root: Path, paths: Iterable[str]) -> None:
    """Put the lines of files below `root` into the cache that tracebacks use, without reading."""
    for path in (root / path for path in paths):
        with suppress(OSError, SyntaxError, UnicodeError):
            facts = path.stat()
            lines = linecache.getlines(str(path))
            if lines:
                os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
                entry = (facts.st_size, facts.st_mtime, SourceLines(path, lines), str(path))
                linecache.cache[str(path)] = entry
