"""Records what torch.compile and jax.jit log of their compilations: breaks, guards and retraces.

Both write the reason to their own loggers. Our handler reads it there, with nothing else of the
records lost or printed: the loggers' settings are restored.
"""

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from perfledger.compile_record import CompilationKind

# The loggers of torch's artifact "graph_breaks", by the module that writes to them.
GRAPH_BREAKS = tuple(
    f"torch._dynamo.{module}.__graph_breaks" for module in ("symbolic_convert", "convert_frame")
)
RETRACES = ("jax._src.interpreters.partial_eval",)
MAX_REASON = 300  # characters
MAX_ROWS = 50  # the functions that were compiled most often
MAX_MESSAGES = 1000  # read; creating a model's first arrays logs some hundred

_BREAK = re.compile(r"Graph break.* in user code at (?P<path>.+):(?P<line>\d+)\n")
_BREAK_REASON = re.compile(r"Graph Break Reason: (.+)")
_EXPLANATION = re.compile(r"Explanation: (.+)")
_MISS = re.compile(r"TRACING CACHE MISS at (?P<path>.+?):(?P<line>\d+)(?::\d+)? \(")
_TRACED = re.compile(r"^\s+(?:for (?P<known>\S+)|(?P<unseen>\S+) id=\d+)", re.MULTILINE)
_DIFFERENCE = re.compile(r"^\s*\* (.+)$", re.MULTILINE)
_NEVER_SEEN = "never seen function"
REDEFINED = "the function is a new object each time: define and jit it once, outside of the step"
# A guard is followed by the code that it was made for, and preceded by its number.
_AFTER_GUARD = re.compile(r"\s+#.*")
_GUARD_NUMBER = re.compile(r"^\d+/\d+: ")
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+")

Row = Mapping[str, object]
Source = tuple[str, str, int]  # a function, a path and a line
Metrics = Any  # torch._dynamo.utils.CompilationMetrics


class MessageRecorder(logging.Handler):
    """The messages of a logger."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        if len(self.messages) < MAX_MESSAGES:
            self.messages.append(record.getMessage())


@contextmanager
def recorded_messages(loggers: Sequence[str]) -> Generator[MessageRecorder]:
    """Record the messages of these loggers, and pass them to no other handler."""
    recorder = MessageRecorder()
    with ExitStack() as stack:
        for name in loggers:
            logger = logging.getLogger(name)
            before = logger.level, logger.propagate
            logger.addHandler(recorder)
            logger.setLevel(logging.DEBUG)
            logger.propagate = False
            stack.callback(_restore, logger, recorder, before)
        yield recorder


def graph_break_rows(messages: Iterable[str], *, root: Path) -> list[Row]:
    """Return the source lines where torch.compile ends a graph, each with its reason."""
    rows = _Rows(CompilationKind.GRAPH_BREAK, root)
    for message in messages:
        at = _BREAK.search(message)
        reason = _EXPLANATION.search(message) or _BREAK_REASON.search(message)
        if at is not None and reason is not None:
            rows.add(("", at["path"], int(at["line"])), reason[1])
    return rows.as_records()


def recompilation_rows(metrics: Iterable[Metrics], *, root: Path) -> list[Row]:
    """Return the functions that torch.compile recompiled, each with the guard that failed."""
    rows = _Rows(CompilationKind.RECOMPILATION, root)
    for one in metrics:
        reason = getattr(one, "recompile_reason", None)
        if reason:
            guard = _GUARD_NUMBER.sub("", _AFTER_GUARD.sub("", str(reason).partition("\n")[0]))
            source = str(one.co_name or ""), str(one.co_filename or ""), one.co_firstlineno or 0
            rows.add(source, guard)
    return rows.as_records()


def retrace_rows(
    messages: Iterable[str], *, root: Path, kind: CompilationKind = CompilationKind.RETRACE
) -> list[Row]:
    """Return the calls for which JAX traced a function again, each with the argument that differs.

    A function that JAX had never seen is no retrace if it occurs once. At the start several of one
    name are none either: a function, its gradient and its transformations share a name.
    """
    retraced, redefined = _Rows(kind, root), _Rows(kind, root)
    for message in messages:
        at, name = _MISS.search(message), _TRACED.search(message)
        if at is None or name is None:
            continue
        source = name["known"] or name["unseen"], at["path"], int(at["line"])
        if _NEVER_SEEN in message:
            redefined.add(source, REDEFINED)
        else:
            retraced.add(source, "; ".join(_DIFFERENCE.findall(message)))
    if kind is CompilationKind.START_RETRACE:
        return retraced.as_records()
    return [*retraced.as_records(), *(r for r in redefined.as_records() if r["count"] != 1)]


class _Rows:
    """Compilations of one kind by function and source, each with the first reason given there."""

    def __init__(self, kind: CompilationKind, root: Path) -> None:
        self._kind = kind
        self._folder = f"{root}{os.sep}"
        self._counts: Counter[Source] = Counter()
        self._reasons: dict[Source, str] = {}

    def add(self, source: Source, reason: str) -> None:
        self._counts[source] += 1
        self._reasons.setdefault(source, reason)

    def as_records(self) -> list[Row]:
        """Return rows for JSON; a path outside the repository becomes ""."""
        return [
            {
                "kind": str(self._kind),
                "function": function,
                "path": path.removeprefix(self._folder) if path.startswith(self._folder) else "",
                "line": line,
                "reason": _FOLDERS.sub("", self._reasons[function, path, line])[:MAX_REASON],
                "count": count,
            }
            for (function, path, line), count in self._counts.most_common(MAX_ROWS)
        ]


def write_record(
    path: Path,
    *,
    calls: Sequence[Row] = (),
    peak_tensors: Sequence[Row] = (),
    compilations: Sequence[Row] = (),
) -> Path:
    """Write what was recorded of a step; return the file."""
    record = {"calls": calls, "peak_tensors": peak_tensors, "compilations": compilations}
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def _restore(logger: logging.Logger, handler: logging.Handler, before: tuple[int, bool]) -> None:
    level, logger.propagate = before
    logger.removeHandler(handler)
    logger.setLevel(level)
