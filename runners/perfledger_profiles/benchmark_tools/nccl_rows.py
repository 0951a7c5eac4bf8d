"""Parses the rows of sizes, times and bandwidths in an nccl-tests log."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_profiles.parsing.units import MICRO, number_or_none

# A log has one row per power of two; with fixed steps and all types a few thousand.
MAX_ROWS = 100_000

# Prefixes of lines: "[1,0]<stdout>:" from mpirun --tag-output, "0: " by srun --label,
# "[pod/worker-0/main] " and the time of day by kubectl logs, or two of them.
_TAG = re.compile(
    r"^(?:\s*(?:\[[^\[\]]{1,80}\](?:<\w+>:)?|\d{1,6}:(?=\s)"
    r"|\d{4}-\d\d-\d\dT[\d:.+Z-]{8,30}(?=\s))){1,2}"
)
_TIMES = ("time", "cputime")
_WRONG = ("#wrong", "error")
# Size, count and type always come first; some versions leave operation and root blank.
_FIXED_COLUMNS = 3
_NAMED_COLUMNS = ("redop", "root")
_NONE = ("none", "-1")


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTiming:
    """The timing of a collective at one size, in or out of place; a missing bandwidth is 0.0."""

    seconds: float
    algorithm_gb_per_second: float
    bus_gb_per_second: float
    wrong: float | None
    wrong_name: str  # "wrong": number of elements; "error": deviation, in versions before 2.13


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclRow:
    """The measurements at one size; `words` are the type, the operation and the root, if any."""

    size_bytes: int
    words: tuple[str, ...]
    out_of_place: NcclTiming | None
    in_place: NcclTiming | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclTable:
    """All rows of a log, the number of torn ones, and the optional columns."""

    rows: tuple[NcclRow, ...]
    dropped: int
    notes: tuple[str, ...]
    has_operation_column: bool
    has_root_column: bool


@dataclass(frozen=True, slots=True)
class _Columns:
    named: tuple[str, ...]
    half: tuple[str, ...]
    stamp: int  # words of the timestamp at the end of a row


def read_rows(lines: Sequence[str]) -> NcclTable:
    """Return the rows below the log's headers; output of NCCL and MPI in between is skipped."""
    columns: _Columns | None = None
    named: set[str] = set()
    rows: list[NcclRow] = []
    dropped = 0
    for line in lines:
        words = _TAG.sub("", line).split()
        head = _head(words)
        if head is not None:
            columns = head
            named.update(head.named)
        elif columns is not None and len(words) > 1 and words[0].isdecimal():
            row = _row(words, columns)
            if row is None:
                dropped += 1
            elif len(rows) < MAX_ROWS:
                rows.append(row)
    return NcclTable(
        rows=tuple(rows),
        dropped=dropped,
        notes=(f"only the first {MAX_ROWS} rows are read",) if len(rows) == MAX_ROWS else (),
        has_operation_column="redop" in named,
        has_root_column="root" in named,
    )


def _head(words: Sequence[str]) -> _Columns | None:
    """Return the columns if these words form a header, else None."""
    names = [word for word in words if word != "#"]
    if names[:_FIXED_COLUMNS] != ["size", "count", "type"] or "busbw" not in names:
        return None
    times = [number for number, name in enumerate(names) if name in _TIMES]
    if not times:
        return None
    stamp = 2 if names[-1] == "timestamp" else 0
    end = times[1] if len(times) > 1 else len(names) - (1 if stamp else 0)
    named = tuple(name for name in names[: times[0]] if name in _NAMED_COLUMNS)
    return _Columns(named=named, half=tuple(names[times[0] : end]), stamp=stamp)


def _row(words: Sequence[str], columns: _Columns) -> NcclRow | None:
    size = number_or_none(words[0])
    body = words[: len(words) - columns.stamp] if columns.stamp else words
    width = len(columns.half)
    lead_of_two_halves = len(body) - 2 * width
    # Replayed traces have only the second half.
    lead = lead_of_two_halves if lead_of_two_halves >= _FIXED_COLUMNS else len(body) - width
    if size is None or not _FIXED_COLUMNS <= lead <= _FIXED_COLUMNS + len(_NAMED_COLUMNS):
        return None
    out_of_place = _half(body[lead:], columns) if lead == lead_of_two_halves else None
    in_place = _half(body[len(body) - width :], columns)
    if in_place is None or (lead == lead_of_two_halves and out_of_place is None):
        return None
    return NcclRow(
        size_bytes=int(size),
        words=tuple(word for word in body[2:lead] if word not in _NONE),
        out_of_place=out_of_place,
        in_place=in_place,
    )


def _half(words: Sequence[str], columns: _Columns) -> NcclTiming | None:
    cells = dict(zip(columns.half, words, strict=False))
    seconds = number_or_none(cells.get(columns.half[0], ""))
    if seconds is None or seconds < 0:
        return None
    wrong_name = next((name for name in _WRONG if name in cells), "")
    return NcclTiming(
        seconds=seconds * MICRO,
        algorithm_gb_per_second=max(number_or_none(cells.get("algbw", "")) or 0.0, 0.0),
        bus_gb_per_second=max(number_or_none(cells.get("busbw", "")) or 0.0, 0.0),
        wrong=number_or_none(cells.get(wrong_name, "")),
        wrong_name=wrong_name.removeprefix("#"),
    )
