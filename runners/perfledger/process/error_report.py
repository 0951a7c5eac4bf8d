"""Prints a workload's error: the user's own frames, with all others summed up in a line."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from traceback import FrameSummary, StackSummary, TracebackException
from typing import TextIO

from perfledger.process.module_origin import INSTALL_FOLDERS, OWN_FOLDER

# A chain of causes can have any length; the newest explain the error.
MAX_CAUSES = 5
HARNESS = "perfledger"
STANDARD_LIBRARY = "Python"


def print_error(error: BaseException, *, root: Path, file: TextIO) -> None:
    """Print an error with those frames of its traceback that are in the user's code below `root`.

    The innermost frame is shown wherever it is, unless it is perfledger's own. The last line counts
    the hidden frames.
    """
    report = TracebackException.from_exception(error)
    folded: Counter[str] = Counter()
    for link in _chain(report):
        link.stack = _fold(link.stack, root, folded)
    file.writelines(report.format())
    if folded:
        parts = ", ".join(f"{count} of {name}" for name, count in folded.most_common())
        file.write(f"(frames not shown: {parts})\n")


def _chain(report: TracebackException) -> Iterator[TracebackException]:
    """Yield the report and its causes."""
    waiting = [report]
    for _ in range(MAX_CAUSES):
        if not waiting:
            return
        link = waiting.pop(0)
        waiting += [cause for cause in (link.__cause__, link.__context__) if cause is not None]
        yield link


def _fold(frames: StackSummary, root: Path, folded: Counter[str]) -> StackSummary:
    """Return the frames to show, and count the others in `folded`."""
    kept_frames: list[FrameSummary] = []
    for number, frame in enumerate(frames, start=1):
        path = Path(frame.filename)
        owner = "" if path.is_relative_to(root) else _owner(path)
        if owner and (number < len(frames) or owner == HARNESS):
            folded[owner] += 1
            continue
        name = frame.filename if owner else str(path.relative_to(root))
        kept_frames.append(FrameSummary(name, frame.lineno, frame.name, line=frame.line))
    return StackSummary.from_list(kept_frames)


def _owner(path: Path) -> str:
    """Return the installed package that holds a file."""
    if path.is_relative_to(OWN_FOLDER.parent):
        return HARNESS
    parts = path.parts
    places = [index for index, part in enumerate(parts[:-1]) if part in INSTALL_FOLDERS]
    return Path(parts[places[-1] + 1]).stem if places else STANDARD_LIBRARY
