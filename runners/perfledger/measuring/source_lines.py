"""Keeps source lines for tracebacks, so that these read no file that the agent watches.

The agent watches files' access times to see whether code reads its own text. torch formats the
stack whenever something is called before CUDA is initialised, which reads the text of every file on
the stack, and keeps it for an error message. Such a line is given without reading the file.
"""

import linecache
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


class SourceLines(list[str]):
    """The lines of a file: getting single lines reads nothing, any other use reads the file."""

    def __init__(self, path: Path, lines: Iterable[str]) -> None:
        super().__init__(lines)
        self._path = path

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401 - list's own two overloads
        """Return a line, or a slice of the text, which `inspect.getsource` takes."""
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
    """Put the lines of files below `root` into tracebacks' cache, without changing access times."""
    for path in (root / path for path in paths):
        with suppress(OSError, SyntaxError, UnicodeError):
            facts = path.stat()
            lines = linecache.getlines(str(path))
            if lines:
                os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
                entry = (facts.st_size, facts.st_mtime, SourceLines(path, lines), str(path))
                linecache.cache[str(path)] = entry
